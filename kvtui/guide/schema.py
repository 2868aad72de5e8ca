"""From the content of a ``lesson.toml`` to a lesson, with a sentence for whatever is wrong with it.

The file: ``schema = 1``, ``id``, ``number``, ``title``, ``summary``, ``minutes``, ``scenario``, optional ``hide``; then
``[[step]]`` tables with ``id``, ``title``, ``text``, optional ``look`` ("server" or "server:queued"), ``hide``, ``reveal``,
``scenario``, ``speed`` and ``[step.ask]``. An ask has ``kind``, ``question``, ``after``, ``hints``, and what its kind needs:
``[[step.ask.choice]]`` (text, why, right), ``answer``/``within``/``unit``/``otherwise``/``[[step.ask.mistake]]`` (value, why), or
``[[step.ask.until]]`` (fact, at_least or at_most, why).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NoReturn, cast

from kvtui.guide.facts import exists
from kvtui.guide.fill import MOST_WORDS, names
from kvtui.guide.lesson import HIDEABLE, KINDS, PLACES, Ask, Choice, Hidden, Lesson, Look, Mistake, Step, Until

_ID: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_STEP_KEYS: Final = {"id", "title", "text", "look", "hide", "reveal", "scenario", "speed", "ask"}
_LESSON_KEYS: Final = {"schema", "id", "number", "title", "summary", "minutes", "scenario", "hide", "step"}
_ASK_KEYS: Final[Mapping[str, set[str]]] = {
    "choose": {"choice"},
    "number": {"answer", "within", "unit", "mistake", "otherwise"},
    "move": {"until"},
    "do": {"until"},
}
_COMMON: Final = {"kind", "question", "after", "hints"}


class LessonError(ValueError):
    """A lesson cannot be used; the message names the place and says what is needed there."""


class _Table:
    """A table of the file, with its place for messages."""

    def __init__(self, told: object, place: str, known: Collection[str]) -> None:
        self.place = place
        if not isinstance(told, dict):
            self.refuse("a table is needed")
        self._told = cast("dict[str, Any]", told)
        unknown = sorted(str(key) for key in self._told if key not in known)
        if unknown:
            self.refuse(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(known))}")

    def refuse(self, what: str) -> NoReturn:
        raise LessonError(f"{self.place}: {what}.")

    def has(self, key: str) -> bool:
        return key in self._told

    def text(self, key: str, default: str | None = None) -> str:
        found = self._told.get(key, default)
        if not isinstance(found, str) or (default is None and not found.strip()):
            self.refuse(f"{key} must be a text")
        said = " ".join(found.split())
        for name in names(said):
            if not exists(name):
                self.refuse(f"{key} asks for {{{name}}}, which is no fact")
        if re.search(r"[{}]", re.sub(r"\{[a-z0-9_:@.-]+\}", "", said)):
            self.refuse(f"{key} has a brace that is no placeholder")
        return said

    def paragraphs(self, key: str) -> str:
        raw = self._told.get(key)
        if not isinstance(raw, str):
            self.refuse(f"{key} must be a text")
        self.text(key)
        if len(raw.split()) > MOST_WORDS:
            self.refuse(f"{key} has {len(raw.split())} words; {MOST_WORDS} are the most")
        return "\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", raw.strip()))

    def id(self, key: str = "id") -> str:
        found = self.text(key)
        if _ID.fullmatch(found) is None:
            self.refuse(f"{key} must be words of a-z and 0-9 with dashes between")
        return found

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        found = self._told.get(key, default)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not low <= found <= high:
            self.refuse(f"{key} must be a number from {low:g} to {high:g}")
        return float(found)

    def flag(self, key: str) -> bool:
        found = self._told.get(key, False)
        if not isinstance(found, bool):
            self.refuse(f"{key} must be true or false")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        found = self._told.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            self.refuse(f"{key} must be a list of texts")
        return tuple(_Table({key: item}, self.place, {key}).text(key) for item in found)

    def tables(self, key: str, known: Collection[str]) -> tuple[_Table, ...]:
        found = self._told.get(key, [])
        if not isinstance(found, list):
            self.refuse(f"{key} must be a list of tables")
        return tuple(_Table(item, f"{self.place}, {key} {number}", known) for number, item in enumerate(found, 1))

    def table(self, key: str, known: Collection[str]) -> _Table:
        return _Table(self._told.get(key), f"{self.place}, {key}", known)

    def hidden(self, key: str) -> tuple[Hidden, ...]:
        found = self.texts(key)
        if any(item not in HIDEABLE for item in found):
            self.refuse(f"{key} may hold {', '.join(HIDEABLE)}")
        return cast("tuple[Hidden, ...]", found)

    def fact(self, key: str) -> str:
        """A number, or the name of a fact."""
        found = self._told.get(key)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return repr(found)
        if not isinstance(found, str) or not exists(found):
            self.refuse(f"{key} must be a number or the name of a fact")
        return found


def read_lesson(told: object, folder: str, scenarios: Collection[str] | None = None) -> Lesson:
    """The lesson of a parsed ``lesson.toml``.

    ``folder``: the folder's name, which the id must equal. ``scenarios``: names that can be played; None: not checked.
    Raises LessonError with one sentence.
    """
    table = _Table(told, f"lesson {folder}", _LESSON_KEYS)
    if table.number("schema", 1, 1) != 1 or table.id() != folder:
        table.refuse("id must be the folder's name")
    steps = tuple(_step(row) for row in table.tables("step", _STEP_KEYS))
    if not steps or not any(step.ask is not None for step in steps):
        table.refuse("a lesson needs steps, and at least one question")
    if len({step.id for step in steps}) != len(steps):
        table.refuse("two steps have the same id")
    lesson = Lesson(
        folder,
        int(table.number("number", 1, 99)),
        table.text("title"),
        table.text("summary"),
        int(table.number("minutes", 1, 30)),
        table.text("scenario"),
        steps,
        table.hidden("hide"),
    )
    for name in (lesson.scenario, *(step.scenario for step in steps if step.scenario)):
        if scenarios is not None and name not in scenarios:
            table.refuse(f"there is no scenario {name!r}")
    return lesson


def _step(table: _Table) -> Step:
    table.place = f"{table.place} ({table.id()})"
    return Step(
        table.id(),
        table.text("title"),
        table.paragraphs("text"),
        tuple(_look(table, item) for item in table.texts("look")),
        table.hidden("hide"),
        table.hidden("reveal"),
        table.text("scenario", ""),
        table.number("speed", 0, 60, 0.0),
        _ask(table) if table.has("ask") else None,
    )


def _look(table: _Table, item: str) -> Look:
    place, _, word = item.partition(":")
    if place not in PLACES:
        table.refuse(f"look must begin with one of {', '.join(PLACES)}")
    return Look(place, word)


def _ask(step: _Table) -> Ask:
    kind = step.table("ask", _COMMON.union(*_ASK_KEYS.values())).text("kind")
    if kind not in KINDS:
        step.refuse(f"ask.kind must be one of {', '.join(KINDS)}")
    table = step.table("ask", _COMMON | _ASK_KEYS[kind])
    choices = tuple(
        Choice(row.text("text"), row.text("why"), row.flag("right")) for row in table.tables("choice", {"text", "why", "right"})
    )
    if kind == "choose" and (len(choices) < 2 or sum(choice.right for choice in choices) != 1 or len(choices) > 9):
        table.refuse("2 to 9 choices are needed, exactly one of them right")
    until = tuple(_until(row) for row in table.tables("until", {"fact", "at_least", "at_most", "why"}))
    if kind in {"move", "do"} and not until:
        table.refuse("at least one until is needed")
    numeric = kind == "number"
    return Ask(
        kind,
        table.text("question"),
        table.text("after"),
        table.texts("hints"),
        choices,
        table.fact("answer") if numeric else "",
        table.number("within", 0, 0.5) if numeric else 0.0,
        table.text("unit", ""),
        tuple(Mistake(row.fact("value"), row.text("why")) for row in table.tables("mistake", {"value", "why"})),
        table.text("otherwise") if numeric else "",
        until,
    )


def _until(row: _Table) -> Until:
    if row.has("at_least") == row.has("at_most"):
        row.refuse("either at_least or at_most is needed")
    fact = row.fact("fact")
    if row.has("at_least"):
        return Until(fact, "at least", row.fact("at_least"), row.text("why"))
    return Until(fact, "at most", row.fact("at_most"), row.text("why"))
