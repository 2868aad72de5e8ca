"""A plan that was kept, and what came of it: predicted beside actual after the restart."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.frame import Analysis
from kvtui.domain.plan import Plan
from kvtui.domain.reading import Known, Missing, Reading, optional
from kvtui.domain.workload import Workload

_FLAG: Final = re.compile(r"--([a-z][a-z0-9-]{1,60})(?: (\S{1,80}))?")
_SAME_DEMAND: Final = 0.15
"""Difference of the requests in flight up to which two loads are equal."""
_EARLY_S: Final = 60.0
"""Clocks of a log and of a machine may differ by as much."""
_UNSET: Final = frozenset({"", "auto", "None"})


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """What was predicted, and for which server. GiB a GPU, tokens of one rank, requests of the busiest rank, tokens a second of all."""

    model: str
    tp: int | None
    dp: int | None
    pp: int | None
    at: float | None
    """When it was saved, on the clock of what was read; None where that carries no time."""
    boot_begun: float | None
    """When the start began that it was made for."""
    options: tuple[str, ...]
    flags: tuple[str, ...]
    fraction: float | None
    tokens_before: float | None
    tokens: float | None
    headroom_gib: float | None
    in_flight: float | None
    """Running and queued when it was saved: the demand that the figures hold for."""
    running: tuple[float, float] | None
    tok_s_before: float | None
    tok_s: tuple[float, float, float] | None
    """Low, middle, high."""
    stated: str = ""
    """The load that the figures hold for, where the operator stated it; empty: it was measured."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What of the plan no server's settings show: what clients send, what is done on the machine; all of it where there is no flag."""
        return tuple(flag for flag in self.flags if not _is_launch(flag)) or (() if self.flags else self.options)

    @property
    def checkable(self) -> bool:
        """True where a launch flag tells a start that carries it out from others."""
        return any(_is_launch(flag) for flag in self.flags)


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure: predicted beside actual."""

    name: str
    unit: str
    before: float | None
    low: float | None
    """Predicted, least and most; the same where it is one number."""
    mid: float | None
    high: float | None
    actual: Reading[float]

    @property
    def off(self) -> float | None:
        """(actual - predicted) / predicted; None where either is unknown."""
        if self.mid is None or self.mid == 0 or not isinstance(self.actual, Known):
            return None
        return (self.actual.value - self.mid) / self.mid


@dataclass(frozen=True, slots=True)
class Followed:
    """A saved plan that the newest start carries out."""

    plan: SavedPlan
    rows: tuple[Compared, ...]
    demand: str
    """Why running and throughput are not compared; empty where the demand is equal."""
    unseen: tuple[str, ...] = ()
    """Parts of the plan of which nobody can say whether they were carried out."""

    @property
    def proven(self) -> bool:
        """False where nothing of the plan can be seen in a start: it is the next start, no more."""
        return self.plan.checkable


def saved_plan(analysis: Analysis, plan: Plan, stated: str = "", load: Workload | None = None) -> SavedPlan:
    """What is kept of a plan; ``stated`` and ``load``: the load that the operator stated, in words and as the plan's figures take it."""
    identity = analysis.account.identity
    load = load if stated else analysis.workload
    boot = analysis.frame.boot
    rank = load.busiest if load is not None else None
    running, queued = (None, None) if rank is None else (optional(rank.running), optional(rank.queued))
    return SavedPlan(
        model=optional(identity.model) or "",
        tp=optional(identity.tp),
        dp=optional(identity.dp),
        pp=optional(identity.pp),
        at=analysis.frame.now,
        boot_begun=boot.begun_at if boot is not None else None,
        options=plan.options,
        flags=plan.flags,
        fraction=plan.fraction,
        tokens_before=_number(optional(analysis.account.tokens_reported)),
        tokens=_number(plan.tokens),
        headroom_gib=_number(plan.headroom_gib),
        in_flight=running + queued if running is not None and queued is not None else None,
        running=plan.running,
        tok_s_before=_number(optional(load.gen_tput)) if load is not None else None,
        tok_s=(plan.tok_s.low, plan.tok_s.mid, plan.tok_s.high) if plan.tok_s is not None else None,
        stated=stated,
    )


