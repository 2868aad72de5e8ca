"""Analyses made by hand: the founding case, and poorer ones.

``founding()`` is Kimi-K2.5 on 8 GPUs at fraction 0.85: 116,171 tokens, 50 running, 97 queued. The
log holds an earlier boot at 0.88 with 159,277 tokens.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType

from kvtui.domain.account import Account, Identity, WhatIf
from kvtui.domain.boot import Boot, FinalLine, PoolAllocation, RankMemory, Setting, WeightLoad
from kvtui.domain.estimate import Estimate, Range
from kvtui.domain.events import Event
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.frame import Analysis, Frame, ReadCounts, SourceHealth
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.ledger import GpuLedger, Part
from kvtui.domain.rank import Rank
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.samples import DECODE, PREFILL, SampleStore, Timeline
from kvtui.domain.units import GIB

START = 1_764_424_200.0
"""13:50:00 on the log's clock."""
NOW = START + 1_320.0
PRE, POST, CELL, TOKENS = 94.04, 21.71, 70_272, 116_171
HEADROOM = 8.41


def log(line: int, detail: str = "") -> Where:
    return Where("log", detail, line)


def known(value, line=None, detail=""):
    return Known(value, START, log(line, detail) if line else Where("formula", detail))


GEOMETRY = Geometry(
    name="Kimi-K2.5", architecture="KimiK25ForConditionalGeneration", attention=Attention.MLA, layers=61, kv_heads=64, head_dim=192,
    v_head_dim=128, context_len=262_144, kv_lora_rank=512, qk_rope_head_dim=64,
)  # fmt: skip

IDENTITY = Identity(
    version=known("0.5.9", 12, "the log prints it"),
    model=known("Kimi-K2.5", 14, "server_args model_path"),
    architecture=known("KimiK25ForConditionalGeneration", 1_118, "Load weight end"),
    attention=Known(Attention.MLA, None, Where("table", "Kimi-K2.5")),
    tp=known(8, 14, "server_args tp_size"),
    dp=known(1, 14, "server_args dp_size"),
    pp=known(1, 14, "server_args pp_size"),
    dp_attention=False,
    kv_dtype=known("bfloat16", 1_204, "KV Cache is allocated"),
    page_size=known(1, 14, "server_args page_size"),
    geometry=GEOMETRY,
    geometry_source="built-in table",
)


def account(fraction: float = 0.85, **changes) -> Account:
    slack = PRE * (1 - fraction)
    rest = POST - slack
    tokens = TOKENS if fraction == 0.85 else int(rest * GIB / CELL)
    base = Account(
        identity=IDENTITY,
        pre_gib=known(PRE, 1_118, "Load weight begin, minimum of 8 ranks"),
        post_gib=known(POST, 1_204, "Load weight end, minimum of 8 ranks"),
        fraction=known(fraction, 14, "server_args mem_fraction_static"),
        slack_gib=Known(slack, None, Where("formula", "pre × (1 − fraction)")),
        extras_gib=Known(0.0, None, Where("formula", "nothing else is taken off")),
        rest_gib=Known(rest, None, Where("formula", "post − slack")),
        cell_bytes=Known(float(CELL), None, Where("table", "Kimi-K2.5: (512 + 64) × 61 layers × 2 B")),
        divisor_bytes=Known(float(CELL), None, Where("formula", "the cell")),
        cell_basis="geometry",
        cell_formula="(512 + 64) × 61 layers × 2 B",
        kv_gib=known(7.60, 1_206, "KV Cache is allocated"),
        tokens_predicted=Known(int(rest * GIB / CELL), None, Where("formula", "floor(rest ÷ cell)")),
        tokens_reported=known(tokens, 1_290, "max_total_num_tokens"),
        tolerance_tokens=150,
        swa_tokens=Missing("no sliding-window layers"),
        state_slots=Missing("no state layers"),
        state_gib=Missing("no state layers"),
        cap_tokens=Missing("max_total_tokens is not set"),
        running_cap=known(2_048, 1_290, "max_running_requests"),
        running_cap_why="default",
        context_len=known(262_144, 1_290, "context_len"),
        headroom_gib=known(HEADROOM, 1_290, "available_gpu_mem"),
        weights_gib=known(72.33, 1_204, "mem usage"),
        draft_weights_gib=Missing("no draft model"),
        draft_kv_gib=Missing("no draft model"),
        graphs_gib=known(3.62, 1_280, "Capture cuda graph end"),
        context_gib=known(1.35, 1_100, "Init torch distributed ends"),
        req_to_token_gib=Known(2.0, None, Where("formula", "2,048 × 262,148 × 4 B")),
        host_gb=Missing("HiCache is off"),
    )
    return replace(base, **changes)


