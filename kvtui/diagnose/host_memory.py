"""What the host tells of its memory: stalls are a limit, little left is a banner (facts/diagnoses.md V22)."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, count, read
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.host import HostReading
from kvtui.domain.reading import Known
from kvtui.domain.units import GB, GIB

_LEFT: Final = 0.10
_LEFT_BYTES: Final = 16 * GB
_LARGE_HOST: Final = 64 * GB
"""On a smaller host 16 GB left are no sign."""
_SWAP_BYTES_S: Final = 1e6
_STALLED_PCT: Final = 5.0
_CGROUP: Final = 0.95


def measured(context: Context) -> Finding | None:
    """Swapping, stalls, little available memory, a control group at its limit."""
    host = context.frame.host
    if host is None or host.stale:
        return None
    at = context.stamp(host.at)
    stalls = [sign for sign in (_swapping(host, at), _stalled(host, at)) if sign is not None]
    little = [sign for sign in (_available(context, host, at), _cgroup(host, at)) if sign is not None]
    signs = [*stalls, *little]
    if not signs:
        return None
    largest = max(host.processes, key=lambda process: count(process.rss) or 0, default=None)
    held = count(largest.rss) if largest is not None else None
    if largest is not None and held:
        signs.append(Evidence(f"{largest.title[:60]} (pid {largest.pid}) holds {held / GIB:.1f} GiB", f"host: /proc/{largest.pid}", at))
    return Finding(
        id="host-pressure",
        title="The host is short of memory" if stalls else "Little host memory is left",
        sentence=f"{signs[0].text[0].upper()}{signs[0].text[1:]}{_and(stalls, little)}.",
        axis="concurrency" if stalls else "banner",
        confidence="high" if stalls and little else "medium",
        since=at,
        evidence=tuple(signs),
        ruled_out=(Ruled("headroom", "host memory is short, not GPU memory"),),
        fixes=("hicache",) if context.boot is not None and context.boot.switch("enable_hierarchical_cache") else (),
        advice=(
            "Give HiCache less, find what grows (ps --sort=-rss), raise the container's limit; pinned host pools cannot be swapped out.",
        ),
        verify=("MemAvailable stays above 10%, nothing is swapped and /proc/pressure/memory stays near 0 under load",),
    )


def _and(stalls: list[Evidence], little: list[Evidence]) -> str:
    return f", and {little[0].text}" if stalls and little else ""


def _swapping(host: HostReading, at: float | None) -> Evidence | None:
    moved = (read(host.swap_in) or 0.0) + (read(host.swap_out) or 0.0)
    if moved < _SWAP_BYTES_S:
        return None
    return Evidence(f"{moved / 1e6:,.0f} MB/s go to and from swap", "host: /proc/vmstat", at)


def _stalled(host: HostReading, at: float | None) -> Evidence | None:
    if not isinstance(host.pressure, Known) or host.pressure.value.some < _STALLED_PCT:
        return None
    share = host.pressure.value.some
    return Evidence(f"tasks stood still for want of memory in {share:.0f}% of the last 10 s", "host: /proc/pressure/memory", at)


def _available(context: Context, host: HostReading, at: float | None) -> Evidence | None:
    total, left = count(host.memory_total), count(host.memory_available)
    gpus = context.frame.gpus
    # On machines of one memory the GPU's pool is host memory: that little is left is what was asked for.
    if total is None or left is None or total <= 0 or (gpus is not None and any(gpu.unified for gpu in gpus.gpus)):
        return None
    if left >= _LEFT * total and not (total >= _LARGE_HOST and left < _LEFT_BYTES):
        return None
    return Evidence(f"{left / GIB:.1f} of {total / GIB:.0f} GiB of host memory are available", "host: /proc/meminfo MemAvailable", at)


def _cgroup(host: HostReading, at: float | None) -> Evidence | None:
    if not isinstance(host.cgroup, Known):
        return None
    limit, used = count(host.cgroup.value.limit), count(host.cgroup.value.current)
    if limit is None or used is None or limit <= 0:
        return None
    share = max(0, used - (count(host.cgroup.value.cache) or 0)) / limit
    if share < _CGROUP:
        return None
    return Evidence(f"the control group uses {share:.0%} of its limit of {limit / GIB:.1f} GiB", f"host: {host.cgroup.value.path}", at)
