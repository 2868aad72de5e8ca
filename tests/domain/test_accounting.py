"""The account of real start-up lines: which line is which figure, and the pool they add up to."""

import pytest
from reading import analysis_of, log

from kvtui.domain.accounting import Given, account, what_if
from kvtui.domain.causes import within_rounding
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.reading import Known, Missing
from kvtui.options.of_analysis import EMPTY_BOOT
from kvtui.present.report_doc import arithmetic

FILES = ("founding_a.log", "founding_b.log")


def accounts(text, **more):
    return analysis_of(text, **more).account


@pytest.mark.parametrize(("name", "fraction", "tokens"), [("founding_a.log", 0.85, 116_171), ("founding_b.log", 0.88, 159_277)])
def test_the_founding_logs_close_to_the_token(name, fraction, tokens):
    seen = accounts(log(name))
    assert (seen.pre_gib.value, seen.post_gib.value, seen.fraction.value) == (94.04, 21.71, fraction)
    assert seen.cell_bytes.value == 70_272
    assert seen.cell_basis == "geometry"
    assert seen.tokens_reported.value == tokens
    assert abs(seen.tokens_predicted.value - tokens) <= 20
    assert within_rounding(seen)
    assert seen.causes == ()


def test_a_draft_that_loads_later_does_not_change_post():
    seen = accounts(log("founding_b.log"))
    assert seen.post_gib.value == 21.71
    assert seen.draft_weights_gib.value == 0.95
    assert seen.draft_kv_gib.value == pytest.approx(0.60)
    assert seen.headroom_gib.value == 5.49
    assert "speculative" in seen.running_cap_why


def test_two_starts_at_different_fractions_give_pre_and_post_exactly():
    both = log("founding_a.log") + log("founding_b.log").replace("2026-03-18", "2026-03-19")
    # The draft of the second start is another setting: only equal servers obey one equation.
    assert accounts(both).pre_gib.where.kind == "log"
    twin = log("founding_a.log").replace("2026-03-18", "2026-03-19").replace("mem_fraction_static=0.85", "mem_fraction_static=0.88")
    twin = twin.replace("116171", "159277").replace("KV size: 7.60", "KV size: 10.42")
    seen = accounts(log("founding_a.log") + twin)
    assert seen.pre_gib.where.kind == "formula"
    assert seen.pre_gib.value == pytest.approx(94.037, abs=0.003)
    assert seen.post_gib.value == pytest.approx(21.708, abs=0.001)
    assert what_if(seen, 0.85).tokens.value == 116_171


def test_a_geometry_that_the_pool_contradicts_is_dropped_with_a_note():
    wrong = Geometry("wrong", "KimiK25ForConditionalGeneration", Attention.MLA, 60, 64, 192, 128, kv_lora_rank=512, qk_rope_head_dim=64)
    seen = accounts(log("founding_a.log"), given=Given(wrong, "a file"))
    assert seen.cell_bytes.value == 70_272
    assert any("wrong" in note and "not used" in note for note in seen.notes)


def test_an_unset_fraction_is_worked_out_and_then_predicts_nothing():
    text = log("founding_a.log").replace("mem_fraction_static=0.85", "mem_fraction_static=None")
    seen = accounts(text)
    assert seen.fraction.where.kind == "formula"
    assert seen.fraction.value == pytest.approx(0.85, abs=0.001)
    assert isinstance(seen.tokens_predicted, Missing)


def test_a_difference_beyond_rounding_is_named():
    text = log("founding_a.log").replace("116171", "100000").replace("KV size: 7.60", "KV size: 6.54")
    seen = accounts(text)
    assert seen.tokens_predicted.value == pytest.approx(116_187, abs=5)
    assert "16,187 tokens" in seen.causes[0]
    assert "smaller" in seen.causes[0]


