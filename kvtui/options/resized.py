"""Cells and pools of this server under other settings, by the release's own sizing rules."""

from __future__ import annotations

from dataclasses import replace

from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.sizing import Sizing, SizingError, cell, size
from kvtui.domain.sizing.deployment import Deployment, config_for
from kvtui.options.context import OptionContext, finite

_UNKNOWN_MODEL = Missing("the model's geometry is unknown, so the cell afterwards is too")


def cell_ratio(context: OptionContext, now: Deployment, then: Deployment) -> Reading[float]:
    """Bytes a token under ``then`` over those under ``now``; Missing where either is not modelled."""
    geometry = context.account.identity.geometry
    if geometry is None:
        return _UNKNOWN_MODEL
    dtype = optional(context.account.identity.kv_dtype)
    try:
        before = cell(config_for(geometry, replace(now, kv_dtype=dtype or now.kv_dtype))).bytes
        after = cell(config_for(geometry, replace(then, kv_dtype=then.kv_dtype if then.kv_dtype != now.kv_dtype else dtype))).bytes
    except SizingError as error:
        return Missing(_clause(error.message))
    return Known(after / before, None, Where("formula", "cell after ÷ cell before"))


def sized(context: OptionContext, deployment: Deployment) -> Sizing | Missing:
    """The pools under ``deployment`` with this server's memory; Missing where memory or geometry is unknown."""
    geometry, account = context.account.identity.geometry, context.account
    pre, post, fraction = finite(account.pre_gib), finite(account.post_gib), finite(account.fraction)
    if geometry is None:
        return _UNKNOWN_MODEL
    if pre is None or post is None or fraction is None:
        return Missing("free memory or the fraction is unknown")
    dtype = optional(account.identity.kv_dtype) or deployment.kv_dtype
    full = replace(
        deployment,
        pre=pre,
        post=post if deployment.post is None else deployment.post,
        fraction=fraction if deployment.fraction is None else deployment.fraction,
        kv_dtype=dtype,
    )
    try:
        return size(config_for(geometry, full))
    except SizingError as error:
        return Missing(_clause(error.message))


def _clause(sentence: str) -> str:
    """A sentence as it stands behind a colon; a name keeps its capital."""
    first = sentence.partition(" ")[0]
    return (sentence[:1].lower() + sentence[1:] if first[1:].islower() else sentence).rstrip(".")
