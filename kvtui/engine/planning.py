"""``kvtui plan`` for one server: a model and its flags as the configuration that sizing takes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kvtui.domain.fraction import AutoFraction, FractionInputs, auto_fraction
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.models import MODELS, find_model
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.release import parse_release
from kvtui.domain.sizing import SizingConfig
from kvtui.domain.sizing.deployment import Deployment, config_for


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What the user asked to be computed; memory in GiB a GPU."""

    deployment: Deployment
    release: str
    """As typed; empty: the newest."""
    weights: float | None = None
    """Weights on one GPU, where ``post`` is not given."""
    gpu_mib: float | None = None
    """The card's memory as nvidia-smi prints it, for the automatic fraction."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A configuration, and the fraction SGLang would choose where none was given."""

    config: SizingConfig
    auto: AutoFraction | None
    notes: tuple[str, ...]
    geometry: Geometry
    deployment: Deployment
    """With everything filled in that was assumed."""


def known_model(name: str) -> Reading[Geometry]:
    """A model of the built-in table, in any spelling of its name."""
    match = find_model(name, None)
    if match is not None:
        return Known(match.geometry, None, Where("table", match.geometry.name))
    near = sorted(g.name for g in MODELS if name[:4].lower() in g.name.lower())[:6]
    return Missing(f"{name} is not in the built-in table" + (f"; near: {', '.join(near)}" if near else ""))


def plan(geometry: Geometry, request: PlanRequest) -> Planned:
    """The configuration of a request.

    Raises ValueError with one sentence where the request contradicts itself or lacks an input.
    """
    deployment, notes = request.deployment, []
    _refuse(geometry, request)
    if request.release:
        release = parse_release(request.release)
        if release is None:
            raise ValueError(f"{request.release} is not an SGLang release.")
        deployment = replace(deployment, release=release)
    if deployment.post is None and deployment.pre is not None and request.weights is not None:
        deployment = replace(deployment, post=deployment.pre - request.weights)
        notes.append("free after weights = free before weights − weights")
    if deployment.pre is None and deployment.post is not None and request.weights is not None:
        deployment = replace(deployment, pre=deployment.post + request.weights)
    if deployment.pre is None or deployment.post is None:
        raise ValueError(
            "Two of --pre, --post and --weights are needed: GiB free before and after the weights, and the weights of one GPU."
        )
    auto: AutoFraction | None = None
    if deployment.fraction is None:
        if request.gpu_mib is None:
            raise ValueError("Give --fraction, or --gpu-memory in MiB for the fraction that SGLang would choose.")
        auto = auto_fraction(_fraction_inputs(geometry, deployment, request.gpu_mib))
        deployment = replace(deployment, fraction=auto.fraction)
        notes.append(
            f"fraction {auto.fraction:.3f}: chosen by SGLang for {request.gpu_mib:,.0f} MiB"
            + ("" if auto.proven else " (unproven for this release)")
        )
        if auto.note:
            notes.append(auto.note)
    return Planned(config_for(geometry, deployment), auto, tuple(notes), geometry, deployment)


def _refuse(geometry: Geometry, request: PlanRequest) -> None:
    """Requests that no server could have. Raises ValueError."""
    asked = request.deployment
    figures = (asked.pre, asked.post, request.weights, request.gpu_mib, asked.swa_ratio, asked.mamba_ratio, asked.fraction)
    if any(figure is not None and not (math.isfinite(figure) and figure > 0) for figure in figures):
        raise ValueError("Sizes and ratios must be finite and above 0.")
    if asked.pre is not None and asked.post is not None:
        if asked.post >= asked.pre:
            raise ValueError(f"--post {asked.post:g} is not below --pre {asked.pre:g}: the weights take memory.")
        if request.weights is not None and abs(asked.pre - asked.post - request.weights) > max(0.5, 0.02 * request.weights):
            raise ValueError(
                f"--weights {request.weights:g} is not --pre − --post = {asked.pre - asked.post:.2f}: leave one of the three out."
            )
    shared = asked.tp // asked.dp if asked.dp_attention else asked.tp
    if asked.dp_attention and (asked.dp > asked.tp or asked.tp % asked.dp):
        raise ValueError(f"--dp-attention needs --dp {asked.dp} to divide --tp {asked.tp}.")
    if geometry.heads and geometry.heads % shared:
        fit = ", ".join(str(count) for count in range(1, min(geometry.heads, 256) + 1) if geometry.heads % count == 0)
        raise ValueError(f"{geometry.heads} attention heads cannot be spread over {shared} GPUs: SGLang refuses to start. {fit} can.")
    heads = geometry.kv_heads
    if geometry.kv_lora_rank is None and heads and shared > 1 and heads % shared and shared % heads:
        raise ValueError(f"{heads} KV heads cannot be spread over {shared} GPUs: SGLang refuses to start.")


def _fraction_inputs(geometry: Geometry, deployment: Deployment, gpu_mib: float) -> FractionInputs:
    return FractionInputs(
        release=deployment.release,
        gpu_mib=gpu_mib,
        tp=deployment.tp,
        pp=deployment.pp,
        dp=deployment.dp,
        dp_attention=deployment.dp_attention,
        spec=deployment.spec,
        draft_tokens=deployment.draft_tokens,
        mla=geometry.attention in {Attention.MLA, Attention.DSA},
        multimodal=geometry.multimodal,
        vit_layers=geometry.vision_layers or 24,
        vit_hidden=geometry.vision_hidden or 1024,
        max_running_requests=deployment.max_running_requests,
    )
