"""V24: too little free GPU memory once the server is up, or an out-of-memory at run time that proves it."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, proof, read, witness
from kvtui.diagnose.failures import runtime_oom
from kvtui.diagnose.machine import known_gpus, nvml_at
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.lowering import lowered_fraction
from kvtui.domain.picture import Picture
from kvtui.domain.reading import Known
from kvtui.domain.units import GIB

RED_GIB: Final = 2.0
AMBER_GIB: Final = 3.0


_PICTURE: Final = Picture("memory", "What is free at the right end is all that a long prompt has for its activations.")


@rule("headroom")
def headroom(context: Context) -> Finding | None:
    """Free memory below 3 GiB (2: red), or an out-of-memory after the start, which is enough by itself."""
    crash = runtime_oom(context)
    free, pre, fraction = (read(reading) for reading in (context.account.headroom_gib, context.account.pre_gib, context.account.fraction))
    if crash is None and (free is None or free >= AMBER_GIB or not context.came_up):
        return _now(context) if context.came_up else None
    chosen = lowered_fraction(context.account)
    lower = f" to {chosen:.2f}" if chosen is not None else ""
    if chosen is not None and fraction is not None and pre is not None:
        lower += f" (frees {pre * (fraction - chosen):.1f} GiB)"
    advice = (
        f"Lower --mem-fraction-static{lower}: what fails after the start is activations, which live in what the pool leaves.",
        "For an out-of-memory in prefill halve --chunked-prefill-size; in decode lower --max-running-requests.",
    )
    if crash is not None:
        left = f" with {free:.2f} GiB left at the end of the start" if free is not None else ""
        return Finding(
            id="headroom",
            title="Out of GPU memory at run time",
            sentence=f"The GPU ran out of memory while it served{left}: the pool leaves too little for activations.",
            axis="banner",
            confidence="high",
            since=crash.at if crash.at is not None else context.frame.now or 0.0,
            evidence=(witness(crash),),
            ruled_out=(
                Ruled("startup-failure", "it failed in a forward pass of a running server"),
                Ruled("kv-capacity", "a full KV pool retracts or queues; it does not run out of memory"),
            ),
            fixes=("lower-fraction", "chunked-prefill", "max-running-requests"),
            advice=advice,
            verify=("free GPU memory stays above 2 GiB through the longest real prompt",),
            pictures=(_PICTURE,),
        )
    red = free is not None and free < RED_GIB
    return Finding(
        id="headroom",
        title="Little GPU memory is left" if red else "GPU memory is somewhat tight",
        sentence=(
            f"{free or 0.0:.2f} GiB of GPU memory are left once the server is up: "
            f"{'below 2' if red else 'below 3'} GiB a long prompt can end it."
        ),
        axis="banner",
        confidence="high" if red else "medium",
        evidence=(proof(f"available_gpu_mem {free or 0.0:.2f} GiB", context.account.headroom_gib),),
        fixes=("lower-fraction", "chunked-prefill", "cuda-graph-max-bs"),
        advice=advice,
        verify=("available_gpu_mem of the new start is 3 GiB or more",),
        needs=("free GPU memory under load (nvidia-smi): the log shows it only at the start",),
        pictures=(_PICTURE,),
    )


def _now(context: Context) -> Finding | None:
    """Little free on a GPU as the driver tells it now; what PyTorch keeps for itself counts as used there, so it is a hint."""
    free = [(gpu.memory.value.free / GIB, gpu) for gpu in known_gpus(context) if isinstance(gpu.memory, Known) and not gpu.unified]
    least = min(free, key=lambda entry: entry[0], default=None)
    if least is None or least[0] >= AMBER_GIB:
        return None
    return Finding(
        id="headroom",
        title="Little GPU memory is left" if least[0] < RED_GIB else "GPU memory is somewhat tight",
        sentence=f"{least[0]:.2f} GiB of {least[1].label} are free under load: below {AMBER_GIB:.0f} GiB a long prompt may end the server.",
        axis="banner",
        confidence="medium",
        since=nvml_at(context),
        evidence=(Evidence(f"{least[1].label}: {least[0]:.2f} GiB free", "nvml: memory", nvml_at(context)),),
        fixes=("lower-fraction", "chunked-prefill", "free-other-processes"),
        advice=("Watch the lowest free memory through the longest real prompt before the fraction is raised.",),
        verify=("free GPU memory stays above 3 GiB under load",),
        needs=("what PyTorch keeps in reserve: it counts as used here and is free for activations",),
        pictures=(_PICTURE,),
    )
