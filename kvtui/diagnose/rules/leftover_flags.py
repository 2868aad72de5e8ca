"""V26: flags of a test or of another machine that cost much and are easy to forget."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, count
from kvtui.diagnose.registry import rule
from kvtui.domain.boot import Boot, Setting
from kvtui.domain.finding import Confidence, Evidence, Finding

_SWITCHES: Final = (
    ("disable_radix_cache", "--disable-radix-cache", "every prompt is computed whole, whatever it shares"),
    ("disable_cuda_graph", "--disable-cuda-graph", "decode pays the launch cost of every kernel"),
    ("disable_overlap_schedule", "--disable-overlap-schedule", "the GPU waits for the scheduler between steps"),
)


@rule("leftover-flags")
def leftover_flags(context: Context) -> Finding | None:
    """Weight offload that nothing needs, switches that turn a default off, a token cap below what fits."""
    boot = context.boot
    if boot is None:
        return None
    found: list[tuple[Setting, str, str]] = []
    offload = boot.number("cpu_offload_gb")
    if offload is not None and offload > 0 and (setting := boot.setting("cpu_offload_gb")) is not None:
        found.append((setting, f"--cpu-offload-gb {offload:g}", "weights cross PCIe in every step; typical loss is tenfold"))
    for name, flag, cost in _SWITCHES:
        if (setting := boot.setting(name)) is not None and setting.value is True and setting.origin != "forced" and not _on_cpu(boot):
            found.append((setting, flag, cost))
    cap, tokens = count(context.account.cap_tokens), count(context.account.tokens_predicted)
    if cap is not None and (setting := boot.setting("max_total_tokens")) is not None and _caps(context, cap, tokens):
        found.append(
            (
                setting,
                f"--max-total-tokens {cap}",
                f"the pool stops at {cap:,} tokens" + (f" where {tokens:,} fit" if tokens is not None and tokens > cap else ""),
            )
        )
    if not found:
        return None
    confidence: Confidence = "high" if offload is not None and offload > 0 else "medium"
    names = ", ".join(flag for _, flag, _ in found)
    return Finding(
        id="leftover-flags",
        title="Flags that may be left over",
        sentence=f"Set on this server: {names}; {found[0][2]}.",
        axis="banner",
        confidence=confidence,
        evidence=tuple(Evidence(f"{flag}: {cost}", str(setting.where)) for setting, flag, cost in found),
        fixes=("remove-leftover-flags",),
        advice=(f"Start without {names} unless somebody knows why they are set.",),
        verify=("tok/s at the same running requests rises",),
    )


def _on_cpu(boot: Boot) -> bool:
    """A CPU server has neither CUDA graphs nor the overlap scheduler."""
    return boot.text("device") == "cpu"


def _caps(context: Context, cap: int, predicted: int | None) -> bool:
    reported = count(context.account.tokens_reported)
    return reported is not None and reported <= cap and reported >= 0.98 * cap and (predicted is None or predicted >= reported)
