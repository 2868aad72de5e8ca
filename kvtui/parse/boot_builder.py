"""One start of a server while its lines still come in."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from kvtui.domain.boot import NO_SIZING_LINES, Boot, BootState, RankMemory, Scalar, Setting, SettingOrigin, SizingLines
from kvtui.domain.rank import MAIN, Rank
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.event_lines import EventFact
from kvtui.parse.event_log import EventLog
from kvtui.parse.memory_facts import KvDtype, MemoryFact, Sizing
from kvtui.parse.rank_memory import RankBuilder
from kvtui.parse.redact import safe
from kvtui.parse.wording import narrow, version_key

_RANKS_LIMIT: Final = 4_096
_NOTES_LIMIT: Final = 20
USED_KV_DTYPE: Final = "kv_cache_dtype_used"
"""Name of the setting that holds the KV dtype a start says it uses, whatever was asked for."""


class BootBuilder:
    """What is known of a start so far."""

    def __init__(self, first_line: int, at: float | None, batches: int) -> None:
        self.first_line = first_line
        self.begun_at = at
        self.batches_before = batches
        """Batch lines of the log before this start."""
        self.events = EventLog()
        self._announced = False
        self.evidence = False
        """True once a line was seen that only SGLang prints."""
        self.args: dict[str, Setting] | None = None
        self.command: str | None = None
        self.dead = False
        """A fatal line was seen."""
        self.ended = False
        """It was told to stop, or has stopped."""
        self.ready = False
        self.ran = False
        """It is known to have run although no line of its start is in the log."""
        self.sizing = NO_SIZING_LINES
        self.ranks: dict[Rank, RankBuilder] = {}
        self._asked: dict[str, Setting] = {}
        self._forced: dict[str, Setting] = {}
        self._seen: dict[str, Setting] = {}
        self._notes: list[str] = []
        self._version: Known[str] | None = None
        self._bounds: tuple[str | None, str | None] = (None, None)

    @property
    def has_memory(self) -> bool:
        """True once a rank printed a memory line."""
        return bool(self.ranks)

    @property
    def final_seen(self) -> bool:
        """True once a start-up has come to its final line."""
        return any(rank.final is not None for rank in self.ranks.values())

    def replica_final(self, rank: Rank) -> bool:
        """True once the replica that ``rank`` belongs to has printed its final line."""
        return any(builder.final is not None and other.dp == rank.dp for other, builder in self.ranks.items())

    def announce(self, text: str, at: float | None, line: int, rank: Rank) -> None:
        """Record that the start begins, once."""
        if not self._announced:
            self._announced = True
            self.events.add(EventFact("boot", safe(text), MappingProxyType({}), own=True), at, line, rank)

    def note(self, sentence: str) -> None:
        """Something that could not be read, or was read with a guess."""
        if sentence not in self._notes and len(self._notes) < _NOTES_LIMIT:
            self._notes.append(sentence)

    def rank(self, rank: Rank) -> RankBuilder:
        """The builder of one rank."""
        found = self.ranks.get(rank)
        if found is None:
            found = RankBuilder(rank)
            if len(self.ranks) < _RANKS_LIMIT:
                self.ranks[rank] = found
            else:
                self.note(f"only the first {_RANKS_LIMIT} ranks are kept")
        return found

    def add_memory(self, rank: Rank, fact: MemoryFact, at: float | None, where: Where) -> None:
        """A memory line."""
        self.evidence = True
        if isinstance(fact, Sizing):
            self._add_sizing(fact, at, where)
        elif isinstance(fact, KvDtype):
            self.set(USED_KV_DTYPE, fact.dtype, "log", where)
        else:
            self.rank(rank).add(fact, at, where)

    def _add_sizing(self, fact: Sizing, at: float | None, where: Where) -> None:
        old = self.sizing
        self.sizing = SizingLines(
            rest_gib=_first(old.rest_gib, fact.rest_gib, at, where),
            pre_gib=_first(old.pre_gib, fact.pre_gib, at, where),
            post_gib=_first(old.post_gib, fact.post_gib, at, where),
            cell_bytes=_first(old.cell_bytes, fact.cell_bytes, at, where),
            multimodal_reserve_gib=_first(old.multimodal_reserve_gib, fact.multimodal_reserve_gib, at, where),
        )
        if fact.fraction is not None:
            self.set("mem_fraction_static", fact.fraction, "log", where)

    def set(self, name: str, value: Scalar, origin: SettingOrigin, where: Where) -> None:
        """A setting that the log shows."""
        target = {"command line": self._asked, "forced": self._forced}.get(origin, self._seen)
        if origin == "log" and name in target:
            return
        target[name] = Setting(name, value, origin, where)

    def add_version(self, version: str, where: Where) -> None:
        """A release that a line names; the first one counts."""
        if self._version is None:
            self._version = Known(version, None, where)

    def narrow(self, found: tuple[str | None, str | None]) -> None:
        """Bounds that the wording of a line sets on the version."""
        self._bounds = narrow(self._bounds, found)

    def settings(self) -> dict[str, Setting]:
        """What the server runs with, as far as the log shows it."""
        merged = dict(self._seen)
        merged.update(self._asked)
        merged.update(self.args or {})
        for name, forced in self._forced.items():
            shown = (self.args or {}).get(name)
            # server_args prints values that are already forced: only a change after it says something else
            later = shown is None or (forced.where.line or 0) > (shown.where.line or 0)
            if later or shown is None or shown.value is None or shown.value == forced.value:
                merged[name] = forced
        return merged

    def state(self, batches: int, *, last: bool) -> BootState:
        """How the start went; ``batches``: batch lines of the log up to its end."""
        up = self.final_seen or self.ready or self.ran or batches > self.batches_before
        if self.dead or self.ended:
            return "ended" if up or not self.dead else "failed"
        if not last:
            return "ended"
        return "up" if up else "starting"

    def build(self, index: int, last_line: int, ended_at: float | None, state: BootState) -> Boot:
        """The start as it stands now."""
        oldest, newest = self._bounds
        if oldest and newest and version_key(oldest) > version_key(newest):
            oldest, newest = None, None
            self.note("the wording of the lines belongs to no one release")
        version: Reading[str] = self._version or Missing("the log names no version")
        notes = [*self._notes, *(note for rank in self.ranks.values() for note in rank.notes)]
        if self.events.dropped:
            notes.append(f"{self.events.dropped:,} more events are not shown")
        return Boot(
            index=index,
            first_line=self.first_line,
            last_line=last_line,
            begun_at=self.begun_at,
            ended_at=ended_at,
            state=state,
            version=version,
            version_hint=(oldest, newest),
            settings=MappingProxyType(self.settings()),
            ranks=self._memories(),
            sizing=self.sizing,
            launch_command=self.command,
            notes=tuple(notes[:_NOTES_LIMIT]),
        )

    def _memories(self) -> tuple[RankMemory, ...]:
        """Each rank's memory, in order; a tool's final line without a rank joins the first rank of the only replica."""
        told = [self.ranks[rank].memory() for rank in sorted(self.ranks, key=lambda r: (r.sort_key, r.ep or 0))]
        main = self.ranks.get(MAIN)
        named = [memory for memory in told if memory.rank != MAIN]
        if main is None or not main.only_final or not named or any(memory.final for memory in named):
            return tuple(told)
        if len({memory.rank.dp for memory in named}) > 1:
            return tuple(told)
        return (replace(named[0], final=main.final), *named[1:])


def _first(old: Reading[float], value: float | None, at: float | None, where: Where) -> Reading[float]:
    return Known(value, at, where) if value is not None and not isinstance(old, Known) else old