def ledgers() -> tuple[GpuLedger, ...]:
    out = []
    for rank in range(8):
        free = HEADROOM + 0.03 * (rank % 3)
        parts = (
            Part("weights", 72.33, "log line 1,204"),
            Part("kv", 7.60, "log line 1,206"),
            Part("graphs", 3.62, "log line 1,280"),
            Part("unknown", PRE - 72.33 - 7.60 - 3.62 - free, "buffers, request table, fragmentation"),
            Part("free", free, "log line 1,290"),
        )
        out.append(
            GpuLedger(
                label=f"TP{rank}", total_gib=sum(p.gib for p in parts), total_is_device=False, total_is_pre=True, parts=parts,
                kv_used_share=known(0.93, 30_112, "token usage"),
            )
        )  # fmt: skip
    return tuple(out)


def timeline(count: int = 250, step: float = 2.4) -> Timeline:
    """Ten minutes of decode lines with a ramp, and a prefill line every fifth."""
    store = SampleStore()
    for i in range(count):
        at = NOW - (count - 1 - i) * step
        ramp = min(1.0, i / 80)
        running = round(50 * ramp + (2 * math.sin(i / 3) if ramp == 1 else 0))
        if i % 5 == 0:
            store.append(
                {"at": at - 0.5, "line": 1_300 + 2 * i, "kind": PREFILL, "dp": 0, "pp": 0, "running": running, "queued": round(97 * i / count),
                 "usage": 0.90 * ramp, "new_seq": 1, "new_token": 1_536, "cached_token": 64, "input_tput": 900.0}
            )  # fmt: skip
        store.append(
            {"at": at, "line": 1_301 + 2 * i, "kind": DECODE, "dp": 0, "pp": 0, "running": running, "queued": round(97 * (i + 1) / count),
             "tokens": 0.93 * ramp * TOKENS, "usage": 0.93 * ramp, "gen_tput": 835 * ramp + 10 * math.sin(i), "graph": 1.0}
        )  # fmt: skip
    return store.view()


def settings(fraction: float, **more) -> MappingProxyType:
    values = {
        "model_path": "/models/Kimi-K2.5", "tp_size": 8, "dp_size": 1, "mem_fraction_static": fraction, "context_length": None,
        "chunked_prefill_size": 8_192, "disable_cuda_graph": False, "attention_backend": "flashinfer", **more,
    }  # fmt: skip
    return MappingProxyType({name: Setting(name, value, "server_args", log(14)) for name, value in values.items()})


def boot(index: int, fraction: float, tokens: int, *, state="up", first_line=1, version="0.5.9", **more) -> Boot:
    rank = RankMemory(
        rank=Rank(tp=0),
        init_usage_gib=known(1.35, first_line + 1_099),
        loads=(WeightLoad(begin_gib=known(PRE, first_line + 1_117), end_gib=known(POST, first_line + 1_203), usage_gib=known(72.33, first_line + 1_203)),),
        pools=(PoolAllocation("kv", tokens, tokens * CELL / GIB, 0.005, True, "bfloat16", False, log(first_line + 1_205)),),
        pool_ends_gib=(known(14.07, first_line + 1_207),),
        final=FinalLine(tokens, 8_192, 16_384, 2_048, 262_144, HEADROOM, START, log(first_line + 1_289)),
    )  # fmt: skip
    return Boot(
        index=index, first_line=first_line, last_line=first_line + 30_000, begun_at=START - 86_400 * (1 - index), ended_at=START + 1_000, state=state,
        version=known(version, first_line + 11), settings=settings(fraction, **more), ranks=(rank,),
        launch_command=f"python -m sglang.launch_server --model-path /models/Kimi-K2.5 --tp 8 --mem-fraction-static {fraction} --trust-remote-code",
    )  # fmt: skip


