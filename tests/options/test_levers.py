from dataclasses import replace

import pytest
from options.option_build import KIMI, account, boot, context, finding, identity, workload

from kvtui.domain.account import Account
from kvtui.domain.events import Event
from kvtui.domain.geometry import Attention
from kvtui.domain.reading import Known, Missing
from kvtui.domain.release import parse_release
from kvtui.options.cap_max_new_tokens import cap_max_new_tokens, proposed_cap
from kvtui.options.client_concurrency import client_concurrency
from kvtui.options.conservativeness import conservativeness
from kvtui.options.context_length import context_length, default_rows
from kvtui.options.dp_attention import dp_attention
from kvtui.options.drop_draft import drop_draft
from kvtui.options.fp8_kv import fp8_kv, shrink
from kvtui.options.hicache import hicache, host_gb, most_ratio
from kvtui.options.leftover_flags import remove_leftover_flags
from kvtui.options.max_running_requests import max_running_requests
from kvtui.options.reservation import Charge, admitted_ratio

STORY_B = account(fraction=Known(0.88), tokens_reported=Known(159_277), kv_gib=Known(10.424), headroom_gib=Known(7.43))


# fp8


def test_fp8_doubles_plain_kv():
    told = fp8_kv(context(account=STORY_B))
    assert told.tokens == 2 * 159_277
    assert told.risk == "high"
    assert "extremely slow" in told.risk_text
    assert "if the kernel fuses" in told.tok_s.basis


def test_fp8_ratio_by_kind_and_release():
    new, old = parse_release("0.5.23"), parse_release("0.5.9")
    assert shrink(Attention.MLA, KIMI, "bfloat16", new, trtllm=False) == 2
    assert shrink(Attention.GQA, None, "float16", new, trtllm=False) == 2
    assert shrink(Attention.GQA, None, "float32", new, trtllm=False) == 4
    # facts/memory.md 2.4: 1,152 + 132 B against 656 + 132 (packed row) or 576 + 132 (one byte an element)
    assert shrink(Attention.DSA, None, "bfloat16", new, trtllm=False) == pytest.approx(1284 / 788)
    assert shrink(Attention.DSA, None, "bfloat16", new, trtllm=True) == pytest.approx(1284 / 708)
    assert shrink(Attention.DSA, None, "bfloat16", old, trtllm=False) == pytest.approx(1284 / 708)
    sparse = replace(KIMI, index_head_dim=128, index_layers=0, attention=Attention.DSA)
    assert shrink(Attention.DSA, replace(sparse, index_layers=4), "bfloat16", new, trtllm=False) == pytest.approx(1.75, abs=0.02)
    assert shrink(Attention.DSV4, None, "bfloat16", new, trtllm=False) is None


def test_fp8_on_old_sparse_attention_takes_more_than_it_is_priced_at():
    sparse = replace(KIMI, attention=Attention.DSA, index_head_dim=128)
    told = fp8_kv(context(account=account(identity=identity(attention=Known(Attention.DSA), geometry=sparse))))
    assert told.headroom_gib < 8.4 - 0.5


@pytest.mark.parametrize(("dtype", "words"), [("fp8_e4m3", "fp8_e4m3 already"), ("fp4", "4-bit"), ("int8", "not one that fp8")])
def test_fp8_where_it_is_set(dtype, words):
    told = fp8_kv(context(account=account(identity=identity(kv_dtype=Known(dtype)))))
    assert not told.applies
    assert words in told.why_not


def test_fp8_where_the_log_refuses_it():
    line = Event("warning", None, 77, "fp8 kv cache is not supported with this backend, falling back to auto")
    told = fp8_kv(context(events=(line,)))
    assert not told.applies
    assert "line 77" in told.why_not


def test_fp8_unknown_inputs():
    assert "unknown" in fp8_kv(context(account=account(identity=identity(kv_dtype=Missing("?"))))).why_not
    assert "unknown" in fp8_kv(context(account=account(identity=identity(attention=Missing("?"))))).why_not


def test_fp8_at_the_same_batch_may_be_slower():
    told = fp8_kv(context("running-cap"))
    assert told.why_not
    assert told.tok_s.low < 0.6 * 835
    assert told.rank < 0


# HiCache


