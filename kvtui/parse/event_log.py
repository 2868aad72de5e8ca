"""Events of one start, bounded: equal ones are folded, every tensor rank's copy counts as one."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from kvtui.domain.events import Event, EventKind
from kvtui.domain.rank import Rank
from kvtui.parse.event_lines import EventFact
from kvtui.parse.redact import safe

_EVENTS_LIMIT: Final = 4_000
_FINE_RETRACTIONS: Final = 2_000
_RANK_SPREAD: Final = 2.0
"""Seconds within which the tensor ranks of one scheduler print the same line."""
_FOLD_SPREAD: Final = 60.0
_RECENT: Final = 64
_AMENDED: Final = 4 * _RECENT
"""Newest events that a later line may still say more about."""
_DASH: Final = " — "
_DIGITS: Final = re.compile(r"\d+(?:\.\d+)?")


@dataclass(slots=True)
class Entry:
    """An event that may still be amended."""

    kind: EventKind
    at: float | None
    line: int
    text: str
    rank: Rank
    fields: dict[str, float | str]
    count: int = 1
    key: str = ""
    ranks: set[int | None] = field(default_factory=set)
    _made: Event | None = None
    """As it was made last."""

    def amend(self, *, where: str | None = None, error: str | None = None) -> None:
        """Say more about an exception: the innermost place of its traceback, and the error it ends with."""
        if where is not None:
            self.fields["where"] = safe(where)
        if error is not None:
            head = self.text.split(": Traceback")[0].split(_DASH)[0]
            self.text = safe(f"{head}{_DASH}{error}")

    def event(self) -> Event:
        """As it stands now; the same object for as long as nothing was said of it."""
        made = self._made
        if made is None or made.count != self.count or made.text is not self.text or made.fields != self.fields:
            made = self._made = Event(self.kind, self.at, self.line, self.text, self.rank, MappingProxyType(dict(self.fields)), self.count)
        return made


class EventLog:
    """Collects events in the order of the log."""

    def __init__(self) -> None:
        self._settled: list[Event] = []
        self._entries: list[Entry] = []
        """Those after the settled ones."""
        self._recent: deque[Entry] = deque(maxlen=_RECENT)
        self._retractions = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._settled) + len(self._entries)

    def add(self, fact: EventFact, at: float | None, line: int, rank: Rank) -> Entry:
        """Add what a line says, or fold it into an entry that says the same."""
        entry = Entry(fact.kind, at, line, fact.text, rank, dict(fact.fields), ranks={rank.tp})
        if fact.kind == "retract":
            return self._retract(entry)
        entry.key = _DIGITS.sub("0", fact.text)
        for old in reversed(self._recent):
            if old.kind == entry.kind == "ready" or (old.kind == entry.kind and old.key == entry.key and _near(old.at, at, _FOLD_SPREAD)):
                old.count += 1
                old.ranks.add(rank.tp)
                return old
        return self._keep(entry)

    def events(self) -> tuple[Event, ...]:
        """All, in the order of the log; those that nothing amends any more are made once."""
        self._settle()
        return (*self._settled, *(entry.event() for entry in self._entries))

    def _settle(self) -> None:
        settled = max(0, len(self._entries) - _AMENDED)
        self._settled += [entry.event() for entry in self._entries[:settled]]
        del self._entries[:settled]

    def _keep(self, entry: Entry) -> Entry:
        self._recent.append(entry)
        if len(self) < _EVENTS_LIMIT:
            self._entries.append(entry)
            if len(self._entries) >= 2 * _AMENDED:
                # An entry takes thrice what its event does: a log of thousands would leave holes in memory.
                self._settle()
        else:
            self.dropped += 1
        return entry

    def _retract(self, entry: Entry) -> Entry:
        entry.fields["events"] = 1.0
        for old in reversed(self._recent):
            same = old.kind == "retract" and (old.rank.dp, old.rank.pp) == (entry.rank.dp, entry.rank.pp)
            if same and entry.rank.tp not in old.ranks and old.fields == entry.fields and _near(old.at, entry.at, _RANK_SPREAD):
                old.count += 1
                old.ranks.add(entry.rank.tp)
                return old
        self._retractions += 1
        if self._retractions > _FINE_RETRACTIONS:
            last = next((e for e in reversed(self._recent) if e.kind == "retract" and e.rank == entry.rank), None)
            if last is not None and _minute(last.at) == _minute(entry.at):
                return _fold_minute(last, entry)
        return self._keep(entry)


def _fold_minute(into: Entry, entry: Entry) -> Entry:
    into.count += 1
    for name in ("retracted", "aborted", "gained", "mamba_gained", "events"):
        old, new = into.fields.get(name, 0.0), entry.fields.get(name)
        if isinstance(old, float) and isinstance(new, float):
            into.fields[name] = old + new
    if "ratio_after" in entry.fields:
        into.fields["ratio_after"] = entry.fields["ratio_after"]
    return into


def _minute(at: float | None) -> int | None:
    return None if at is None else int(at // 60)


def _near(a: float | None, b: float | None, seconds: float) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and abs(a - b) <= seconds)