BOOTS = (
    boot(0, 0.88, 159_277, state="ended", context_length=131_072),
    boot(1, 0.85, TOKENS, first_line=40_001),
)

EVENTS = (
    Event("boot", START - 600, 40_001, "launch_server started"),
    Event("forced-setting", START - 590, 40_020, "Disable chunked prefix cache for this backend", fields=MappingProxyType({})),
    Event("ready", START, 41_300, "The server is fired up and ready to roll!"),
    Event(
        "retract", NOW - 60, 69_900, "KV cache pool is full. Retract requests. #retracted_reqs: 2, #new_token_ratio: 0.12 -> 0.35", count=3
    ),
)

FINDINGS = (
    Finding(
        id="kv-capacity",
        title="KV capacity limits concurrency",
        sentence="50 run, 97 wait: the pool of 116,171 tokens admits 44–55 requests of ~2,050 tokens",
        axis="concurrency",
        confidence="high",
        since=NOW - 480,
        evidence=(
            Evidence("97 requests wait while 50 run, for 480 s", "log lines 69,000 to 71,201", NOW - 480),
            Evidence("KV usage is 0.93, above the admission ceiling of 0.82", "log line 71,201", NOW),
            Evidence("the cap of 2,048 is not touched", "log line 41,290"),
        ),
        ruled_out=(
            Ruled("running-cap", "50 run, the cap is 2,048"),
            Ruled("reservation", "the reservation holds 14% back; without it 3 more requests would fit"),
            Ruled("client", "97 requests wait in the queue"),
        ),
        fixes=("raise-fraction", "fp8-kv"),
        advice=("Ask the client for a realistic max_tokens: it is charged in full at admission, up to 4,096.",),
        verify=("After the restart the log prints max_total_num_tokens=188,000 or more.", "Usage stays below 0.9 at the same 147 requests."),
        needs=(),
    ),
    Finding(
        id="allreduce",
        title="All-reduce over PCIe limits the step",
        sentence="59.9 ms a step at 50 running: 0.53–0.59 of the bandwidth bound; all-reduce is suspected",
        axis="step",
        confidence="medium",
        since=NOW - 300,
        evidence=(Evidence("835 tok/s at 50 running is 16.7 a stream", "log line 71,201", NOW),),
        fixes=("tune-allreduce",),
        needs=("DCGM DRAM_ACTIVE would tell bandwidth from latency: dcgmi dmon -e 1005",),
    ),
)  # fmt: skip

BANNER = Finding(
    id="headroom", title="Headroom is thin", sentence="2 requests were retracted 3 times in the last minute", axis="banner", confidence="high", since=NOW - 60,
)  # fmt: skip


def estimates(fraction: float | None = None) -> tuple[Estimate, ...]:
    """Options of the founding case; the fraction's own row follows the what-if."""
    to = 0.91 if fraction is None else fraction
    tokens = TOKENS + int(PRE * (to - 0.85) * GIB / CELL)
    return (
        Estimate(
            id="raise-fraction", title=f"raise fraction to {to:g}", applies=True, flags=(f"--mem-fraction-static {to:g}",), tokens=tokens,
            fits=tokens / 2_050, fits_basis="requests of 2,050 tokens, as observed", tok_s=Range(1_000, 1_090, 1_170, "fit of 38 samples, 18 to 56 running"),
            headroom_gib=HEADROOM - PRE * (to - 0.85), risk="medium", risk_text="2.8 GiB are left for activations: tight", restart=True,
            verify="max_total_num_tokens of the next start is within 0.2% of this", rank=9,
        ),
        Estimate(
            id="fp8-kv", title="fp8 KV cache", applies=True, flags=("--kv-cache-dtype fp8_e4m3",), tokens=232_342, fits=113.3,
            fits_basis="requests of 2,050 tokens, as observed", tok_s=None, tok_s_why="kernels of this attention backend differ; measure", headroom_gib=HEADROOM,
            risk="high", risk_text="accuracy, and a slower kernel on some backends", rank=5,
        ),
        Estimate(
            id="hicache", title="HiCache, ratio 2", applies=True, flags=("--enable-hierarchical-cache", "--hicache-ratio 2"), tokens=TOKENS, fits=56.7,
            fits_basis="requests of 2,050 tokens, as observed", tok_s=Range(835, 840, 870, "prior: hit rate 4%"), headroom_gib=HEADROOM, host_gb=131.0,
            risk="low", risk_text="adds no running tokens", rank=2, notes=("131 GB (decimal) of host memory over 8 ranks",),
        ),
        Estimate(
            id="cap-max-new-tokens", title="cap max_new_tokens to 8,192", applies=False, why_not="the reservation is clipped at 4,096 already", tokens=TOKENS,
            restart=False, rank=-1,
        ),
        Estimate(id="drop-draft", title="drop the draft model", applies=False, why_not="no draft is loaded", rank=-2),
    )  # fmt: skip


