"""A server that does not exist yet, as the levers look at one: for ``kvtui plan``."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from kvtui.domain.account import Account, Identity
from kvtui.domain.boot import Boot, Scalar, Setting
from kvtui.domain.geometry import Geometry
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.sizing import SizingConfig, size
from kvtui.domain.sizing.deployment import FORCED_BY_DRAFTS, Deployment, config_for
from kvtui.domain.units import GIB
from kvtui.options.context import OptionContext
from kvtui.options.of_analysis import NO_LOAD

_ASKED: Final = Where("flag", "as planned")
_SIZED: Final = Where("formula", "sized by the release's rules")
_NOT_RUN: Final = Missing("the server was not started")
_DTYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def context_of_plan(geometry: Geometry, deployment: Deployment) -> OptionContext:
    """The planned server: its pool by the release's sizing, no load, no headroom until someone starts it.

    Raises SizingError where it has no pool or is not modelled; ValueError where memory or the fraction is missing.
    """
    pre, post, fraction = deployment.pre, deployment.post, deployment.fraction
    if pre is None or post is None or fraction is None:
        raise ValueError("Free memory before and after the weights and the fraction are needed.")
    config = config_for(geometry, deployment)
    sized = size(config)
    forced = deployment.spec is not None and deployment.max_running_requests is None and sized.reqs == FORCED_BY_DRAFTS
    why = f"{FORCED_BY_DRAFTS} set by speculative decoding" if forced else "by the release's rules"
    cell = sized.cell.bytes
    account = Account(
        identity=_identity(geometry, deployment, config),
        pre_gib=Known(pre, None, _ASKED),
        post_gib=Known(post, None, _ASKED),
        fraction=Known(fraction, None, _ASKED),
        slack_gib=Known(pre * (1 - fraction), None, _SIZED),
        extras_gib=Known(sized.reserve_gib + sized.state_gib, None, _SIZED),
        rest_gib=Known(sized.rest_gib, None, _SIZED),
        cell_bytes=Known(cell, None, _SIZED),
        cell_basis="geometry",
        cell_formula=sized.cell.formula,
        kv_gib=Known(sized.kv_gib, None, _SIZED),
        tokens_predicted=Known(sized.tokens, None, _SIZED),
        tokens_reported=Known(sized.tokens, None, _SIZED),
        tolerance_tokens=0,
        swa_tokens=_whole(sized.swa),
        state_slots=_whole(sized.mamba),
        state_gib=Known(sized.state_gib, None, _SIZED) if sized.state_gib else _NOT_RUN,
        cap_tokens=_whole(deployment.max_total_tokens),
        running_cap=_whole(sized.reqs),
        running_cap_why=why if sized.reqs is not None else "",
        context_len=_whole(config.context_len),
        headroom_gib=_NOT_RUN,
        weights_gib=Known(pre - post, None, Where("formula", "pre − post")),
        draft_weights_gib=_NOT_RUN,
        draft_kv_gib=_NOT_RUN,
        graphs_gib=_NOT_RUN,
        context_gib=_NOT_RUN,
        req_to_token_gib=_table(config, sized.req_slots),
        host_gb=_NOT_RUN,
        divisor_bytes=Known(cell, None, _SIZED),
        kv_share=_share(sized.kv_gib, sized.state_gib, deployment),
    )
    return OptionContext(account=account, workload=NO_LOAD, boot=_boot(geometry, deployment, account))


def _whole(value: int | None) -> Reading[int]:
    return Known(value, None, _SIZED) if value is not None else Missing("not part of this plan")


def _table(config: SizingConfig, rows: int | None) -> Reading[float]:
    if rows is None or config.context_len is None:
        return _NOT_RUN
    return Known(rows * (config.context_len + 4 + config.draft_tokens) * 4 / GIB, None, _SIZED)


def _share(kv_gib: float, state_gib: float, deployment: Deployment) -> float:
    """Share of a further byte that becomes KV where states take a ratio of the budget."""
    if state_gib <= 0 or deployment.max_mamba is not None or deployment.disable_radix:
        return 1.0
    return kv_gib / (kv_gib + state_gib)


def _identity(geometry: Geometry, deployment: Deployment, config: SizingConfig) -> Identity:
    release = deployment.release
    return Identity(
        version=Known(str(release), None, _ASKED) if release is not None else Missing("no release was given: the newest rules"),
        model=Known(geometry.name, None, _ASKED),
        architecture=Known(geometry.architecture, None, _ASKED),
        attention=Known(geometry.attention, None, _ASKED),
        tp=Known(deployment.tp, None, _ASKED),
        dp=Known(deployment.dp, None, _ASKED),
        pp=Known(deployment.pp, None, _ASKED),
        dp_attention=deployment.dp_attention,
        kv_dtype=Known(_DTYPES.get(config.kv_dtype, config.kv_dtype), None, _ASKED),
        page_size=Known(config.page_size, None, _ASKED),
        geometry=geometry,
        geometry_source="as planned",
    )


def _boot(geometry: Geometry, deployment: Deployment, account: Account) -> Boot:
    """The settings that were asked for, so that levers see what is set already and the command can be written out."""
    asked: dict[str, Scalar] = {
        "model_path": geometry.name,
        "tp_size": deployment.tp,
        "pp_size": deployment.pp,
        "dp_size": deployment.dp,
        "enable_dp_attention": deployment.dp_attention,
        "mem_fraction_static": deployment.fraction,
        "kv_cache_dtype": deployment.kv_dtype,
        "page_size": deployment.page_size,
        "max_total_tokens": deployment.max_total_tokens,
        "max_running_requests": deployment.max_running_requests,
        "context_length": deployment.context_len,
        "speculative_algorithm": deployment.spec,
        "speculative_num_steps": deployment.steps,
        "speculative_eagle_topk": deployment.topk,
        "speculative_num_draft_tokens": deployment.draft_tokens,
        "swa_full_tokens_ratio": deployment.swa_ratio,
        "mamba_full_memory_ratio": deployment.mamba_ratio,
        "disable_radix_cache": deployment.disable_radix,
    }
    settings = {name: Setting(name, value, "command line", _ASKED) for name, value in asked.items() if value is not None}
    return Boot(0, 0, 0, None, None, "starting", account.identity.version, settings=MappingProxyType(settings))
