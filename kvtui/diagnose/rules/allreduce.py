"""V13: tensor parallelism over PCIe: the step waits for messages, although the links look idle."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, first_at, proof, read, witness
from kvtui.diagnose.machine import NO_GPUS, is_busy, nvml_at, pcie_only, server_gpus, step_of, tensor_parallel, without_nvlink
from kvtui.diagnose.registry import rule
from kvtui.diagnose.step_bytes import efficiency, step_picture
from kvtui.diagnose.steps import decoding
from kvtui.domain.finding import Confidence, Evidence, Finding, Ruled
from kvtui.domain.gpu import Gpu
from kvtui.domain.picture import Picture
from kvtui.domain.reading import Known, Missing, Reading

_FEWEST_RANKS: Final = 4
_LOW: Final = 0.2
_HIGH: Final = 0.55
"""Share of the peak bandwidth of a step that waits for messages (facts/diagnoses.md V13)."""
_SLACK_POWER: Final = 0.6
"""Share of the power limit below which GPUs that look busy are waiting."""


@rule("allreduce")
def allreduce(context: Context) -> Finding | None:
    """Four ranks or more without NVLink, a step well above what its bytes need, graphs on, little prefill."""
    tp, gpus, line = tensor_parallel(context), server_gpus(context), pcie_only(context)
    apart = without_nvlink(gpus)
    if tp is None or tp < _FEWEST_RANKS or not decoding(context) or apart is False or (apart is None and line is None):
        return None
    eta, idle = efficiency(context), _waiting(gpus)
    if (isinstance(eta, Known) and not _LOW <= eta.value <= _HIGH) or (isinstance(eta, Missing) and line is None and idle is None):
        return None
    confidence: Confidence = "medium" if isinstance(eta, Known) else "low"
    step, running = step_of(context), read(context.workload.running) or 0.0
    told = f"a step of {step * 1000:.1f} ms" if step is not None else "a step"
    proven = f" reaches only {eta.value:.0%} of the memory bandwidth" if isinstance(eta, Known) else " may wait for messages"
    return Finding(
        id="allreduce",
        title="All-reduce over PCIe may limit tokens per step",
        sentence=f"{tp} tensor-parallel GPUs share no NVLink: {told} at {running:.0f} running{proven}.",
        axis="step",
        confidence=confidence,
        since=first_at(context),
        evidence=_evidence(context, gpus, line_evidence=(witness(line),) if line is not None else (), eta=eta, idle=idle),
        ruled_out=(
            Ruled("prefill", "decode steps without prefill in between were judged, or little prefill was seen"),
            Ruled("cuda-graph", "decode runs as a CUDA graph, or nothing says otherwise"),
        ),
        fixes=("tune-allreduce", "pp-for-tp", "dp-attention"),
        advice=(
            "PCIe counters stay near 10% while this holds: it is the latency of each message, not the bandwidth.",
            "Test NCCL_P2P_LEVEL=SYS and NCCL_MIN_NCHANNELS=8; measure one message with all_reduce_perf of nccl-tests.",
        ),
        verify=("the step is shorter at the same running requests",),
        needs=_needs(eta, gpus),
        pictures=_pictures(eta, step),
    )


def _pictures(eta: Reading[float], step: float | None) -> tuple[Picture, ...]:
    if not isinstance(eta, Known) or step is None:
        return (Picture("step", "Nothing tells yet how much of this step is waiting."),)
    seen = "The step lies far above what reading its bytes takes: the rest is waiting."
    return (step_picture(eta.value * step, _HIGH, seen, "no waiting"),)


def _evidence(
    context: Context, gpus: tuple[Gpu, ...], *, line_evidence: tuple[Evidence, ...], eta: Reading[float], idle: float | None
) -> tuple[Evidence, ...]:
    found = list(line_evidence)
    if gpus:
        found.append(Evidence(f"no active NVLink on {len(gpus)} GPUs", "nvml: nvmlDeviceGetNvLinkState", nvml_at(context)))
    if isinstance(eta, Known):
        found.append(proof(f"bytes of a step over time and peak bandwidth: {eta.value:.2f}", eta))
    if idle is not None:
        found.append(Evidence(f"busy GPUs draw {idle:.0%} of their power limit", "nvml: power", nvml_at(context)))
    return tuple(found)


def _waiting(gpus: tuple[Gpu, ...]) -> float | None:
    """Share of the power limit that busy GPUs draw, where it is low."""
    shares = [
        gpu.power.value / gpu.power_limit.value
        for gpu in gpus
        if is_busy(gpu) and isinstance(gpu.power, Known) and isinstance(gpu.power_limit, Known) and gpu.power_limit.value > 0
    ]
    mean = sum(shares) / len(shares) if shares else None
    return mean if mean is not None and mean < _SLACK_POWER else None


def _needs(eta: Reading[float], gpus: tuple[Gpu, ...]) -> tuple[str, ...]:
    found = ["the time of one all-reduce of running × hidden size × 2 bytes (nccl-tests)"]
    if isinstance(eta, Missing):
        found.append(f"how near the step is to the memory bandwidth: {eta.reason}")
    if not gpus:
        found.append(NO_GPUS)
    return tuple(found)