def test_hicache_story_b():
    told = hicache(context(account=STORY_B, host_available_gb=396.0))
    assert told.host_gb == pytest.approx(179, abs=0.6)
    assert told.tokens == 159_277
    assert any("at most ratio 4.3" in note for note in told.notes)
    assert any("same latent" in note for note in told.notes)
    assert told.tok_s.mid == 835
    assert told.tok_s.high == pytest.approx(835 * 1.03)
    assert "no running tokens" in told.why_not
    assert host_gb(10.424, 4, 8) == pytest.approx(358, abs=1)


def test_hicache_takes_what_the_host_holds():
    told = hicache(context(account=STORY_B, host_available_gb=150.0))
    assert told.flags == ("--enable-hierarchical-cache", "--hicache-ratio 1.5")
    none = hicache(context(account=STORY_B, host_available_gb=90.0))
    assert not none.applies
    assert "90 GB" in none.why_not
    assert most_ratio(10.424, 8, 0.0) == 0


@pytest.mark.parametrize(("version", "alone"), [("0.5.18", True), ("0.5.21", False)])
def test_that_ranks_check_alone_is_said_until_the_release_that_shares_the_check(version, alone):
    identity = replace(account().identity, version=Known(version))
    told = hicache(context(account=account(identity=identity), boot=boot(version)))
    assert any("checks host memory alone" in note for note in told.notes) is alone


def test_hicache_counts_replicas_but_not_dp_attention_twice():
    plain = hicache(context(account=account(identity=identity(dp=Known(2)))))
    attention = hicache(context(account=account(identity=identity(dp=Known(2), dp_attention=True))))
    assert plain.host_gb == pytest.approx(2 * attention.host_gb)


def test_hicache_where_it_cannot():
    on = context(boot=boot(enable_hierarchical_cache=True))
    off = context(boot=boot(disable_radix_cache=True))
    swa = context(account=account(identity=identity(attention=Known(Attention.SWA))))
    assert [hicache(c).applies for c in (on, off, swa)] == [False] * 3
    assert "0.5.15" in hicache(swa).why_not
    newer = account(identity=identity(attention=Known(Attention.SWA), version=Known("0.5.18")))
    assert hicache(context(account=newer)).applies


def test_hicache_gains_where_prefixes_are_missed():
    load = workload(prefill_share=Known(0.4), cached_share=Known(0.1))
    told = hicache(context("prefix-miss", workload=load))
    assert told.tok_s.high / 835 == pytest.approx(1 / (1 - 0.36))
    assert told.tok_s.low < 835 < told.tok_s.mid
    assert told.rank > 0


def test_hicache_is_halved_where_the_host_is_short():
    short = (finding("kv-capacity"), finding("host-pressure", "banner"))
    sized = hicache(context(findings=short, boot=boot(enable_hierarchical_cache=True, hicache_size=32, hicache_ratio=2.0)))
    assert sized.flags == ("--hicache-size 16",)
    assert sized.host_gb == 128
    assert sized.rank > 1
    rated = hicache(context(findings=short, boot=boot(enable_hierarchical_cache=True, hicache_size=0, hicache_ratio=4.0)))
    assert rated.flags == ("--hicache-ratio 2",)
    assert not hicache(context(findings=short)).applies


# reservation


def test_worked_reservations_of_story_a():
    # facts/diagnoses.md V3: 1,500 x1.13, conservativeness 0.3 x1.11, 32k to 8k x1.00, to 4,096 up to x1.07, short chats x1.45
    now = Charge(5_096, 0.098 * 3_500)
    story = {"pool": 116_171, "resident": 2_050, "before": now}
    assert admitted_ratio(**story, after=Charge(2_500, 0.098 * 1_200)) == pytest.approx(1.13, abs=0.005)
    assert admitted_ratio(**story, after=Charge(5_096, 0.0294 * 3_500)) == pytest.approx(1.11, abs=0.005)
    assert admitted_ratio(**story, after=now) == 1
    assert admitted_ratio(**story, after=Charge(5_096, 0.098 * 2_000)) == pytest.approx(1.07, abs=0.005)
    short = admitted_ratio(pool=1e6, resident=500, before=Charge(4_600, 0.098 * 4_096), after=Charge(4_600, 0.0294 * 4_096))
    assert short == pytest.approx(1.45, abs=0.005)
    assert admitted_ratio(pool=100, resident=50, before=Charge(200, 1), after=Charge(1, 1)) == 1