def followed(analysis: Analysis, plans: tuple[SavedPlan, ...]) -> Followed | None:
    """The newest saved plan that the start on the screen carries out; None where there is none.

    It must be a later start of the same model, and its settings must hold every flag of the plan. A plan without a launch
    flag comes last: nothing tells whether it was carried out, which ``Followed.proven`` says.
    """
    boot = analysis.frame.boot
    if boot is None or boot.state == "failed":
        return None
    later = [plan for plan in reversed(plans) if _later(plan, boot) and _same_server(plan, analysis)]
    for plan in later:
        if _carries(plan, boot, analysis):
            return _compare(plan, analysis)
    return next((_compare(plan, analysis) for plan in later if not plan.checkable), None)


def _is_launch(flag: str) -> bool:
    if flag.startswith("remove "):
        return _FLAG.match(flag.removeprefix("remove ")) is not None
    return _FLAG.fullmatch(flag) is not None


def _later(plan: SavedPlan, boot: Boot) -> bool:
    """True where the boot began after the plan was saved; without times its settings alone decide."""
    if boot.begun_at is None or plan.boot_begun is None:
        return boot.begun_at is None and plan.boot_begun is None
    if boot.begun_at <= plan.boot_begun:
        return False
    return plan.at is None or boot.begun_at >= plan.at - _EARLY_S


def _same_server(plan: SavedPlan, analysis: Analysis) -> bool:
    model = optional(analysis.account.identity.model)
    return bool(plan.model) and model == plan.model


def _carries(plan: SavedPlan, boot: Boot, analysis: Analysis) -> bool:
    """True where every launch flag of the plan is set as it says, and at least one is."""
    seen = 0
    for flag in plan.flags:
        if flag.startswith("remove --"):
            found = _FLAG.match(flag.removeprefix("remove "))
            setting = boot.setting(found[1].replace("-", "_")) if found is not None else None
            if setting is not None and setting.value not in (None, False) and str(setting.value) not in _UNSET:
                return False
            seen += setting is not None
            continue
        found = _FLAG.fullmatch(flag)
        if found is None:
            continue
        if not _set(boot, analysis, found[1].replace("-", "_"), found[2]):
            return False
        seen += 1
    return seen > 0


def _set(boot: Boot, analysis: Analysis, name: str, value: str | None) -> bool:
    if name == "mem_fraction_static":
        fraction = analysis.account.fraction
        told: object = fraction.value if isinstance(fraction, Known) else None
    else:
        setting = boot.setting(name)
        told = setting.value if setting is not None else None
    if value is None:
        return told is True
    if isinstance(told, (int, float)) and not isinstance(told, bool):
        try:
            return math.isclose(told, float(value), rel_tol=1e-6, abs_tol=5e-4)
        except ValueError:
            return False
    return isinstance(told, str) and told == value


def _compare(plan: SavedPlan, analysis: Analysis) -> Followed:
    account, load = analysis.account, analysis.workload
    rank = load.busiest if load is not None else None
    none: Reading[float] = Missing("nothing has run yet")
    running = rank.running if rank is not None else none
    queued = rank.queued if rank is not None else none
    rows = [
        Compared("pool", "tokens", plan.tokens_before, plan.tokens, plan.tokens, plan.tokens, _float(account.tokens_reported)),
        Compared("headroom", "GiB", None, plan.headroom_gib, plan.headroom_gib, plan.headroom_gib, account.headroom_gib),
    ]
    demand = _demand(plan, running, queued)
    if not demand:
        before, after = plan.running or (None, None)
        low, mid, high = plan.tok_s or (None, None, None)
        rows.append(Compared("running", "", before, after, after, after, running))
        rows.append(Compared("throughput", "tok/s", plan.tok_s_before, low, mid, high, load.gen_tput if load is not None else none))
    return Followed(plan, tuple(rows), demand, plan.unseen)


def _demand(plan: SavedPlan, running: Reading[float], queued: Reading[float]) -> str:
    if not isinstance(running, Known) or not isinstance(queued, Known):
        return "running and tok/s: nothing has run yet"
    if plan.in_flight is None or plan.in_flight <= 0:
        return "running and tok/s: the demand at the time was not known"
    now = running.value + queued.value
    if abs(now - plan.in_flight) > _SAME_DEMAND * plan.in_flight:
        return f"running and tok/s are not compared: {now:,.0f} in flight now, {plan.in_flight:,.0f} then"
    return ""


def _float(reading: Reading[int]) -> Reading[float]:
    return Known(float(reading.value), reading.at, reading.where) if isinstance(reading, Known) else reading


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
