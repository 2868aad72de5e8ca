"""V5: a decode step reads memory about as fast as it can be read. The healthy end state."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, first_at, proof, read
from kvtui.diagnose.machine import bandwidth, step_of
from kvtui.diagnose.registry import rule
from kvtui.diagnose.step_bytes import efficiency, step_bytes, step_picture
from kvtui.diagnose.steps import decoding
from kvtui.domain.finding import Evidence, Finding, Ruled
from kvtui.domain.reading import Known, Missing

ENOUGH: Final = 0.6
"""Share of the peak bandwidth that the best public stacks reach (facts/diagnoses.md V5)."""

_SEEN: Final = "A step takes hardly longer than reading its bytes does."


@rule("decode-bandwidth")
def decode_bandwidth(context: Context) -> Finding | None:
    """Bytes of a step at 0.6 of the peak bandwidth or more, with graphs and little prefill."""
    rank, eta, budget, peak = context.rank, efficiency(context), step_bytes(context), bandwidth(context)
    if rank is None or not decoding(context) or isinstance(eta, Missing) or isinstance(budget, Missing) or eta.value < ENOUGH:
        return None
    step, running = step_of(context) or 0.0, read(rank.running) or 0.0
    heavy = budget.kv_share >= 0.5
    rate = f"{peak.value / 1e9:,.0f} GB/s" if isinstance(peak, Known) else "unknown"
    return Finding(
        id="decode-bandwidth",
        title="Memory bandwidth limits tokens per step",
        sentence=(
            f"A decode step of {step * 1000:.1f} ms reads about {budget.total / 1e9:.1f} GB a GPU, {eta.value:.0%} of what its memory can "
            f"deliver: {'KV' if heavy else 'weights'} outweigh the rest, and little more is to be had at {running:.0f} running."
        ),
        axis="step",
        confidence="medium" if context.confidence != "low" else "low",
        since=first_at(context),
        evidence=(
            Evidence(f"weights {budget.weights / 1e9:.1f} GB and KV {budget.kv / 1e9:.1f} GB a step and GPU", "formula: bytes of a step"),
            proof(f"peak bandwidth {rate}", peak),
            proof(f"step {step * 1000:.1f} ms at {running:.1f} running", rank.step_s),
        ),
        ruled_out=(
            Ruled("allreduce", f"{eta.value:.0%} of the bandwidth is used; a step that waits for messages uses half of it or less"),
            Ruled("cuda-graph", "decode runs as a CUDA graph")
            if (read(rank.graph_share) or 0.0) > 0.5
            else Ruled("prefill", "little prefill"),
        ),
        fixes=("fp8-kv", "dcp", "more-gpus") if heavy else ("raise-fraction", "quantize-weights", "more-gpus"),
        advice=("More requests at once cost few bytes while weights outweigh KV: what lets more run raises tokens a second.",)
        if not heavy
        else ("Shorter contexts or a smaller cell shorten the step.",),
        verify=("tokens a second rise and the step stays near the time that its bytes need",),
        needs=("DRAM_ACTIVE of DCGM measures the bandwidth; this is an estimate from sizes, with even routing of experts",),
        pictures=(step_picture(budget.total / peak.value, ENOUGH, _SEEN, "bandwidth limits"),) if isinstance(peak, Known) else (),
    )