def test_cap_says_what_does_nothing():
    told = cap_max_new_tokens(context(workload=workload(output=500.0)))
    assert told.flags == ('"max_tokens": 1024',)
    assert not told.restart
    assert any("32k to 8k frees nothing" in note for note in told.notes)
    assert told.tokens == 116_171
    assert told.tok_s.low == 835
    assert 835 < told.tok_s.mid < told.tok_s.high < 835 * 1.25
    long = cap_max_new_tokens(context(workload=workload(output=3_000.0)))
    assert not long.applies
    assert "clip of 4,096" in long.why_not
    assert proposed_cap(20) == 256


def test_reservation_levers_elsewhere_are_worth_nothing():
    for lever in (cap_max_new_tokens, conservativeness):
        told = lever(context("client"))
        assert told.rank < 0
        assert told.tok_s.mid == 835
        assert "no public" in " ".join(told.notes)


def test_conservativeness_follows_the_verdict():
    down = conservativeness(context("reservation", workload=workload(running=60.0, resident=500.0)))
    assert down.flags == ("--schedule-conservativeness 0.3",)
    assert down.tok_s.mid > 835
    up = conservativeness(context("retraction"))
    assert up.flags == ("--schedule-conservativeness 1.3",)
    assert up.tok_s is None
    assert not conservativeness(context("reservation", boot=boot(schedule_conservativeness=0.3))).applies


# caps, tables, drafts, clients


def forced() -> Account:
    return account(running_cap=Known(48), running_cap_why="48 set by speculative decoding, because --max-running-requests was not given")


def test_running_cap_is_raised_with_the_graphs():
    load = workload(running=48.0, resident=1_000.0, prompt=500.0)
    told = max_running_requests(context("running-cap", account=forced(), workload=load, boot=boot(cuda_graph_max_bs=48)))
    assert told.flags == ("--max-running-requests 116", "--cuda-graph-max-bs 116")
    assert told.tok_s.mid > 835
    assert told.headroom_gib < 8.4
    newer = account(running_cap=Known(48), identity=identity(version=Known("0.5.18")))
    assert (
        max_running_requests(context("running-cap", account=newer, workload=load, boot=boot("0.5.18"))).flags[1]
        == "--cuda-graph-max-bs-decode 116"
    )


def test_running_cap_that_the_log_does_not_name():
    bare = account(running_cap=Missing("?"), tokens_reported=Missing("?"), tokens_predicted=Missing("?"))
    told = max_running_requests(
        context("running-cap", account=bare, workload=workload(running=32.0, queued=68.0, resident=None, usage=Known(0.01)))
    )
    assert told.flags[0] == "--max-running-requests 128"
    assert "32 → 128" in told.title
    assert told.tokens is None


def test_running_cap_of_all_ranks_together():
    load = workload(running=48.0, resident=1_000.0, prompt=500.0)
    two = account(running_cap=Known(48), identity=identity(dp=Known(2)))
    assert max_running_requests(context("running-cap", account=two, workload=load)).flags[0] == "--max-running-requests 232"


def test_running_cap_that_does_not_bind():
    told = max_running_requests(context())
    assert "kv-capacity" in told.why_not
    assert told.rank < 0
    state = account(running_cap=Known(50), running_cap_why="limited by the 150 mamba state slots")
    assert "max-mamba-cache-size" in max_running_requests(context("running-cap", account=state)).why_not


def test_running_cap_goes_down_live_against_retraction():
    told = max_running_requests(context("retraction"))
    assert not told.restart
    assert told.flags == ('POST /set_internal_state {"server_args": {"pp_max_micro_batch_size": 45}}',)


def test_context_length_recovers_the_request_table():
    told = context_length(context())
    assert told.flags == ("--context-length 131072",)
    assert told.headroom_gib == pytest.approx(9.4, abs=0.01)
    assert any("of fraction" in note for note in told.notes)
    assert told.rank < 0
    assert not context_length(context(account=account(req_to_token_gib=Known(0.05)))).applies
    assert not context_length(context(workload=workload(prompt_max=Known(120_000.0)))).applies


def test_context_length_refuses_what_holds_the_queue():
    """The verdict names the option as its cure: it must be there, at the length that its advice names."""
    giant = (finding("head-of-line", fixes=("context-length", "raise-fraction")),)
    seen = workload(prompt_max=Known(90_000.0))
    told = context_length(context(workload=seen, findings=giant, account=account(req_to_token_gib=Known(0.05))))
    assert told.applies
    assert not told.why_not
    assert told.flags == (f"--context-length {116_171 // 2}",)
    assert "refused" in told.risk_text
    assert "not known" in told.tok_s_why
    assert told.rank > 0
    # Where half of the pool would let it in, and where the usual requests need as much.
    assert context_length(context(workload=workload(prompt_max=Known(40_000.0)), findings=giant)).flags == ("--context-length 30000",)
    assert context_length(context(workload=workload(prompt_max=Known(2_000.0)), findings=giant)).flags == ("--context-length 131072",)
    assert default_rows(116_171, 262_144) == 2_048
    assert default_rows(1_000_000, 131_072) == 3_906


