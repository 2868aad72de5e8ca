"""V10: a host cache that would pay, and one that waits for PCIe. It never lets more requests run."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, count, first_at, proof, read
from kvtui.diagnose.machine import nvml_at, server_gpus
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.gpu import Gpu
from kvtui.domain.picture import Level, Picture
from kvtui.domain.reading import Known
from kvtui.domain.scrape import RankRow, Scrape

_PREFILL: Final = 0.25
"""Share of the time in prefill from which on saved prompts are worth a host cache."""
_REUSED: Final = 0.8
"""Share of prompt tokens found in the cache from which on little is left to gain."""
_FREE: Final = 0.05
"""Share of the pool that is neither used nor cached, below which every new prompt throws a cached one out."""
_LINK: Final = 0.7
_LANE_BYTES: Final = {3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
"""Bytes a second of one PCIe lane and direction, by generation, after line coding."""


@rule("hicache")
def hicache(context: Context) -> Finding | None:
    """On: its link is nearly full. Off: prompts are reused, the cache is full, and prefill costs time (facts/diagnoses.md V10)."""
    if context.rank is None or not context.loaded:
        return None
    return _bound(context) if _enabled(context) else _opportunity(context)


def _enabled(context: Context) -> bool:
    boot = context.boot
    return (boot is not None and boot.switch("enable_hierarchical_cache")) or any(
        isinstance(r.host_total_tokens, Known) for r in _rows(context)
    )


def _rows(context: Context) -> tuple[RankRow, ...]:
    scrape = context.frame.http.scrape if context.frame.http is not None else None
    return scrape.stage_rows() if isinstance(scrape, Scrape) else ()


def _link_use(gpu: Gpu) -> float | None:
    """Busier direction over what the link carries, 0 to 1."""
    link = gpu.pcie
    speed = _LANE_BYTES.get(link.generation.value) if isinstance(link.generation, Known) else None
    if speed is None or not isinstance(link.width, Known) or link.width.value <= 0:
        return None
    moved = [reading.value for reading in (link.sent, link.received) if isinstance(reading, Known)]
    return max(moved) / (speed * link.width.value) if moved else None


def _bound(context: Context) -> Finding | None:
    used = [(gpu, share) for gpu in server_gpus(context) if (share := _link_use(gpu)) is not None and share >= _LINK]
    share = read(context.workload.prefill_share)
    if not used or (share is not None and share < _PREFILL):
        return None
    gpu, most = max(used, key=lambda entry: entry[1])
    return Finding(
        id="hicache",
        title="HiCache waits for PCIe",
        sentence=f"HiCache is on and PCIe of {gpu.label} is {most:.0%} full: prefixes are loaded about as fast as the link allows.",
        axis="concurrency",
        confidence="low",
        since=nvml_at(context),
        evidence=tuple(
            Evidence(f"{g.label}: PCIe {s:.0%} of its link", "nvml: PCIe throughput over 20 ms", nvml_at(context)) for g, s in used[:4]
        ),
        ruled_out=(Ruled("kv-capacity", "the host tier holds no running request"),),
        fixes=("hicache",),
        advice=(
            "Try --hicache-io-backend kernel with --hicache-mem-layout page_first and --page-size 64; write_back instead of write_through.",
            "Keep host pages on the GPU's own NUMA node (--numa-node).",
        ),
        verify=("time to first token falls; the link is below its limit",),
        needs=("sglang:load_back_duration_seconds against the time to compute the same tokens",),
    )


def _opportunity(context: Context) -> Finding | None:
    boot, share, hit = context.boot, read(context.workload.prefill_share), read(context.workload.cached_share)
    if share is None or share < _PREFILL or hit is None or not context.thresholds.cache_hit_low <= hit <= _REUSED:
        return None
    if boot is not None and boot.switch("disable_radix_cache"):
        return None
    row = next((row for row in _rows(context) if _full(row)), None)
    if row is None:
        return None
    host = context.frame.host
    room = count(host.memory_available) if host is not None else None
    free = f"; {room / 1e9:,.0f} GB of host memory are available" if room is not None else ""
    return Finding(
        id="hicache",
        title="A host cache could save prefill",
        sentence=(
            f"Prompts share prefixes ({hit:.0%} found in the cache), cached ones fill the rest of the pool so that a new one throws others "
            f"out, and prefill takes {share:.0%} of the time{free}."
        ),
        axis="banner",
        confidence="medium",
        since=first_at(context),
        evidence=(
            Evidence(
                f"free slots {read(row.kv_available_tokens) or 0.0:,.0f}, cached {read(row.kv_evictable_tokens) or 0.0:,.0f} tokens",
                "metric: sglang:kv_available_tokens, kv_evictable_tokens",
                read(context.workload.last_at),
            ),
            proof(f"cached share {hit:.2f}", context.workload.cached_share),
            proof(f"prefill share {share:.2f}", context.workload.prefill_share),
        ),
        ruled_out=(Ruled("prefix-miss", "prefixes match; there is no room to keep them"),),
        fixes=("hicache", "raise-fraction", "cache-aware-routing"),
        advice=("It shortens prefill only: neither running requests nor max_total_num_tokens grow with it.",),
        verify=("cached tokens from the host appear, and time to first token falls; usage does not change",),
        pictures=(
            Picture(
                "hits",
                "Prompts are found in the cache, and less often than they could be.",
                (Level(context.thresholds.cache_hit_low, "reused from here"), Level(_REUSED, "little left to gain from here")),
            ),
            Picture("usage", "What running requests leave of the pool holds cached prefixes."),
        ),
        needs=("how large the reused prefixes are: sglang:evicted_tokens_total that is computed again later shows it",)
        if room is not None
        else ("the host's free memory (run kvtui on the server's host), and the size of the reused prefixes",),
    )


def _full(row: RankRow) -> bool:
    free, cached, pool = read(row.kv_available_tokens), read(row.kv_evictable_tokens), read(row.pool_tokens)
    return free is not None and cached is not None and pool is not None and pool > 0 and free < _FREE * pool and cached > _FREE * pool
