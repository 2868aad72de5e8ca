"""Sizing against results of SGLang's own code (vectors/sizing.jsonl), and against real servers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kvtui.domain.release import MEASURED, parse_release
from kvtui.domain.sizing import SizingConfig, SizingError, cell, size, state_pool
from kvtui.parse.plan_config import plan_config

VECTORS = [json.loads(line) for line in (Path(__file__).parent / "vectors" / "sizing.jsonl").read_text().splitlines()]
KIMI = SizingConfig(
    release=parse_release("0.5.9"),
    layout="mla",
    layers=61,
    kv_lora_rank=512,
    qk_rope_head_dim=64,
    pre=94.04,
    post=21.71,
    fraction=0.88,
    attn_tp=8,
    context_len=262144,
)
GQA = SizingConfig(
    release=parse_release("0.5.18"),
    layout="mha",
    layers=32,
    kv_heads=8,
    head_dim=128,
    v_head_dim=128,
    pre=78.0,
    post=60.0,
    fraction=0.85,
    context_len=131072,
)
WINDOWS = replace(
    GQA,
    hybrid_swa=True,
    full_ids=tuple(range(0, 32, 2)),
    swa_ids=tuple(range(1, 32, 2)),
    swa_head_dim=128,
    swa_v_head_dim=128,
    window=128,
)
STATES = replace(GQA, full_ids=tuple(range(3, 32, 4)), mamba_ids=tuple(i for i in range(32) if i % 4 != 3), mamba_per_req=37_748_736)


def at(config, release, **changes):
    return replace(config, release=parse_release(release), **changes)


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_agrees_with_sglangs_own_code(number):
    vector = VECTORS[number]
    expected = vector["expected"]
    config = plan_config(vector["config"])
    if "kind" in expected:
        with pytest.raises(SizingError) as caught:
            size(config)
        assert caught.value.kind == expected["kind"]
        return
    sized = size(config)
    assert {name: getattr(sized, name) for name in expected} == expected


def test_the_vectors_cover_every_release_and_kind():
    versions = {vector["config"]["sglang_version"] for vector in VECTORS}
    assert versions == {str(release) for release in MEASURED}
    assert {vector["config"]["type"] for vector in VECTORS} == {"mha", "mla", "nsa", "dsv4"}
    assert sum("mamba" in vector["expected"] for vector in VECTORS) > 20
    assert sum("swa" in vector["expected"] for vector in VECTORS) > 20
    assert {vector["expected"].get("kind") for vector in VECTORS} >= {"no-memory", "swa-pool", "state-pool", "unsupported"}


@pytest.mark.parametrize(("fraction", "reported"), [(0.85, 116_171), (0.88, 159_277), (0.93, 231_130)])
def test_the_founding_server(fraction, reported):
    sized = size(replace(KIMI, fraction=fraction))
    assert abs(sized.tokens - reported) <= 20
    assert sized.cell.bytes == 70_272
    assert sized.cell.formula == "(512 + 64) × 61 layers × 2 B"


def test_scaling_tokens_by_the_fraction_is_not_the_law():
    at_85, at_93 = (size(replace(KIMI, fraction=fraction)).tokens for fraction in (0.85, 0.93))
    assert at_93 / at_85 == pytest.approx(1.99, abs=0.01)


def test_fp8_halves_the_latent_cell():
    assert cell(replace(KIMI, kv_dtype="fp8_e4m3")).bytes == 35_136


def test_grouped_heads_are_split_and_then_repeated():
    cells = [cell(replace(GQA, attn_tp=tp)).bytes for tp in (1, 2, 8, 16)]
    assert cells == [131_072, 65_536, 16_384, 16_384]


def test_the_cell_needs_no_memory_figures():
    assert cell(replace(KIMI, pre=None, post=None, fraction=None)).bytes == 70_272
    with pytest.raises(SizingError, match="needs pre and post"):
        size(replace(KIMI, pre=None, post=None))


def test_a_narrow_v_is_priced_from_0_5_9_on():
    narrow = replace(GQA, head_dim=192)
    assert cell(at(narrow, "0.5.6")).bytes == 8 * 192 * 2 * 32 * 2
    assert cell(at(narrow, "0.5.9")).bytes == 8 * (192 + 128) * 32 * 2


def test_fp8_rows_of_dsa():
    sparse = replace(KIMI, layout="nsa", index_head_dim=128, kv_dtype="fp8_e4m3")
    assert cell(at(sparse, "0.5.15")).bytes == (576 + 132) * 61
    assert cell(at(sparse, "0.5.18")).bytes == (656 + 132) * 61
    assert cell(at(sparse, "0.5.18", raw_rows=True)).bytes == (576 + 132) * 61
    assert any("exceeds the budget" in note for note in size(at(sparse, "0.5.9")).notes)
    assert cell(at(sparse, "0.5.18", index_layers=20)).bytes == 656 * 61 + 132 * 20
    assert cell(at(sparse, "0.5.18", index_layers=20, hicache=True)).bytes == (656 + 132) * 61


def test_drafts_are_priced_from_0_5_15_on():
    drafted = replace(KIMI, spec="EAGLE", steps=3, topk=1, draft_tokens=4, draft_layers=1, max_running_requests=48)
    assert cell(at(drafted, "0.5.12")).bytes == 70_272
    assert cell(at(drafted, "0.5.15")).bytes == 70_272 + 1_152
    assert size(at(drafted, "0.5.6")).tokens - size(at(KIMI, "0.5.6")).tokens == 48 * 3 + 48 * 4 + 100
    assert any("slack" in note for note in size(at(drafted, "0.5.9")).notes)


def test_the_multimodal_reserve_costs_100_mib_from_0_5_18_on():
    seeing = replace(KIMI, multimodal=True)
    assert size(at(KIMI, "0.5.15")).tokens == size(at(seeing, "0.5.15")).tokens
    assert size(at(KIMI, "0.5.18")).tokens - size(at(seeing, "0.5.18")).tokens == 1_492
    assert size(at(seeing, "0.5.18")).reserve_gib == pytest.approx(100 / 1024)


def test_a_cap_wins_and_is_page_aligned():
    sized = size(replace(KIMI, max_total_tokens=100_001, page_size=64))
    assert (sized.tokens, sized.uncapped) == (99_968, 159_232)


def test_the_cap_of_a_window_model_changes_its_meaning_in_0_5_12():
    capped = replace(WINDOWS, max_total_tokens=50_000)
    assert size(at(capped, "0.5.10")).tokens > 50_000
    assert size(at(capped, "0.5.12")).tokens == 50_000


def test_pools_of_window_models_fill_the_budget():
    for release in ("0.5.9", "0.5.12", "0.5.18", "0.5.23"):
        sized = size(at(WINDOWS, release))
        assert sized.full == sized.tokens
        assert sized.swa == int(sized.tokens * 0.8)
        assert sized.kv_gib == pytest.approx(sized.rest_gib, rel=1e-5)


def test_a_window_pool_by_requests_is_fixed():
    bounded = replace(WINDOWS, disable_radix=True, max_running_requests=16)
    sized = size(bounded)
    assert sized.swa == 16 * (128 + 1 + 1 + 1) + 2 * 8192 + 1
    assert sized.fixed_gib > 0
    assert sized.kv_gib == pytest.approx(sized.rest_gib, rel=1e-5)


def test_a_draft_tree_on_pages_takes_whole_pages_per_branch():
    tree = replace(
        WINDOWS, disable_radix=True, max_running_requests=16, page_size=16, spec="EAGLE", steps=3, topk=4, draft_tokens=8, draft_layers=1
    )
    assert size(replace(tree, paged_branches=True)).swa > size(tree).swa


def test_state_pools_take_their_share_first():
    pool = state_pool(STATES)
    sized = size(STATES)
    assert pool.slots == sized.mamba
    assert pool.gib == pytest.approx(sized.state_gib)
    assert pool.gib / sized.rest_gib == pytest.approx(0.9, rel=0.01)
    assert sized.reqs == pool.slots // 3
    assert state_pool(GQA) is None


def test_request_slots_by_release():
    wide = replace(GQA, max_running_requests=5000)
    assert size(at(wide, "0.5.9", dp_size=2)).reqs == 2500
    assert size(at(wide, "0.5.10")).reqs == 2048
    assert size(at(wide, "0.5.15")).reqs == 5000
    few = replace(GQA, max_running_requests=1, dp_size=2)
    assert [size(at(few, release)).reqs for release in ("0.5.21", "0.5.23")] == [0, 1]
    assert size(at(GQA, "0.5.18", max_running_requests=None)).reqs == 2048
    assert size(replace(GQA, context_len=None)).reqs is None


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"fraction": 0.5}, "no-memory"),
        ({"post": float("nan")}, "invalid"),
        ({"pre": float("inf")}, "invalid"),
        ({"kv_dtype": "int3"}, "invalid"),
        ({"kv_lora_rank": 0, "qk_rope_head_dim": 0}, "invalid"),
        ({"unmodelled": "Too new."}, "not-modelled"),
        ({"release": parse_release("0.4.10"), "pp_size": 2, "end": 30}, "unsupported"),
        ({"release": parse_release("0.5.3"), "kv_dtype": "fp4"}, "unsupported"),
        ({"release": parse_release("0.4.6"), "layout": "nsa"}, "unsupported"),
        ({"release": parse_release("0.5.23"), "layout": "mha", "kv_dtype": "fp4", "head_dim": 128}, "not-modelled"),
        ({"release": parse_release("0.5.23"), "layout": "dsv4"}, "not-modelled"),
        ({"release": parse_release("0.5.10"), "layout": "dsv4"}, "unsupported"),
    ],
)
def test_says_why_there_is_no_pool(changes, kind):
    with pytest.raises(SizingError) as caught:
        size(replace(KIMI, **changes))
    assert caught.value.kind == kind
    assert caught.value.message.endswith(".")


def test_names_the_smallest_fraction_that_starts():
    with pytest.raises(SizingError, match=r"above 0\.770"):
        size(at(KIMI, "0.5.18", fraction=0.7))


def test_a_release_between_two_measured_ones_is_doubted_only_where_it_matters():
    plain = size(at(KIMI, "0.5.14"))
    assert plain.notes == ()
    drafted = size(at(KIMI, "0.5.14", spec="EAGLE", draft_layers=1, max_running_requests=48))
    assert any("0.5.15.post1 give 156,7" in note for note in drafted.notes)


def test_unknown_and_newer_releases_say_so():
    assert "unknown" in size(replace(KIMI, release=None)).notes[0]
    assert "0.5.23" in size(at(KIMI, "0.7.0")).notes[0]
