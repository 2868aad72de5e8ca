"""The numbers of a lesson: named figures of an analysis and of the formula. Nothing here is written down beforehand.

A name may carry an argument: ``pool@0.95`` is the pool at that fraction, ``tokens:fp8-kv`` the pool after that option.
``key:hint`` is no figure: the key of that command, which only the screen knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.estimate import OPTION_IDS, Estimate
from kvtui.domain.frame import Analysis
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import GB, GIB
from kvtui.domain.what_if import headroom_at, tokens_at

NAME: Final = re.compile(r"[a-z0-9_]+(?:@[0-9]{1,3}(?:\.[0-9]{1,4})?|:[a-z0-9-]{1,40})?")
KEY: Final = "key"
_WRONG_CELL: Final = 136
"""Bytes a token in a founding text (facts/diagnoses.md 5); off by a factor of 517."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Figures of one moment; ``fraction`` is that of the what-if, None: today's."""

    analysis: Analysis
    fraction: float | None = None

    def value(self, name: str) -> float | None:
        """The figure, in the unit of ``UNITS``; None where it is unknown. Raises KeyError for a name that does not exist."""
        base, argument = split(name)
        plain, at, pace, of = _PLAIN.get(base), _AT.get(base), _PACE.get(base), _OF.get(base)
        try:
            if plain is not None and not argument:
                found = plain(self)
            elif at is not None and argument:
                found = at(self.analysis.account, float(argument))
            elif pace is not None and argument:
                found = pace(self.analysis, float(argument))
            elif of is not None and argument in OPTION_IDS:
                estimate = next((e for e in self.analysis.estimates if e.id == argument), None)
                found = of(self, estimate) if estimate is not None else None
            else:
                raise KeyError(name)
        except (OverflowError, ZeroDivisionError, ValueError):
            return None
        return found if found is not None and math.isfinite(found) else None

    def shown(self, name: str) -> str:
        """The figure as a person reads it; "unknown" where it is."""
        found = self.value(name)
        if found is None:
            return "unknown"
        return format(found, FORMATS[split(name)[0]]).replace("-", "−")


def split(name: str) -> tuple[str, str]:
    """A name and its argument."""
    for sign in "@:":
        base, found, argument = name.partition(sign)
        if found:
            return base, argument
    return name, ""


def exists(name: str) -> bool:
    """True for a name that ``Facts.value`` knows, and for a key."""
    base, argument = split(name)
    if NAME.fullmatch(name) is None:
        return False
    if base == KEY and ":" in name:
        return bool(argument)
    if (base in _AT or base in _PACE) and "@" in name:
        return bool(argument)
    if base in _OF and ":" in name:
        return argument in OPTION_IDS
    return base in _PLAIN and not argument


def _known(reading: Known[float] | Known[int] | Missing | None) -> float | None:
    return float(reading.value) if isinstance(reading, Known) else None


def _account(name: str) -> Callable[[Facts], float | None]:
    return lambda facts: _known(getattr(facts.analysis.account, name))


def _load(name: str, factor: float = 1.0) -> Callable[[Facts], float | None]:
    def read(facts: Facts) -> float | None:
        workload = facts.analysis.workload
        found = _known(getattr(workload, name)) if workload is not None else None
        return None if found is None else found * factor

    return read


def _band(name: str) -> Callable[[Facts], float | None]:
    return lambda facts: getattr(facts.analysis.band, name) if facts.analysis.band is not None else None


def _inputs(account: Account) -> tuple[float, float, float, float] | None:
    """pre, post, fraction (GiB, GiB, share) and cell bytes; None where one is unknown."""
    found = [_known(r) for r in (account.pre_gib, account.post_gib, account.fraction, account.cell_bytes)]
    pre, post, fraction, cell = found
    if pre is None or post is None or fraction is None or cell is None or cell <= 0:
        return None
    return pre, post, fraction, cell


def _of_inputs(make: Callable[[float, float, float, float], float]) -> Callable[[Facts], float | None]:
    def read(facts: Facts) -> float | None:
        inputs = _inputs(facts.analysis.account)
        return make(*inputs) if inputs is not None else None

    return read


def _card_pool(account: Account, card_gib: float) -> float | None:
    """The pool that the card's whole memory would give in place of the free memory: a common mistake."""
    inputs = _inputs(account)
    return (inputs[1] - card_gib * (1 - inputs[2])) * GIB / inputs[3] if inputs is not None else None


