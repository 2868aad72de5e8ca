"""A server for the levers' tests: the founding box, or a variation of it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from kvtui.domain.account import Account, Identity
from kvtui.domain.boot import Boot, Setting
from kvtui.domain.finding import Finding
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.samples import DECODE, SampleStore
from kvtui.domain.workload import observe
from kvtui.options.context import OptionContext

CELL = 576 * 61 * 2
KIMI = Geometry(
    name="Kimi-K2.5", architecture="KimiK25", attention=Attention.MLA, layers=61, kv_heads=64, head_dim=576, v_head_dim=512,
    kv_lora_rank=512, qk_rope_head_dim=64, hidden_size=7168, experts=384, experts_per_token=8,
)  # fmt: skip
_NO = Missing("not in this test")


def identity(**changes):
    plain = Identity(
        version=Known("0.5.9"), model=Known("Kimi-K2.5"), architecture=_NO, attention=Known(Attention.MLA), tp=Known(8), dp=Known(1),
        pp=Known(1), dp_attention=False, kv_dtype=Known("bfloat16"), page_size=Known(1), geometry=KIMI, geometry_source="test",
    )  # fmt: skip
    return replace(plain, **changes)


def account(**changes):
    """Founding story (a): fraction 0.85, 116,171 tokens, from pre 94.04 and post 21.71 (facts/diagnoses.md 2.1)."""
    plain = Account(
        identity=identity(), pre_gib=Known(94.04), post_gib=Known(21.71), fraction=Known(0.85), slack_gib=Known(14.106), extras_gib=Known(0.0),
        rest_gib=Known(7.603), cell_bytes=Known(CELL), cell_basis="geometry", cell_formula="", kv_gib=Known(7.603), tokens_predicted=Known(116_187),
        tokens_reported=Known(116_171), tolerance_tokens=90, swa_tokens=_NO, state_slots=_NO, state_gib=_NO, cap_tokens=_NO, running_cap=Known(2048),
        running_cap_why="the server's default", context_len=Known(262_144), headroom_gib=Known(8.4), weights_gib=Known(72.33),
        draft_weights_gib=_NO, draft_kv_gib=_NO, graphs_gib=_NO, context_gib=_NO, req_to_token_gib=Known(2.0), host_gb=_NO, divisor_bytes=Known(CELL),
    )  # fmt: skip
    return replace(plain, **changes)


def boot(version="0.5.9", **settings):
    made = {name: Setting(name, value, "server_args", Where("log", line=1)) for name, value in settings.items()}
    return Boot(
        index=0, first_line=1, last_line=9, begun_at=0.0, ended_at=9.0, state="up", version=Known(version), settings=MappingProxyType(made)
    )  # fmt: skip


def workload(running=50.0, queued=97.0, tok_s=835.0, resident=2_050.0, pool=116_171, prompt=1_000.0, output=None, **changes):
    """A steady minute of decode lines; what no decode line tells is set by hand."""
    store = SampleStore()
    for i in range(30):
        tokens = running * (resident or 1.0)
        store.append(
            {"at": 2.4 * i, "line": i + 1.0, "kind": DECODE, "dp": 0.0, "running": running, "queued": queued, "tokens": tokens,
             "usage": tokens / pool, "gen_tput": tok_s, "graph": 1.0}
        )  # fmt: skip
    seen = observe(store.view(), (), pool_tokens=pool)
    known = {"prompt": prompt, "output": output, "resident": resident, "gen_tput": tok_s}
    told = {name: _NO if value is None else Known(value) for name, value in known.items()}
    return replace(seen, **{**told, **changes})


def finding(verdict, axis="concurrency", fixes=()):
    return Finding(id=verdict, title=verdict, sentence=verdict, axis=axis, confidence="high", fixes=tuple(fixes))


def context(limit="kv-capacity", **changes):
    parts = {
        "account": account(),
        "workload": workload(),
        "findings": (finding(limit),) if limit else (),
        "boot": boot(chunked_prefill_size=8192, cuda_graph_max_bs=512, kv_cache_dtype="auto", max_running_requests=None),
    }
    return OptionContext(**{**parts, **changes})