def test_draft_frees_tokens_only_from_0_5_15():
    parts = {"draft_weights_gib": Known(1.0), "draft_kv_gib": Known(0.2)}
    settings = {"speculative_algorithm": "EAGLE3"}
    old = drop_draft(context(account=account(**parts), boot=boot(**settings)))
    assert old.tokens == 116_171
    assert old.headroom_gib == pytest.approx(9.6)
    new = drop_draft(context(account=account(**parts, identity=identity(version=Known("0.5.18"))), boot=boot("0.5.18", **settings)))
    assert new.tokens == pytest.approx(116_171 * (1 + 1.2 / 7.603), abs=2)
    assert new.headroom_gib == 8.4
    assert old.tok_s.high < 835
    assert old.rank < 0
    assert "20 clients or more" in old.tok_s.basis
    held = account(**parts, running_cap=Known(48), running_cap_why="48 set by speculative decoding")
    capped = drop_draft(context("running-cap", account=held, boot=boot(**settings)))
    assert capped.tok_s is None
    assert capped.change.running_cap == 2_048
    assert not drop_draft(context()).applies


def test_draft_is_pressed_only_where_it_does_not_pay():
    settings = boot(speculative_algorithm="EAGLE")
    assert drop_draft(context(boot=settings)).rank < 0
    weak = drop_draft(context(boot=settings, workload=workload(accept_len=Known(1.3))))
    assert weak.rank > 0


def test_clients_are_asked_for_more_only_where_they_limit():
    load = workload(running=10.0, queued=0.0, tok_s=300.0)
    told = client_concurrency(context("client", workload=load))
    assert told.applies
    assert not told.restart
    assert "about 20" in told.title
    assert 300 < told.tok_s.mid < 600
    assert "97 wait already" in client_concurrency(context()).why_not


def test_no_figure_where_prefixes_are_evicted_already():
    load = workload(running=10.0, queued=0.0, tok_s=300.0)
    told = client_concurrency(context(workload=load, findings=(finding("client"), finding("prefix-miss"))))
    assert told.tok_s is None
    assert "evict" in told.tok_s_why


def test_leftover_flags():
    assert remove_leftover_flags(context()).why_not == "none is set"
    graph = remove_leftover_flags(context(boot=boot(disable_cuda_graph=True), workload=workload(running=8.0)))
    assert graph.flags == ("remove --disable-cuda-graph",)
    assert graph.tok_s.mid > 1.5 * 835
    assert not remove_leftover_flags(context(boot=boot(disable_cuda_graph=True, device="cpu"))).applies
    assert not remove_leftover_flags(context(boot=boot(disable_overlap_schedule=True, speculative_algorithm="EAGLE"))).applies
    several = remove_leftover_flags(context(boot=boot(cpu_offload_gb=2, disable_radix_cache=True)))
    assert several.tok_s is None
    assert several.flags == ("remove --cpu-offload-gb 2", "remove --disable-radix-cache")


def test_leftover_cap_on_the_pool():
    held = account(cap_tokens=Known(60_000), tokens_reported=Known(60_000))
    told = remove_leftover_flags(context(account=held))
    assert told.tokens == pytest.approx(116_171, abs=30)
    assert told.tok_s.mid > 835


def test_dp_attention_is_arithmetic_only():
    # facts/diagnoses.md 2.3: 281k in all at fraction 0.88, 1.22 GiB of copied weights
    told = dp_attention(context(account=STORY_B))
    assert told.tokens == pytest.approx(281_000, abs=600)
    assert any("1.22 GiB" in note for note in told.notes)
    assert told.tok_s is None
    assert told.risk == "high"
    plain = account(identity=identity(attention=Known(Attention.GQA)))
    assert not dp_attention(context(account=plain)).applies
    other = dp_attention(context(account=account(identity=identity(geometry=None))))
    assert other.tokens is None
    assert any("at most 2 × 116,171" in note for note in other.notes)


def test_unknown_size_of_requests_gives_no_fits():
    told = fp8_kv(context(workload=workload(resident=None), findings=(finding("kv-capacity"),)))
    assert told.fits is None
    assert "unknown" in told.fits_basis
