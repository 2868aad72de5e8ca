"""Tells the starts in a log apart and gives each its lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Boot, Setting
from kvtui.domain.events import Event
from kvtui.domain.rank import Rank
from kvtui.domain.reading import Where
from kvtui.parse.boot_builder import BootBuilder
from kvtui.parse.commands import Command
from kvtui.parse.event_lines import EventFact
from kvtui.parse.event_log import Entry
from kvtui.parse.forced import forced_setting
from kvtui.parse.memory_facts import InitBegin, KvDtype, MemoryFact, Pool, PoolEnd, Sized, Sizing, WeightBegin, WeightEnd
from kvtui.parse.redact import safe
from kvtui.parse.settings import ServerArgs

_BOOTS_LIMIT: Final = 200
_FATAL: Final = frozenset({"not-enough-memory", "capture-failed", "killed", "state-too-small"})
_CRASH: Final = re.compile(r"SIGQUIT|sigquit|crashed|terminated|unexpectedly failed|exited")
_STOP: Final = re.compile(r"SIGTERM|Gracefully exiting|Finished server process")
_SERVING: Final = re.compile(r"forward_extend|forward_decode|event_loop|TpModelWorkerClient|run_batch")
_QUOTE: Final = 80
_PRELUDE_LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands."""

    line: int
    at: float | None
    rank: Rank
    batches: int
    """Batch lines of the log before it."""
    before_at: float | None
    """Time of the line before: where the start before would end."""


@dataclass(slots=True)
class _Span:
    builder: BootBuilder
    last_line: int = 0
    ended_at: float | None = None
    batches_at_end: int = 0


def quote(place: Place, message: str) -> Where:
    """The origin of a figure: its log line, quoted in a few words."""
    return Where("log", safe(message, _QUOTE), place.line)


