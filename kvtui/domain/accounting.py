"""The memory account of a boot: what the server reports, and the arithmetic that explains it.

What the server reports is the truth; the prediction explains it (DESIGN.md section 4). The law and
its differences between releases: ``domain.sizing``; the lines that feed it: ``domain.memory_facts``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from kvtui.domain import capacity, memory_facts
from kvtui.domain.account import Account, Identity
from kvtui.domain.boot import Boot
from kvtui.domain.causes import explain
from kvtui.domain.cell_choice import Choice, choose_cell
from kvtui.domain.deploy import deployment_of, divisor, predict, target_cell, unlogged_states, with_states
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.identity import (
    architecture,
    attention_kind,
    effective_release,
    model_name,
    page_size,
    parallel_size,
    version_reading,
)
from kvtui.domain.reading import Known, Missing, Reading, Where, optional
from kvtui.domain.release import Release, neighbours
from kvtui.domain.sizing.deployment import Deployment
from kvtui.domain.two_boots import solve
from kvtui.domain.units import GIB, MIB
from kvtui.domain.what_if import fraction_for, what_if

__all__ = ["NO_GEOMETRY", "Given", "account", "fraction_for", "what_if"]

ROUNDING_GIB = 0.005
"""Half a unit in the last place of a logged GiB figure."""
MULTIMODAL_RESERVE_MIB = 100
"""``SGLANG_VLM_CACHE_SIZE_MB``, taken off for multimodal models since 0.5.18 (facts/memory.md 1.2)."""


@dataclass(frozen=True, slots=True)
class Given:
    """A geometry that did not come from the log: a configuration file of the user's, or a model folder."""

    geometry: Geometry | None
    source: str = ""


NO_GEOMETRY = Given(None)


def _identity(boot: Boot, choice: Choice, reported: Reading[int], seen: Attention | None) -> Identity:
    geometry = choice.geometry
    return Identity(
        version=version_reading(boot),
        model=model_name(boot),
        architecture=architecture(boot),
        attention=attention_kind(boot, geometry, seen),
        tp=parallel_size(boot, "tp_size", "tp"),
        dp=parallel_size(boot, "dp_size", "dp"),
        pp=parallel_size(boot, "pp_size", "pp"),
        dp_attention=boot.switch("enable_dp_attention"),
        kv_dtype=choice.dtype,
        page_size=page_size(boot, reported),
        geometry=geometry,
        geometry_source=choice.source,
        version_span=boot.version_hint,
    )


def _fraction(boot: Boot, pre: Reading[float], post: Reading[float], kv: Reading[float], state: Reading[float]) -> Reading[float]:
    """The setting; else worked out from the pool's own size, and labelled so."""
    setting = boot.setting("mem_fraction_static")
    if setting is not None and isinstance(setting.value, float | int) and not isinstance(setting.value, bool) and 0 < setting.value < 1:
        return Known(float(setting.value), None, setting.where)
    if isinstance(pre, Known) and isinstance(post, Known) and isinstance(kv, Known):
        taken = kv.value + (state.value if isinstance(state, Known) else 0.0)
        value = 1 - (post.value - taken) / pre.value
        if 0 < value < 1 and post.value > taken:
            return Known(round(value, 4), None, Where("formula", "worked out: 1 − (post − pool) / pre"))
    return Missing("nothing that was read says it")


def _budget(boot: Boot, identity: Identity, release: Release | None, choice: Choice) -> Reading[float]:
    """GiB that sizing priced for the pool: the pool's size, unless its rows take more than they are priced.

    fp8 rows of DSA models do, before 0.5.18 (facts/memory.md 2.4).
    """
    attention = identity.attention
    if isinstance(attention, Known) and attention.value is Attention.DSA and (release is None or release.base < (0, 5, 18)):
        reported = capacity.tokens_reported(boot)
        if choice.basis == "geometry" and isinstance(choice.cell, Known) and isinstance(reported, Known):
            return Known(reported.value * choice.cell.value / GIB, None, Where("formula", "tokens × priced cell"))
        return Missing("fp8 rows of this model take more memory than sizing prices")
    return memory_facts.pool_size(boot)


def _implied_free(boot: Boot, pool: Reading[float], fraction: Reading[float], reserve: float) -> tuple[Reading[float], Reading[float]]:
    """Free memory before and after the weights, as weights and pool of a running server imply: ``pre = (weights + pool) / f``.

    Follows from the law with nothing else on the GPU's account; a draft, a state pool or a cap breaks it.
    """
    unknown = Missing("only the log of the start tells it"), Missing("only the log of the start tells it")
    weights = memory_facts.weights(boot, draft=False)
    if not (isinstance(weights, Known) and isinstance(pool, Known) and isinstance(fraction, Known)):
        return unknown
    if fraction.where.kind == "formula" or weights.where.kind != "http" or memory_facts.has_draft(boot):
        return unknown
    if isinstance(capacity.cap_tokens(boot), Known) or weights.value <= 0:
        return unknown
    pre = (weights.value + pool.value + reserve) / fraction.value
    where = Where("formula", "worked out: (weights + pool) / fraction")
    return Known(round(pre, 2), None, where), Known(round(pre - weights.value, 2), None, where)


