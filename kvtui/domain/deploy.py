"""A boot's settings as the deployment that sizing takes, and the pool predicted for it."""

from __future__ import annotations

from dataclasses import replace

from kvtui.domain import capacity
from kvtui.domain.account import Account
from kvtui.domain.boot import Boot
from kvtui.domain.cell_choice import Choice
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.identity import parallel_size
from kvtui.domain.memory_facts import has_draft
from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.release import Release
from kvtui.domain.sizing import Cell, SizingError, cell, size
from kvtui.domain.sizing.deployment import Deployment, config_for
from kvtui.domain.units import GIB


def _whole(boot: Boot, name: str) -> int | None:
    value = boot.number(name)
    return int(value) if value is not None and abs(value) < 1 << 40 else None


def deployment_of(boot: Boot, release: Release | None) -> Deployment:
    """The settings of a boot that sizing depends on; what the log does not show stays unset."""
    cap, context = capacity.running_cap(boot)[0], capacity.context_len(boot)
    asked = boot.setting("max_running_requests")
    final = boot.final
    return Deployment(
        release=release,
        tp=optional(parallel_size(boot, "tp_size", "tp")) or 1,
        pp=optional(parallel_size(boot, "pp_size", "pp")) or 1,
        dp=optional(parallel_size(boot, "dp_size", "dp")) or 1,
        dp_attention=boot.switch("enable_dp_attention"),
        attn_cp=_whole(boot, "attn_cp_size") or 1,
        dcp=_whole(boot, "dcp_size") or _whole(boot, "decode_context_parallel_size") or 1,
        kv_dtype=boot.text("kv_cache_dtype"),
        page_size=_whole(boot, "page_size"),
        max_total_tokens=optional(capacity.cap_tokens(boot)),
        max_running_requests=_whole(boot, "max_running_requests") if asked is not None else optional(cap),
        context_len=optional(context),
        spec=boot.text("speculative_algorithm"),
        steps=_whole(boot, "speculative_num_steps"),
        topk=_whole(boot, "speculative_eagle_topk"),
        draft_tokens=_whole(boot, "speculative_num_draft_tokens"),
        swa_ratio=boot.number("swa_full_tokens_ratio"),
        mamba_ratio=boot.number("mamba_full_memory_ratio"),
        max_mamba=_whole(boot, "max_mamba_cache_size"),
        ssm_bytes=2 if boot.text("mamba_ssm_dtype") in {"bfloat16", "float16"} else None,
        disable_radix=boot.switch("disable_radix_cache"),
        extra_buffer=(boot.text("mamba_scheduler_strategy") or "").startswith("extra_buffer"),
        lazy_buffer="lazy" in (boot.text("mamba_scheduler_strategy") or ""),
        disable_overlap=boot.switch("disable_overlap_schedule"),
        hicache=boot.switch("enable_hierarchical_cache"),
        chunk=final.chunked_prefill_size if final is not None else _whole(boot, "chunked_prefill_size") or 8192,
        attention_backend=boot.text("nsa_decode_backend") or boot.text("dsa_decode_backend"),
        disable_hybrid_swa_memory=boot.switch("disable_hybrid_swa_memory"),
        feature_cache=(boot.text("mm_feature_transport") or "") in {"cuda_ipc", "cuda_vmm"},
        hisparse=boot.switch("enable_hisparse"),
        unified_memory=boot.switch("enable_unified_memory"),
    )


def target_cell(geometry: Geometry, deployment: Deployment, dtype: str | None) -> Cell:
    """The target's cell, without a draft's share; ``dtype`` overrides the deployment's.

    Raises SizingError where the geometry is not modelled.
    """
    return cell(config_for(geometry, replace(deployment, spec=None, kv_dtype=dtype or deployment.kv_dtype)))


def divisor(choice: Choice, deployment: Deployment) -> Reading[float]:
    """Bytes that the formula divides by: the cell, plus a draft's share where the release prices it."""
    if choice.geometry is None or choice.basis != "geometry" or deployment.spec is None:
        return choice.cell
    dtype = optional(choice.dtype)
    try:
        priced = cell(config_for(choice.geometry, replace(deployment, kv_dtype=dtype or deployment.kv_dtype)))
    except SizingError as error:
        return Missing(error.message)
    return Known(priced.bytes, None, Where("formula", priced.formula))


def _page(account: Account) -> int:
    return account.identity.page_size.value if isinstance(account.identity.page_size, Known) else 1


def predict(boot: Boot, account: Account, release: Release | None) -> Reading[int]:
    """``max_total_num_tokens`` by the law, from the logged memory figures.

    Logged state pools are taken as they are; a pool with two parts or with old speculative room is sized by the release's own rules.
    """
    geometry = account.identity.geometry
    if geometry is not None and _needs_rules(account, release, boot):
        return _by_rules(boot, account, release, geometry)
    if not isinstance(account.rest_gib, Known):
        return account.rest_gib
    if not isinstance(account.divisor_bytes, Known):
        return account.divisor_bytes
    page = _page(account)
    tokens = int(account.rest_gib.value * GIB / account.divisor_bytes.value) // page * page
    if tokens <= 0:
        return Missing("the formula leaves nothing for the pool")
    if isinstance(account.cap_tokens, Known):
        tokens = min(tokens, account.cap_tokens.value // page * page)
    return Known(tokens, None, Where("formula", "floor(rest / cell), whole pages"))


def _needs_rules(account: Account, release: Release | None, boot: Boot) -> bool:
    kind = account.identity.attention
    attention = kind.value if isinstance(kind, Known) else None
    if account.cell_basis != "geometry" or isinstance(account.state_gib, Known):
        return False
    if attention in {Attention.SWA, Attention.MAMBA_HYBRID, Attention.DSV4}:
        return True
    return has_draft(boot) and release is not None and release.base <= (0, 5, 6)


def _by_rules(boot: Boot, account: Account, release: Release | None, geometry: Geometry) -> Reading[int]:
    inputs = (account.pre_gib, account.post_gib, account.fraction)
    pre, post, fraction = inputs
    if not (isinstance(pre, Known) and isinstance(post, Known) and isinstance(fraction, Known)):
        return next((r for r in inputs if isinstance(r, Missing)), Missing("an input is unknown"))
    deployment = replace(
        deployment_of(boot, release),
        pre=pre.value,
        post=post.value,
        fraction=fraction.value,
        kv_dtype=optional(account.identity.kv_dtype) or boot.text("kv_cache_dtype"),
    )
    try:
        sized = size(config_for(geometry, deployment))
    except SizingError as error:
        return Missing(error.message)
    return Known(sized.tokens, None, Where("formula", f"sized by the rules of {release}" if release else "sized by the newest rules"))
