"""V2: running is pinned at ``max_running_requests`` while requests wait."""

from __future__ import annotations

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.pressure import Pressure, full_from, pressure_of
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.samples import PREFILL


@rule("running-cap")
def running_cap(context: Context) -> Finding | None:
    """Running at 0.98 of the cap or more, a queue, and a pool with room (facts/diagnoses.md V2)."""
    pressure, rank = pressure_of(context), context.rank
    if pressure is None or rank is None:
        return None
    guessed = pressure.cap is None and _refilled_to_one_number(context, pressure)
    if not pressure.at_cap and not guessed:
        return None
    cap = pressure.cap if pressure.cap is not None else round(pressure.peak)
    pool, resident = count(context.account.tokens_reported), read(context.workload.resident)
    room = int(pool / resident) if pool is not None and resident else None
    why = context.account.running_cap_why
    draft = read(context.workload.accept_len) is not None
    seen = " (seen, not told)" if guessed else ""
    evidence = [
        proof(f"running {pressure.running:.1f}, peak {pressure.peak:.0f}, cap {cap:,}{seen}, queued {pressure.queued:.1f}", rank.running),
        proof(f"KV usage {pressure.usage:.2f}, {pressure.usage_peak:.2f} at its height", rank.usage),
    ]  # fmt: skip
    if why:
        evidence.append(proof(f"max_running_requests {cap:,}: {why}", context.account.running_cap))
    if draft:
        evidence.append(
            Evidence("speculative decoding is on: where nobody sets max_running_requests it becomes 48 (32 in old releases)", "facts: V2")
        )
    target = f" to about {room:,}" if room is not None and room > cap else ""
    return Finding(
        id="running-cap",
        title="max_running_requests limits concurrency",
        sentence=context.told(
            f"Running is pinned at {cap:,}{' requests, which looks like a cap' if guessed else ', the cap'}: {pressure.queued:.0f} wait "
            f"while KV usage is {pressure.usage:.0%}."
        ),
        axis="concurrency",
        confidence="low" if guessed else context.confidence,
        since=first_at(context),
        evidence=tuple(evidence),
        ruled_out=(Ruled("kv-capacity", f"usage is {pressure.usage_peak:.0%} at most: the pool has room, so more KV would change nothing"),)
        if not pressure.pool_full
        else (),
        fixes=("max-running-requests", "cuda-graph-max-bs"),
        advice=(
            f"Raise --max-running-requests{target}, and the largest captured batch with it, else larger batches run without CUDA graphs.",
        ),
        verify=(f"running exceeds {cap} and decode lines still say cuda graph: True",),
        needs=("the max_running_requests of the start line or of /get_server_info",) if guessed else (),
        pictures=(
            Picture(
                "load",
                "Running lies flat at the cap while more wait above it.",
                (Level(cap, f"cap {cap:,}, as it looks", fault=True),) if guessed else (),
            ),
            Picture("usage", "The pool is not what they wait for: it has room.", (full_from(context),)),
        ),
    )


def _refilled_to_one_number(context: Context, pressure: Pressure) -> bool:
    """Without a known cap: every pass fills up to the same number while the pool is nearly empty."""
    if pressure.usage_peak >= 0.5 or pressure.peak < 8:
        return False
    line = context.frame.timeline
    running, new, queued, kinds = (line.column(name) for name in ("running", "new_seq", "queued", "kind"))
    after = [r + n for r, n, q, k in zip(running, new, queued, kinds, strict=True) if k == PREFILL and q > 0 and r > 0]
    return len(after) >= 2 and all(total == pressure.peak for total in after)