def test_a_cap_is_the_cause_of_a_small_pool():
    text = (
        log("founding_a.log")
        .replace("max_total_tokens=None", "max_total_tokens=50000")
        .replace("116171", "50000")
        .replace("KV size: 7.60", "KV size: 3.27")
    )
    seen = accounts(text)
    assert seen.cap_tokens.value == 50_000
    assert seen.tokens_predicted.value == 50_000
    assert what_if(seen, 0.9).capped


def test_without_a_model_the_cell_is_measured_and_says_so():
    text = (
        "[2026-03-18 09:00:00] Load weight begin. avail mem=22.76 GB\n"
        "[2026-03-18 09:00:01] Load weight end. type=SomeNewForCausalLM, dtype=torch.bfloat16, avail mem=8.37 GB, mem usage=14.39 GB.\n"
        "[2026-03-18 09:00:02] KV Cache is allocated. #tokens: 105531, K size: 2.82 GB, V size: 2.82 GB.\n"
    )
    seen = accounts(text)
    assert seen.cell_basis == "pool size"
    assert seen.cell_bytes.value == 57_344
    assert isinstance(seen.identity.attention, Missing)


def test_a_rank_that_saw_less_memory_sets_pre_and_post():
    text = log("founding_a.log").replace("TP3] Load weight begin. avail mem=94.04", "TP3] Load weight begin. avail mem=93.90")
    assert accounts(text).pre_gib.value == 93.90


@pytest.mark.parametrize("name", FILES)
def test_bars_sum_to_the_whole(name):
    for bar in analysis_of(log(name)).ledgers:
        assert sum(part.gib for part in bar.parts) == pytest.approx(bar.total_gib, abs=1e-9)
        assert all(part.gib >= 0 for part in bar.parts)
        assert not bar.total_is_device


def test_each_replica_has_its_own_bar_and_its_own_use():
    text = ""
    for dp, usage in ((0, 0.25), (1, 0.75)):
        begin = f"[2026-11-29 14:52:49 DP{dp}] "
        text += (
            f"{begin}Load weight begin. avail mem=20.00 GB\n"
            f"{begin}Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=15.00 GB, mem usage=5.00 GB.\n"
            f"{begin}KV Cache is allocated. #tokens: 3072, K size: 3.00 GB, V size: 3.00 GB\n"
            f"{begin}max_total_num_tokens=3072, chunked_prefill_size=512, max_prefill_tokens=16384, max_running_requests=64, "
            "context_len=4096, available_gpu_mem=9.00 GB\n"
            f"{begin}Decode batch, #running-req: 4, #token: {3072 * usage:.0f}, token usage: {usage}, cuda graph: False, "
            "gen throughput (token/s): 100.00, #queue-req: 0\n"
        )
    bars = analysis_of(text).ledgers
    assert [(bar.label, bar.total_gib, bar.kv_used_share.value) for bar in bars] == [("DP0", 20.0, 0.25), ("DP1", 20.0, 0.75)]


def test_an_empty_log_gives_reasons_everywhere():
    seen = analysis_of("")
    assert seen.findings[0].id == "not-enough-data"
    assert not any(isinstance(r, Known) for r in (seen.account.pre_gib, seen.account.post_gib, seen.account.tokens_reported))


def test_what_a_log_lacks_is_the_reason_where_a_log_is_read():
    """That the log of the start alone tells it would be no reason there."""
    text = "\n".join(line for line in log("founding_a.log").splitlines() if "Load weight" not in line)
    seen = analysis_of(text)
    assert seen.account.pre_gib.reason == "the log shows no weight-begin line"
    assert seen.account.post_gib.reason == "the log shows no weight-end line"
    told = "free before weights: the log shows no weight-begin line; free after weights: the log shows no weight-end line"
    assert arithmetic(seen.account) == (f"cannot be written out: {told}",)
    (unread,) = arithmetic(account(EMPTY_BOOT))
    assert unread.startswith("cannot be written out: free before weights and free after weights: only the log of the start tells it; ")