def _worked_out(fraction: Reading[float]) -> bool:
    return isinstance(fraction, Known) and fraction.where.kind == "formula"


def _state(boot: Boot) -> tuple[Reading[float], Reading[int]]:
    pool = next((m.state for m in memory_facts.world(boot) if m.state is not None), None)
    if pool is None:
        return Missing("no state pool in the log"), Missing("no state pool in the log")
    slots: Reading[int] = Known(pool.slots, None, pool.where) if pool.slots is not None else Missing("the state line prints no slots")
    return Known(round(pool.size_gib, 4), None, pool.where), slots


def _reserve(boot: Boot, release: Release | None, geometry: Geometry | None) -> float:
    """GiB of the multimodal reserve: as logged, else by the release's rule."""
    logged = boot.sizing.multimodal_reserve_gib
    if isinstance(logged, Known):
        return logged.value
    if geometry is not None and geometry.multimodal and release is not None and release.base >= (0, 5, 18):
        return MULTIMODAL_RESERVE_MIB * MIB / GIB
    return 0.0


def _extras(boot: Boot, state: Reading[float], reserve: float) -> Reading[float]:
    size = (state.value if isinstance(state, Known) else 0.0) + reserve
    if not size:
        return Known(0.0, None, Where("formula", "no state pool, no reserve"))
    logged = isinstance(state, Known) or isinstance(boot.sizing.multimodal_reserve_gib, Known)
    where = Where("log", "state pool and multimodal reserve") if logged else Where("formula", "the release's multimodal reserve")
    return Known(round(size, 4), None, where)


def _rest(boot: Boot, pre: Reading[float], post: Reading[float], fraction: Reading[float], extras: Reading[float]) -> Reading[float]:
    """What becomes the pool: by the formula, else as printed."""
    if isinstance(pre, Known) and isinstance(post, Known) and isinstance(fraction, Known) and isinstance(extras, Known):
        value = post.value - pre.value * (1 - fraction.value) - extras.value
        return Known(round(value, 6), None, Where("formula", "post − pre × (1 − f) − extras"))
    if isinstance(boot.sizing.rest_gib, Known):
        return boot.sizing.rest_gib
    absent = next((r.reason for r in (pre, post, fraction) if isinstance(r, Missing)), "an input is unknown")
    return Missing(absent)


def _tolerance(account: Account) -> int:
    """Tokens by which rounding of the logged inputs may move the prediction, plus one page."""
    if not isinstance(account.divisor_bytes, Known) or not account.divisor_bytes.value:
        return 0
    rounded = 0.0
    for reading, weight in ((account.post_gib, 1.0), (account.pre_gib, 1.0)):
        if isinstance(reading, Known) and reading.where.kind == "log":
            share = weight
            if reading is account.pre_gib:
                share = 1 - account.fraction.value if isinstance(account.fraction, Known) else 1.0
            rounded += ROUNDING_GIB * share
    if isinstance(account.state_gib, Known):
        rounded += 2 * ROUNDING_GIB
    page = account.identity.page_size.value if isinstance(account.identity.page_size, Known) else 64
    return math.ceil(rounded * GIB / account.divisor_bytes.value) + page


def _kv_share(boot: Boot, state: Reading[float], kv: Reading[float]) -> float:
    """Share of each further byte that becomes KV, where the state pool takes a ratio of the rest (facts/memory.md 2.7)."""
    if not isinstance(state, Known) or not isinstance(kv, Known) or boot.number("max_mamba_cache_size") is not None:
        return 1.0
    if boot.switch("disable_radix_cache") or state.value <= 0 or state.value + kv.value <= 0:
        return 1.0
    return kv.value / (kv.value + state.value)


def _kv_size(boot: Boot, reported: Reading[int], cell: Reading[float]) -> Reading[float]:
    logged = memory_facts.pool_size(boot)
    if isinstance(logged, Known):
        return logged
    if isinstance(reported, Known) and isinstance(cell, Known):
        return Known(round(reported.value * cell.value / GIB, 4), None, Where("formula", "tokens × cell"))
    return logged


