"""V22: HiCache's host pools over all ranks, a kill by the host, and what the host itself tells of its memory."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, proof, read, witness
from kvtui.diagnose.failures import killed_for_memory
from kvtui.diagnose.host_memory import measured
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding, Ruled

_LARGE_GB: Final = 512.0
"""Host memory of all ranks from which on the sum is worth a look whatever the host has."""


@rule("host-pressure")
def host_pressure(context: Context) -> Finding | None:
    """Host pools with a kill are certain; then what the host tells now; then pools that are large by themselves."""
    pools = _pools(context)
    if pools is not None and pools.axis == "concurrency":
        return pools
    return measured(context) or pools


def _pools(context: Context) -> Finding | None:
    """Host pools of all ranks together, with a kill (certain) or a sum that is large by itself (a banner)."""
    boot, total = context.boot, read(context.account.host_gb)
    pools = [pool for memory in boot.ranks for pool in memory.host_pools] if boot is not None else []
    if not pools and not any(context.events("host-memory")):
        return None
    total = total if total is not None else sum(pool.size_gb for pool in pools)
    kill = killed_for_memory(context) or next(context.events("host-memory"), None)
    if kill is None and total < _LARGE_GB:
        return None
    each = f"{len(pools)} × {pools[0].size_gb:,.2f} GB = {total:,.2f} GB" if pools else f"{total:,.2f} GB"
    ended = (
        "it was killed or refused for host memory"
        if kill is not None
        else "each rank checks the free memory alone, so that together they can exhaust it"
    )
    return Finding(
        id="host-pressure",
        title="HiCache asks for much host memory",
        sentence=f"HiCache takes {each} of host memory over all ranks; {ended}.",
        axis="concurrency" if kill is not None else "banner",
        confidence="high" if kill is not None else "medium",
        since=kill.at if kill is not None else None,
        evidence=(
            Evidence(f"host pools: {each} (decimal GB)", str(pools[0].where) if pools else ""),
            *((witness(kill),) if kill is not None else (proof(f"host memory of all ranks {total:,.0f} GB", context.account.host_gb),)),
        ),
        ruled_out=(Ruled("headroom", "host memory ran out, not GPU memory"),) if kill is not None else (),
        fixes=("hicache",),
        advice=(
            "Lower --hicache-size (GB a rank) or --hicache-ratio (times the device pool): all ranks together leave 20% of the host free.",
            "From 0.5.21 on --hicache-host-memory-fraction bounds all ranks together.",
        ),
        verify=("MemAvailable stays above 10% under load",),
        needs=("MemAvailable of the host and the container's limit",),
    )
