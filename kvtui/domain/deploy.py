"""A boot's settings as the deployment that sizing takes, and the pool predicted for it."""

from __future__ import annotations

from dataclasses import replace

from kvtui.domain import capacity
from kvtui.domain.account import Account
from kvtui.domain.boot import Boot
from kvtui.domain.cell_choice import Choice
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.identity import parallel_size
from kvtui.domain.memory_facts import has_draft, pool_size
from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.release import Release
from kvtui.domain.sizing import Cell, Sizing, SizingError, cell, size
from kvtui.domain.sizing.deployment import Deployment, config_for
from kvtui.domain.units import GIB

STATE_RATIO = 0.9
"""``--mamba-full-memory-ratio`` where it is not set."""


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


def target_cell(geometry: Geometry, dtype: str | None, deployment: Deployment) -> Cell:
    """The target's cell, without a draft's share; ``dtype`` overrides the deployment's.

    Raises SizingError where the geometry is not modelled.
    """
    return cell(config_for(geometry, replace(deployment, spec=None, kv_dtype=dtype or deployment.kv_dtype)))


def unlogged_states(boot: Boot, choice: Choice, deployment: Deployment, attention: Reading[Attention]) -> Reading[float]:
    """GiB of a hybrid's state pool where its line is not in the log: what the ratio takes beside the pool that is logged.

    The pool gets ``1 / (1 + ratio)`` of the rest (facts/memory.md 2.7), so the states get ``ratio`` times the pool; not where
    a number of slots is set or the prefix cache is off, which sizes them by requests.
    """
    if not isinstance(attention, Known) or attention.value is not Attention.MAMBA_HYBRID:
        return Missing("no state pool")
    pool = pool_size(boot)
    tokens = capacity.tokens_reported(boot)
    if not isinstance(pool, Known) and isinstance(tokens, Known) and isinstance(choice.cell, Known):
        pool = Known(tokens.value * choice.cell.value / GIB)
    if not isinstance(pool, Known) or deployment.max_mamba is not None or deployment.disable_radix or deployment.spec is not None:
        return Missing("the state pool of the linear-attention layers is not in the log")
    ratio = deployment.mamba_ratio if deployment.mamba_ratio is not None else STATE_RATIO
    return Known(
        round(pool.value * ratio, 4), None, Where("formula", f"not in the log; {ratio:g} × the KV pool, by --mamba-full-memory-ratio")
    )


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
    kind = account.identity.attention
    if (
        isinstance(kind, Known)
        and kind.value is Attention.MAMBA_HYBRID
        and (not isinstance(account.state_gib, Known) or account.state_gib.where.kind == "formula")
    ):
        return Missing("the state pool of the linear-attention layers is taken off first, and its line is not in the log")
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
    absent = next((r for r in inputs if isinstance(r, Missing)), None)
    if absent is not None:
        return absent
    sized = sized_by_rules(boot, account, release, geometry)
    if isinstance(sized, Missing):
        return sized
    return Known(sized.tokens, None, Where("formula", f"sized by the rules of {release}" if release else "sized by the newest rules"))


def sized_by_rules(boot: Boot, account: Account, release: Release | None, geometry: Geometry) -> Sizing | Missing:
    """What the release's own rules make of the logged memory figures; Missing where an input is, or where they refuse."""
    pre, post, fraction = account.pre_gib, account.post_gib, account.fraction
    if not (isinstance(pre, Known) and isinstance(post, Known) and isinstance(fraction, Known)):
        return Missing("free memory or the fraction is unknown")
    deployment = replace(
        deployment_of(boot, release),
        pre=pre.value,
        post=post.value,
        fraction=fraction.value,
        kv_dtype=optional(account.identity.kv_dtype) or boot.text("kv_cache_dtype"),
    )
    try:
        return size(config_for(geometry, deployment))
    except SizingError as error:
        return Missing(error.message)


def with_states(boot: Boot, account: Account, release: Release | None) -> Account:
    """The account of a hybrid whose state line is not in the log, with the states as the rules size them, so that it adds up."""
    geometry, kind = account.identity.geometry, account.identity.attention
    if geometry is None or not isinstance(kind, Known) or kind.value is not Attention.MAMBA_HYBRID or isinstance(account.state_gib, Known):
        return account
    sized = sized_by_rules(boot, account, release, geometry)
    if isinstance(sized, Missing) or sized.state_gib <= 0:
        return account
    where = Where("formula", "not in the log; as the rules of this release size it")
    extras = sized.state_gib + sized.reserve_gib
    return replace(
        account,
        state_gib=Known(round(sized.state_gib, 4), None, where),
        extras_gib=Known(round(extras, 4), None, where),
        rest_gib=Known(round(sized.rest_gib, 6), None, Where("formula", "post − pre × (1 − f) − extras")),
        tokens_predicted=Known(sized.tokens, None, Where("formula", f"sized by the rules of {release}")),
        kv_share=sized.kv_gib / (sized.kv_gib + sized.state_gib),
    )
