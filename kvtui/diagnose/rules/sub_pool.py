"""V21: a sliding-window or state pool is full while the main pool has room."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Finding, Ruled
from kvtui.domain.picture import Level, Picture
from kvtui.domain.reading import Known

_FULL = 0.95
_ROOM = 0.8


@rule("sub-pool")
def sub_pool(context: Context) -> Finding | None:
    """SWA or state pool at 0.95 or more, main pool below 0.8, and requests wait (facts/diagnoses.md V21)."""
    rank = context.rank
    if rank is None or not context.loaded or not context.queueing:
        return None
    usage = read(rank.usage_peak)
    pools = (("sliding-window pool", rank.swa_usage, "swa-ratio"), ("state pool", rank.mamba_usage, "mamba-ratio"))
    for name, reading, option in pools:
        if isinstance(reading, Known) and reading.value >= _FULL and usage is not None and usage < _ROOM:
            return Finding(
                id="sub-pool",
                title=f"The {name} limits concurrency",
                sentence=context.told(
                    f"The {name} is {reading.value:.0%} full, the main pool {usage:.0%}: admission takes the smaller of the two."
                ),
                axis="concurrency",
                confidence=context.confidence,
                since=first_at(context),
                evidence=(
                    proof(f"{name} {reading.value:.2f}, main pool {usage:.2f}", reading),
                    proof(f"queued {read(rank.queued) or 0:.1f}", rank.queued),
                ),
                ruled_out=(Ruled("kv-capacity", f"the main pool is at {usage:.0%}"),),
                fixes=(option,),
                verify=("both usages rise together",),
                pictures=(
                    Picture(
                        "usage",
                        f"The {name} is full while the main pool has room.",
                        (Level(_FULL, f"full from {_FULL:.2f}"), Level(_ROOM, f"room below {_ROOM:.2f}")),
                    ),
                    Picture("load", "And requests wait, above what runs."),
                ),
            )
    return None
