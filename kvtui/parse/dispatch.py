"""Says what each rare record is, and hands it to the start it belongs to."""

from __future__ import annotations

import re
from typing import Final

from kvtui.parse.assembly import Piece, error_line, place_of
from kvtui.parse.boots import Boots, Place, quote
from kvtui.parse.commands import parse_command
from kvtui.parse.event_lines import parse_event
from kvtui.parse.event_log import Entry
from kvtui.parse.memory_facts import Pool
from kvtui.parse.memory_lines import MEMORY_LINE, parse_memory
from kvtui.parse.settings import parse_server_args
from kvtui.parse.wording import bounds, version_in

_SERVING: Final = re.compile(r"event_loop|forward_thread|process_batch_result|run_batch|get_next_batch")
_SHELL_DEATH: Final = re.compile(r"\bline \d+: +\d+ (?:Killed|Aborted|Segmentation fault|Terminated|Bus error)\b")
"""A shell quotes the command of a process that was killed."""
_COVERED: Final = frozenset({"exception", "program", "warning", "forced-setting"})
"""Kinds that a traceback's own event already stands for."""


class Dispatcher:
    """Knows the kinds of records; keeps the traceback that is being read."""

    def __init__(self) -> None:
        self.boots = Boots()
        self.memory_lines = 0
        self.unreadable = 0
        self._trace: Entry | None = None

    def take(self, piece: Piece, place: Place) -> None:
        """One whole record."""
        text = piece.framed.message
        if piece.in_trace and self._trace is not None:
            self._tell(self._trace, text)
        if piece.in_trace and text[0] in " \t" and "emory" not in text and "NCCL" not in text:
            # source lines of a traceback say nothing else
            return
        if not self._start(place, text) and not self._memory(place, text):
            self._event(piece, place, text)
        self._word(place, text)

    def _start(self, place: Place, text: str) -> bool:
        args = parse_server_args(text)
        if args is not None:
            self.boots.server_args(place, args, text)
            return True
        command = parse_command(text) if _SHELL_DEATH.search(text) is None else None
        if command is not None:
            self.boots.command(place, command)
            return True
        return False

    def _memory(self, place: Place, text: str) -> bool:
        fact = parse_memory(text)
        if fact is not None:
            self.memory_lines += 1
            self.boots.memory(place, fact, text)
            if isinstance(fact, Pool) and fact.bound:
                self.boots.note("the KV pool is sized after the graphs: the first KV line prints an upper bound of addresses, not memory")
            return True
        if MEMORY_LINE.match(text):
            self.unreadable += 1
            self.boots.note(f"log line {place.line:,} looks like a memory line but its figures cannot be read")
        return False

    def _event(self, piece: Piece, place: Place, text: str) -> None:
        fact = parse_event(text)
        covered = piece.in_trace and self._trace is not None and fact is not None and fact.kind in _COVERED
        # the warm-up of a server that is up may fail to reach something; its traceback ends nothing
        harmless = fact is not None and fact.kind == "exception" and not fact.own and self.boots.is_up
        entry = self.boots.event(place, fact, text) if fact is not None and not covered and not harmless else None
        if piece.opens_trace:
            self._trace = entry if entry is not None and entry.kind == "exception" else None
        elif not piece.in_trace:
            self._trace = None

    def _tell(self, trace: Entry, text: str) -> None:
        where = place_of(text)
        if where is not None:
            trace.amend(where=where)
            if _SERVING.search(where):
                self.boots.ran()
        elif error_line(text):
            trace.amend(error=text)

    def _word(self, place: Place, text: str) -> None:
        builder = self.boots.current
        if builder is None:
            return
        builder.narrow(bounds(text))
        version = version_in(text)
        if version is not None:
            builder.add_version(version, quote(place, text))
