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
    ("disable_custom_all_reduce", "--disable-custom-all-reduce", "small messages between GPUs go through NCCL, which is slower"),
    ("enable_deterministic_inference", "--enable-deterministic-inference", "slower kernels, for the sake of equal results"),
    ("enable_nan_detection", "--enable-nan-detection", "every step checks its results and waits for the check"),
)
_SHORT_CONTEXT: Final = 0.1
"""A context length below this share of the model's looks like one of a test."""
_CONSERVATIVE: Final = 1.5


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
    found += [(setting, flag, cost) for name, flag, cost in _SWITCHES if (setting := _typed(boot, name, flag)) is not None]
    found += _values(context, boot)
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


def _typed(boot: Boot, name: str, flag: str) -> Setting | None:
    """A switch that somebody turned on; not one that the server turned on by itself.

    ``/server_info`` shows arguments as resolved: there only the launch command tells, where it is known.
    """
    setting = boot.setting(name)
    if setting is None or setting.value is not True or setting.origin == "forced" or _on_cpu(boot):
        return None
    if setting.origin == "server_info" and boot.launch_command is not None and flag not in boot.launch_command:
        return None
    # Speculation turns the overlap scheduler off by itself in many releases.
    return None if name == "disable_overlap_schedule" and boot.text("speculative_algorithm") else setting


def _values(context: Context, boot: Boot) -> list[tuple[Setting, str, str]]:
    """Settings whose value looks like one of a test."""
    found: list[tuple[Setting, str, str]] = []
    if (setting := boot.setting("load_format")) is not None and setting.value == "dummy":
        found.append((setting, "--load-format dummy", "the weights are random numbers"))
    geometry, length = context.account.identity.geometry, boot.number("context_length")
    longest = geometry.context_len if geometry is not None else None
    if length is not None and longest and 0 < length < _SHORT_CONTEXT * longest and (setting := boot.setting("context_length")) is not None:
        found.append((setting, f"--context-length {length:.0f}", f"the model reads {longest:,} tokens; longer prompts are refused"))
    caution = boot.number("schedule_conservativeness")
    if caution is not None and _CONSERVATIVE <= caution < 1e3 and (setting := boot.setting("schedule_conservativeness")) is not None:
        found.append((setting, f"--schedule-conservativeness {caution:g}", "fewer requests are admitted than the pool could hold"))
    return found