def _fits(facts: Facts) -> float | None:
    pool, size = _known(facts.analysis.account.tokens_reported), _load("resident")(facts)
    # Whole requests: of the last one only a part would fit.
    return float(pool // size) if pool is not None and size else None


def _nominal(account: Account, ratio: float) -> float | None:
    """HiCache's host memory of one rank, decimal GB: ratio x pool x cell."""
    pool, cell = _known(account.tokens_reported), _known(account.cell_bytes)
    return ratio * pool * cell / GB if pool is not None and cell is not None else None


def _host(account: Account, ratio: float) -> float | None:
    """Of all ranks; each tensor-parallel rank keeps a copy of its own (facts/memory.md 5)."""
    one, ranks = _nominal(account, ratio), _known(account.identity.tp)
    return one * ranks if one is not None and ranks is not None else None


def _gain(account: Account, fraction: float) -> float | None:
    now, then = _known(account.tokens_reported), _known(tokens_at(account, fraction))
    return (then / now - 1) * 100 if now and then is not None else None


def _scaled(account: Account, fraction: float) -> float | None:
    now, today = _known(account.tokens_reported), _known(account.fraction)
    return now * fraction / today if now is not None and today else None


def _scaled_gain(account: Account, fraction: float) -> float | None:
    today = _known(account.fraction)
    return (fraction / today - 1) * 100 if today else None


def _rest_at(account: Account, fraction: float) -> float | None:
    inputs = _inputs(account)
    return inputs[1] - inputs[0] * (1 - fraction) if inputs is not None else None


def _wanted(facts: Facts, read: Callable[[Account, float], Known[int] | Known[float] | Missing]) -> float | None:
    account = facts.analysis.account
    fraction = facts.fraction if facts.fraction is not None else _known(account.fraction)
    return _known(read(account, fraction)) if fraction is not None else None


def _speed(end: str) -> Callable[[Facts, Estimate], float | None]:
    return lambda _facts, estimate: getattr(estimate.tok_s, end) if estimate.tok_s is not None else None


def _speed_gain(facts: Facts, estimate: Estimate) -> float | None:
    now = _load("gen_tput")(facts)
    return (estimate.tok_s.mid / now - 1) * 100 if estimate.tok_s is not None and now else None


def _answer_s(analysis: Analysis, length: float) -> float | None:
    """Seconds of an answer of ``length`` tokens at today's step."""
    step = _load("pure_step_s")(Facts(analysis))
    return length * step if step is not None else None


def _in_flight(analysis: Analysis, rate: float) -> float | None:
    """Little's law: requests in flight for ``rate`` answers of 500 tokens a second."""
    one = _answer_s(analysis, 500)
    return rate * one if one is not None else None


_PLAIN: Final[Mapping[str, Callable[[Facts], float | None]]] = {
    "fraction": _account("fraction"),
    "pre": _account("pre_gib"),
    "post": _account("post_gib"),
    "slack": _account("slack_gib"),
    "rest": _account("rest_gib"),
    "cell": _account("cell_bytes"),
    "pool": _account("tokens_reported"),
    "kv": _account("kv_gib"),
    "headroom": _account("headroom_gib"),
    "cap": _account("running_cap"),
    "context": _account("context_len"),
    "tp": lambda facts: _known(facts.analysis.account.identity.tp),
    "boots": lambda facts: float(len(facts.analysis.frame.boots)),
    "up": lambda facts: float(facts.analysis.frame.boot is not None and facts.analysis.frame.boot.state == "up"),
    "running": _load("running"),
    "queued": _load("queued"),
    "usage": _load("usage", 100),
    "resident": _load("resident"),
    "prompt": _load("prompt"),
    "prompt_max": _load("prompt_max"),
    "output": _load("output"),
    "tok_s": _load("gen_tput"),
    "step_ms": _load("pure_step_s", 1000),
    "prefill": _load("prefill_share", 100),
    "retractions": _load("retractions_per_min"),
    "accept": _load("accept_len"),
    "graphs": _load("graph_share", 100),
    "fits": _fits,
    "admit_low": _band("low"),
    "admit_high": _band("high"),
    "lowest": _of_inputs(lambda pre, post, _f, _cell: 1 - post / pre),
    "hundredth": _of_inputs(lambda pre, _post, _f, cell: pre / 100 * GIB / cell),
    "hundredth_gib": _of_inputs(lambda pre, _post, _f, _cell: pre / 100),
    "remains_gib": _of_inputs(lambda _pre, post, f, _cell: post * f),
    "remains_pool": _of_inputs(lambda _pre, post, f, cell: post * f * GIB / cell),
    "tiny_mib": lambda facts: pool * _WRONG_CELL / 2**20 if (pool := _account("tokens_reported")(facts)) is not None else None,
    "wanted": lambda facts: facts.fraction if facts.fraction is not None else _account("fraction")(facts),
    "wanted_pool": lambda facts: _wanted(facts, tokens_at),
    "wanted_headroom": lambda facts: _wanted(facts, headroom_at),
}
_PACE: Final[Mapping[str, Callable[[Analysis, float], float | None]]] = {"answer_s": _answer_s, "in_flight": _in_flight}
_AT: Final[Mapping[str, Callable[[Account, float], float | None]]] = {
    "pool": lambda account, fraction: _known(tokens_at(account, fraction)),
    "headroom": lambda account, fraction: _known(headroom_at(account, fraction)),
    "rest": _rest_at,
    "pool_times": lambda account, factor: now * factor if (now := _known(account.tokens_reported)) is not None else None,
    "gain": _gain,
    "scaled": _scaled,
    "scaled_gain": _scaled_gain,
    "host": _host,
    "one_host": _nominal,
    "card_pool": _card_pool,
}
_OF: Final[Mapping[str, Callable[[Facts, Estimate], float | None]]] = {
    "tokens": lambda _facts, estimate: estimate.tokens,
    "fits": lambda _facts, estimate: estimate.fits,
    "left": lambda _facts, estimate: estimate.headroom_gib,
    "low": _speed("low"),
    "mid": _speed("mid"),
    "high": _speed("high"),
    "speed_gain": _speed_gain,
}

_WHOLE: Final = ",.0f"
FORMATS: Final[Mapping[str, str]] = {
    **dict.fromkeys((*_PLAIN, *_AT, *_PACE, *_OF), _WHOLE),
    **dict.fromkeys(("pre", "post", "slack", "rest", "kv", "headroom", "left", "remains_gib", "hundredth_gib", "wanted_headroom"), ".2f"),
    **dict.fromkeys(("host", "one_host", "tiny_mib", "step_ms", "retractions"), ".0f"),
    **dict.fromkeys(("fraction", "wanted"), ".4g"),
    "accept": ".2f",
    "lowest": ".3f",
    "answer_s": ".1f",
}
"""How each figure is written."""