class Boots:
    """All starts of a log, in order."""

    def __init__(self) -> None:
        self._spans: list[_Span] = []
        self._pending: tuple[Place, Command] | None = None
        self._prelude: list[tuple[Place, EventFact, str]] = []
        self.dropped = 0

    @property
    def current(self) -> BootBuilder | None:
        """The start that lines belong to now."""
        return self._spans[-1].builder if self._spans else None

    def _here(self, place: Place) -> BootBuilder:
        return self.current or self._open(place)

    def _open(self, place: Place, text: str | None = None) -> BootBuilder:
        if self._spans:
            span = self._spans[-1]
            span.ended_at, span.batches_at_end = place.before_at, place.batches
        prelude, self._prelude = self._prelude, []
        first = prelude[0][0].line if prelude else place.line
        if self._spans:
            self._spans[-1].last_line = first - 1
        builder = BootBuilder(first, place.at, place.batches)
        self._spans.append(_Span(builder))
        if len(self._spans) > _BOOTS_LIMIT:
            del self._spans[0]
            self.dropped += 1
        if text is not None:
            builder.announce(text, place.at, place.line, place.rank)
        for earlier in prelude:
            self._add(builder, *earlier)
        return builder

    @staticmethod
    def _used(builder: BootBuilder, place: Place) -> bool:
        return builder.has_memory or builder.args is not None or builder.dead or builder.ended or place.batches > builder.batches_before

    def server_args(self, place: Place, args: ServerArgs, message: str) -> None:
        """A ``server_args=`` line."""
        where = Where("log", "server_args", place.line)
        settings = {name: Setting(name, value, "server_args", where) for name, value in args.values.items()}
        builder = self.current
        if builder is None or self._begins(builder, place, settings):
            builder = self._open(place, message)
        else:
            builder.announce(message, place.at, place.line, place.rank)
        builder.args, builder.evidence = settings, True
        if builder.begun_at is None:
            builder.begun_at = place.at
        if not args.complete:
            builder.note(f"the server_args line {place.line:,} is cut: settings after {next(reversed(args.values), '')!r} are not known")
        self._attach(builder)

    @staticmethod
    def _begins(builder: BootBuilder, place: Place, settings: dict[str, Setting]) -> bool:
        busy = builder.has_memory or builder.dead or builder.ended or place.batches > builder.batches_before
        if builder.args is None:
            return busy
        return busy or {n: s.value for n, s in builder.args.items()} != {n: s.value for n, s in settings.items()}

    def command(self, place: Place, command: Command) -> None:
        """A launch command. In a log it comes before the start, in an issue often after it."""
        builder = self._here(place)
        if not self._used(builder, place) and builder.command is None:
            self._launch(builder, place, command)
        elif command.text != builder.command:
            self._pending = (place, command)

    @staticmethod
    def _launch(builder: BootBuilder, place: Place, command: Command) -> None:
        where = Where("log", "launch command", place.line)
        builder.command, builder.evidence = command.text, True
        builder.announce(command.text, place.at, place.line, place.rank)
        for name, value in command.values.items():
            builder.set(name, value, "command line", where)

    def _attach(self, builder: BootBuilder) -> None:
        if self._pending is not None and builder.command is None:
            self._launch(builder, *self._pending)
        self._pending = None

    def memory(self, place: Place, fact: MemoryFact, message: str) -> None:
        """A memory line of a rank."""
        builder = self.current
        if builder is None or self._restarts(builder, place, fact):
            builder = self._open(place, message)
            self._attach(builder)
        elif self._pending is not None and builder.args is None:
            self._attach(builder)
        if builder.begun_at is None:
            builder.begun_at = place.at
        builder.add_memory(place.rank, fact, place.at, quote(place, message))

    @staticmethod
    def _restarts(builder: BootBuilder, place: Place, fact: MemoryFact) -> bool:
        """True for a line that this start has already printed, or cannot print any more."""
        rank = builder.ranks.get(place.rank)
        final = builder.replica_final(place.rank)
        if isinstance(fact, (InitBegin, WeightBegin)) and (final or builder.ended):
            return True
        if rank is None or isinstance(fact, (Sizing, KvDtype)):
            return False
        if isinstance(fact, InitBegin):
            return builder.dead and rank.inits > 0
        if isinstance(fact, WeightBegin):
            return (builder.dead and rank.loads_begun > 0) or rank.frees(fact.avail_gib)
        if isinstance(fact, Sized):
            return rank.final is not None and rank.final.max_total_num_tokens != fact.max_total_num_tokens
        if isinstance(fact, WeightEnd):
            return final and not rank.loading
        return isinstance(fact, (Pool, PoolEnd)) and rank.final is not None and rank.pools_made > 0

    def event(self, place: Place, fact: EventFact, message: str) -> Entry | None:
        """A rare line; gives its entry, so that a traceback can say more about it."""
        builder = self._here(place)
        if fact.kind == "forced-setting" and (builder.final_seen or builder.dead or builder.ended) and len(self._prelude) < _PRELUDE_LIMIT:
            # settings are forced before server_args is printed: these lines may be the first of the next start
            self._prelude.append((place, fact, message))
            return None
        if self._pending is not None:
            if self._used(builder, place) and (builder.args is not None or builder.command is not None or builder.ended or builder.dead):
                builder = self._open(place)
            self._attach(builder)
        return self._add(builder, place, fact, message)

    def _add(self, builder: BootBuilder, place: Place, fact: EventFact, message: str) -> Entry:
        if fact.own:
            builder.evidence = True
        self._judge(builder, fact, message, place)
        capturing = builder.rank(place.rank).capturing if place.rank in builder.ranks else None
        entry = builder.events.add(fact, place.at, place.line, place.rank)
        if capturing is not None and fact.kind in ("exception", "out-of-memory"):
            entry.fields.setdefault("during", f"capture of {capturing} graphs")
        return entry

    @staticmethod
    def _judge(builder: BootBuilder, fact: EventFact, message: str, place: Place) -> None:
        if fact.kind in _FATAL or (fact.kind == "exception" and fact.own) or (fact.kind == "exit" and _CRASH.search(message)):
            builder.dead = True
        elif fact.kind == "exit" and _STOP.search(message):
            builder.ended = True
        elif fact.kind == "ready":
            builder.ready = True
        if fact.kind == "retract" or (fact.kind in ("exception", "out-of-memory") and _SERVING.search(message)):
            builder.ran = True
        if fact.kind == "forced-setting":
            changed = forced_setting(message)
            if changed is not None:
                builder.set(changed[0], changed[1], "forced", quote(place, message))
        if fact.kind == "not-enough-memory" and isinstance(fact.fields.get("fraction"), float):
            builder.set("mem_fraction_static", fact.fields["fraction"], "log", quote(place, message))

    @property
    def is_up(self) -> bool:
        """True once the current start has come to its final line."""
        return self.current is not None and (self.current.ready or self.current.final_seen)

    def note(self, sentence: str) -> None:
        """Something about the current start that could not be read, or was read with a guess."""
        if self.current is not None:
            self.current.note(sentence)

    def batches(self, at: float | None) -> BootBuilder:
        """Batch lines follow: without a start of their own they are a run whose start is not in the log."""
        if not self._spans:
            self._spans.append(_Span(BootBuilder(1, at, 0)))
        builder = self._spans[-1].builder
        builder.evidence = True
        if builder.begun_at is None:
            builder.begun_at = at
        return builder

    def ran(self) -> None:
        """The traceback just read shows that requests were being served."""
        if self.current is not None:
            self.current.ran = True

    def finish(self, last_line: int, last_at: float | None, batches: int) -> list[tuple[Boot, tuple[Event, ...]]]:
        """All starts with their events, as they stand now."""
        if self._pending is not None and (self.current is None or (self.current.args is None and self.current.command is None)):
            self._attach(self._here(self._pending[0]))
        for place, fact, message in self._prelude:
            self._add(self._here(place), place, fact, message)
        self._prelude.clear()
        self._merge_pasted()
        found: list[tuple[Boot, tuple[Event, ...]]] = []
        spans = [span for span in self._spans if span.builder.evidence]
        for number, span in enumerate(spans):
            last = span is self._spans[-1]
            line, at, count = (last_line, last_at, batches) if last else (span.last_line, span.ended_at, span.batches_at_end)
            boot = span.builder.build(number, line, at, span.builder.state(count, last=last))
            found.append((boot, span.builder.events.events()))
        return found

    def _merge_pasted(self) -> None:
        """A paste may show server_args below the memory lines of the same start: then both are one."""
        if len(self._spans) < 2:
            return
        last, before = self._spans[-1].builder, self._spans[-2].builder
        lone = last.args is not None and not last.has_memory and not last.dead and not last.ready and not last.ended
        if not lone or before.args is not None or before.command is not None or not before.has_memory or before.dead or before.ended:
            return
        if last.begun_at is not None and (before.begun_at is None or last.begun_at > before.begun_at):
            return
        before.args = last.args
        del self._spans[-1]