def founding(**changes) -> Analysis:
    """The whole of it."""
    frame = Frame(
        now=NOW, finished=True, boots=BOOTS, chosen=1, timeline=timeline(), events=EVENTS,
        sources=(SourceHealth("log", "server.log", "ended", last_at=NOW),),
        counts=ReadCounts(lines=71_201, memory_lines=96, prefill_lines=50, decode_lines=250, bytes=9_400_000),
    )  # fmt: skip
    base = Analysis(frame=frame, account=account(), ledgers=ledgers(), findings=FINDINGS, estimates=estimates())
    return replace(base, **changes)


def what_if(fraction: float) -> WhatIf:
    """What ``domain.accounting.what_if`` says for the founding case."""
    more = PRE * (fraction - 0.85)
    return WhatIf(
        fraction=fraction,
        rest_gib=Known(POST - PRE * (1 - fraction), None, Where("formula", "post − pre × (1 − fraction)")),
        tokens=Known(max(0, TOKENS + int(more * GIB / CELL)), None, Where("formula", "reported + pre × change ÷ cell")),
        kv_gib=Known(7.60 + more, None, Where("formula", "tokens × cell")),
        headroom_gib=Known(HEADROOM - more, None, Where("formula", "today's headroom − pre × change")),
        shortcut_tokens=Known(int(TOKENS * fraction / 0.85), None, Where("formula", "tokens × fraction ÷ fraction today")),
    )


def bare(reason: str = "the log has no start in it") -> Analysis:
    """A log that says next to nothing."""
    gone = Missing(reason)
    fields = {name: gone for name in Account.__dataclass_fields__ if name.endswith(("_gib", "_bytes", "_gb"))}
    identity = Identity(
        version=gone, model=gone, architecture=gone, attention=gone, tp=gone, dp=gone, pp=gone, dp_attention=False, kv_dtype=gone, page_size=gone,
        geometry=None, geometry_source=reason,
    )  # fmt: skip
    poor = Account(
        identity=identity, fraction=gone, cell_basis="unknown", cell_formula="", tokens_predicted=gone, tokens_reported=gone, tolerance_tokens=0,
        swa_tokens=gone, state_slots=gone, cap_tokens=gone, running_cap=gone, running_cap_why="", context_len=gone, **fields,
    )  # fmt: skip
    frame = Frame(now=None, finished=True, sources=(SourceHealth("log", "other.log", "ended", reason=reason),), notes=(reason,))
    verdict = Finding(
        id="not-enough-data", title="Not enough data yet", sentence=reason, axis="concurrency", confidence="low",
        needs=("a log that begins with the server's start",),
    )  # fmt: skip
    return Analysis(frame=frame, account=poor, findings=(verdict,))


def hostile() -> Analysis:
    """The founding case with names that try to break the screen."""
    evil = "[red]x[/red]\x1b[2J\u202e\x07" + "W" * 500 + "\n[/]"
    identity = replace(IDENTITY, model=known(evil, 14))
    finding = replace(FINDINGS[0], title=evil, sentence=evil, evidence=(Evidence(evil, evil),))
    estimate = replace(estimates()[0], title=evil, flags=(evil,), risk_text=evil)
    event = Event("exception", math.inf, 10**15, evil)
    base = founding()
    return replace(
        base, account=account(identity=identity, pre_gib=known(math.nan, 1)), findings=(finding,), estimates=(estimate,),
        frame=replace(base.frame, events=(event,), now=math.inf, notes=(evil,)),
    )  # fmt: skip
