"""What a lesson is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Place = Literal["strip", "memory", "server", "formula", "options"]
PLACES: tuple[Place, ...] = get_args(Place)
Hidden = Literal["verdict", "options", "formula"]
HIDEABLE: tuple[Hidden, ...] = get_args(Hidden)
Kind = Literal["choose", "number", "move", "do"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Look:
    """Where to look: a pane or the verdict strip, and a word of the row in question."""

    place: Place
    word: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to choose; ``why`` is said to whoever chooses it."""

    text: str
    why: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong number that people arrive at, and why it is wrong. ``value`` names a fact, or is a number."""

    value: str
    why: str


@dataclass(frozen=True, slots=True)
class Until:
    """A condition on a fact; ``bound`` names a fact, or is a number. ``why`` is said while it is not met."""

    fact: str
    sense: Literal["at least", "at most"]
    bound: str
    why: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question; which fields count depends on its kind.

    ``choose``: ``choices``. ``number``: ``answer`` (a fact or a number), ``within`` (relative), ``unit``, ``mistakes``,
    ``otherwise``. ``move`` (the what-if's fraction) and ``do`` (anything at the console): ``until``.
    """

    kind: Kind
    question: str
    after: str
    """Said once it is answered."""
    hints: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    answer: str = ""
    within: float = 0.0
    unit: str = ""
    mistakes: tuple[Mistake, ...] = ()
    otherwise: str = ""
    until: tuple[Until, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One card: a text, and at most one question."""

    id: str
    title: str
    text: str
    look: tuple[Look, ...] = ()
    hide: tuple[Hidden, ...] = ()
    """Hidden from this step on."""
    reveal: tuple[Hidden, ...] = ()
    """Shown once this step is done."""
    scenario: str = ""
    """Played from this step on; empty: as before."""
    speed: float = 0.0
    """Seconds of the server a second, from this step on; 0: as before."""
    ask: Ask | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson; ``hide`` holds from its first step on."""

    id: str
    number: int
    title: str
    summary: str
    minutes: int
    scenario: str
    steps: tuple[Step, ...]
    hide: tuple[Hidden, ...] = ()
