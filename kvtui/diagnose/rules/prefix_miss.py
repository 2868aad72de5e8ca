"""V9 where a log proves it: the prefix cache is off and prefill takes the time."""

from __future__ import annotations

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.pressure import prefill_bound, prefill_pictures
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding
from kvtui.domain.picture import Level, Picture

_MISS = 0.02


@rule("prefix-miss")
def prefix_miss(context: Context) -> Finding | None:
    """Prefill-bound with no hit at all because the radix cache is switched off; a low hit alone proves nothing (V9)."""
    boot, hit, share = context.boot, read(context.workload.cached_share), read(context.workload.prefill_share)
    if boot is None or hit is None or share is None or not context.loaded or not prefill_bound(context):
        return None
    setting = boot.setting("disable_radix_cache")
    if setting is None or setting.value is not True or hit > _MISS:
        return None
    return Finding(
        id="prefix-miss",
        title="Prompts share nothing because the prefix cache is off",
        sentence=(
            f"--disable-radix-cache is set: {hit:.0%} of the prompt tokens come from the cache, "
            f"and prefill takes at least {share:.0%} of the time."
        ),
        axis="concurrency",
        confidence="medium" if context.confidence == "high" else context.confidence,
        since=first_at(context),
        evidence=(
            proof(f"cached share {hit:.2f}", context.workload.cached_share),
            Evidence("disable_radix_cache is on", str(setting.where)),
            proof(f"prefill share {share:.2f}", context.workload.prefill_share),
        ),
        fixes=("remove-leftover-flags", "cache-aware-routing", "hicache"),
        advice=("Start without --disable-radix-cache; it gains as much as prompts share.",),
        verify=("#cached-token of the Prefill lines is above 0",),
        needs=("how much the prompts share: the log cannot tell it while the cache is off",),
        pictures=(
            Picture("hits", "No prompt token comes from the cache.", (Level(_MISS, f"as good as none, up to {_MISS:.0%}"),)),
            prefill_pictures(context)[0],
        ),
    )