def account(boot: Boot, *, boots: Sequence[Boot] = (), given: Given = NO_GEOMETRY, seen: Attention | None = None) -> Account:
    """The account of ``boot``.

    ``boots``: all starts of the same log, to solve ``pre`` and ``post`` exactly from two fractions. ``seen``: the kind of
    attention that the batch lines show, where neither model nor pool lines do.
    """
    reported = capacity.tokens_reported(boot)
    release, deployment, choice, release_note = _fitting(boot, optional(page_size(boot, reported)), given)
    state_gib, state_slots = _state(boot)
    if isinstance(state_gib, Missing):
        state_gib = unlogged_states(boot, choice, deployment, attention_kind(boot, choice.geometry, seen))
    kv = _kv_size(boot, reported, choice.cell)
    pre, post = memory_facts.free_before_weights(boot), memory_facts.free_after_weights(boot)
    identity = _identity(boot, choice, reported, seen)
    reserve = _reserve(boot, release, choice.geometry)
    fraction = _fraction(boot, pre, post, _budget(boot, identity, release, choice), state_gib)
    if isinstance(pre, Missing) and isinstance(post, Missing):
        implied = _implied_free(boot, kv, fraction, reserve)
        # Where the log is read, what it lacks is the reason.
        pre, post = (pre, post) if boot.last_line and isinstance(implied[0], Missing) else implied
    cap, cap_why = capacity.running_cap(boot)
    context = capacity.context_len(boot)
    extras = _extras(boot, state_gib, reserve)
    slack: Reading[float] = Missing("free before weights or the fraction is unknown")
    if isinstance(pre, Known) and isinstance(fraction, Known):
        slack = Known(round(pre.value * (1 - fraction.value), 6), None, Where("formula", "pre × (1 − f)"))
    draft = Account(
        identity=identity,
        pre_gib=pre,
        post_gib=post,
        fraction=fraction,
        slack_gib=slack,
        extras_gib=extras,
        rest_gib=_rest(boot, pre, post, fraction, extras),
        cell_bytes=choice.cell,
        cell_basis=choice.basis,
        cell_formula=choice.formula,
        kv_gib=kv,
        tokens_predicted=Missing("not computed yet"),
        tokens_reported=reported,
        tolerance_tokens=0,
        swa_tokens=capacity.swa_tokens(boot),
        state_slots=state_slots,
        state_gib=state_gib,
        cap_tokens=capacity.cap_tokens(boot),
        running_cap=cap,
        running_cap_why=cap_why,
        context_len=context,
        headroom_gib=memory_facts.headroom(boot),
        weights_gib=memory_facts.weights(boot, draft=False),
        draft_weights_gib=memory_facts.weights(boot, draft=True),
        draft_kv_gib=memory_facts.draft_pool_size(boot),
        graphs_gib=memory_facts.graphs(boot),
        context_gib=memory_facts.context(boot),
        req_to_token_gib=capacity.request_table(cap, context, boot.number("speculative_num_draft_tokens")),
        host_gb=capacity.host_memory(boot),
        divisor_bytes=divisor(choice, deployment),
        kv_share=_kv_share(boot, state_gib, kv),
    )
    return _finish(boot, draft, release, (release_note, *choice.notes), boots)


def _fitting(boot: Boot, page: int | None, given: Given) -> tuple[Release | None, Deployment, Choice, str]:
    """The release whose rules apply, and the cell under them.

    Where the log prints no release and its pool contradicts the geometry under the release taken, the measured neighbours
    are tried: what they changed may have come in between.
    """
    release, note = effective_release(boot)
    tries: list[tuple[Release | None, str]] = [(release, note)]
    if release is not None and not isinstance(boot.version, Known):
        tries += [(other, f"{note} Its pool fits the rules of {other}: they are used.") for other in reversed(neighbours(release) or ())]
    found = []
    for candidate, why in tries:
        deployment = deployment_of(boot, candidate)
        choice = choose_cell(
            boot,
            candidate,
            partial(target_cell, deployment=deployment),
            page=page,
            given=given.geometry,
            given_source=given.source,
        )
        found.append((candidate, deployment, choice, why))
        if choice.basis in {"geometry", "printed"}:
            return found[-1]
    return found[0]


def _finish(boot: Boot, draft: Account, release: Release | None, notes: Sequence[str], boots: Sequence[Boot]) -> Account:
    """Exact inputs where two boots give them, the prediction, its tolerance, and why it differs."""
    exact = solve(boot, draft, boots)
    if exact is not None:
        pre, post = exact
        slack = rest = Known(0.0)
        if isinstance(draft.fraction, Known) and isinstance(draft.extras_gib, Known):
            slack = Known(pre.value * (1 - draft.fraction.value), None, Where("formula", "pre × (1 − f)"))
            rest = Known(post.value - slack.value - draft.extras_gib.value, None, Where("formula", "post − pre × (1 − f) − extras"))
        draft = replace(draft, pre_gib=pre, post_gib=post, slack_gib=slack, rest_gib=rest)
    draft = with_states(boot, replace(draft, tokens_predicted=_predicted(boot, draft, release)), release)
    draft = replace(draft, tolerance_tokens=_tolerance(draft))
    return replace(draft, causes=explain(boot, draft, release), notes=tuple(note for note in notes if note))


def _predicted(boot: Boot, draft: Account, release: Release | None) -> Reading[int]:
    if isinstance(draft.pre_gib, Known) and draft.pre_gib.where.detail.startswith("worked out"):
        return Missing("free memory was worked out from the pool itself, so a prediction would prove nothing")
    if _worked_out(draft.fraction):
        return Missing("the fraction was worked out from the pool itself, so a prediction would prove nothing")
    if draft.cell_basis == "pool size" and not isinstance(draft.rest_gib, Known):
        return Missing("the cell is measured from the pool, and the rest is unknown")
    return predict(boot, draft, release)
