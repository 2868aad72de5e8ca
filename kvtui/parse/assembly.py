"""Puts records together that stand on several lines: pasted and wrapped ones, settings cut in pieces, tracebacks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from kvtui.parse.commands import continues, find_command, goes_on
from kvtui.parse.framing import Framed
from kvtui.parse.memory_lines import MEMORY_LINE, parse_memory
from kvtui.parse.settings import is_closed, looks_like_server_args

_JOINED_LIMIT: Final = 262_144
_LINES_LIMIT: Final = 1_000
_PROSE_LINES: Final = 4
_TRACE: Final = re.compile(r"Traceback \(most recent call last\)")
_TRACE_PART: Final = re.compile(
    r"\s|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning)\b|During handling of|"
    r"The above exception|Traceback \(|Possible solutions|\d\. |\[rank\d|\.\.\.|CUDA |"
    r"Exception raised from|frame #\d|Compile with|For debugging"
)
_ERROR: Final = re.compile(r"(?:[\w.]{1,120}\.)?[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Exit)\b")
_PLACE: Final = re.compile(r'\s{1,8}File "([^"]{1,400})", line (\d{1,7}), in (\S{1,120})')
_PROSE: Final = re.compile(
    r"Loaded weights leave|Not enough (?:GPU |host )?memory|out of memory\. Tried|"
    r"memory capacity is unbalanced|cuda graphs? failed|state cache is too small|SWA pool"
)
_HALF: Final = re.compile(r"(?:[,=:(]|\b(?:avail|mem|usage|size|elapsed|type|dtype|begin|end)|#tokens)$")
_ARGS_PART: Final = re.compile(r"\s{0,40}(?:[\"']?\w{1,80}[\"']?\s{0,2}[=:]|[,)\]}\"']|[\w./-]{1,200}[\"']?\s?[,)\]}])")
_OTHER: Final = re.compile(r"Loading |Capturing |Multi-thread loading|Traceback|Decode batch|Prefill batch|server_args|\$ |python")


@dataclass(frozen=True, slots=True)
class Piece:
    """A whole record."""

    framed: Framed
    in_trace: bool
    """True for a line that belongs to the traceback begun before."""
    opens_trace: bool


class Assembler:
    """Joins lines; gives each record once it is whole."""

    def __init__(self) -> None:
        self._held: Framed | None = None
        self._lines = 0
        self._in_trace = False

    @property
    def busy(self) -> bool:
        """True while the next line may belong to the one before, so no line may be passed over."""
        return self._held is not None or self._in_trace

    def feed(self, framed: Framed) -> list[Piece]:
        """The records that this line completes."""
        if not framed.message.strip():
            return []
        done: list[Piece] = []
        if self._held is not None:
            if self._joins(self._held, framed):
                self._join(self._held, framed)
                return self.flush() if self._whole() else []
            done = self.flush()
        if self._holds(framed):
            self._held, self._lines = framed, 1
            return [*done, *self.flush()] if self._whole() else done
        done.append(self._piece(framed))
        return done

    def flush(self) -> list[Piece]:
        """What is held, as far as it goes."""
        held, self._held = self._held, None
        return [] if held is None else [self._piece(held)]

    def _piece(self, framed: Framed) -> Piece:
        opens = _TRACE.search(framed.message[:400]) is not None
        part = self._in_trace and not framed.own and _TRACE_PART.match(framed.message) is not None
        self._in_trace = part or opens
        return Piece(framed, part, opens and not part)

    @staticmethod
    def _holds(framed: Framed) -> bool:
        text = framed.message
        if looks_like_server_args(text):
            return not is_closed(text)
        if find_command(text) is not None:
            return True
        if MEMORY_LINE.match(text):
            return _HALF.search(text.rstrip()) is not None or parse_memory(text) is None
        return _PROSE.search(text) is not None and not text.rstrip().endswith((".", ")", "!"))

    def _whole(self) -> bool:
        # a command is whole only when the next line shows that it does not go on
        held = self._held
        if held is None or self._lines >= _LINES_LIMIT or len(held.message) >= _JOINED_LIMIT:
            return True
        if find_command(held.message) is not None:
            return False
        return not self._holds(held) or (self._lines >= _PROSE_LINES and not looks_like_server_args(held.message))

    def _joins(self, held: Framed, framed: Framed) -> bool:
        if framed.own:
            return False
        text = framed.message
        if looks_like_server_args(held.message):
            return _ARGS_PART.match(text) is not None
        if find_command(held.message) is not None:
            return goes_on(held.message) or continues(text)
        return not (
            _OTHER.match(text) or MEMORY_LINE.match(text) or _ERROR.match(text) or find_command(text) is not None or text[:2] == "  "
        )

    def _join(self, held: Framed, framed: Framed) -> None:
        head, tail = held.message.rstrip(), framed.message.strip()
        # a terminal wraps in the middle of a number, a person between words
        glue = "" if head[-1:].isdigit() and tail[:1].isdigit() else " "
        if goes_on(head) and find_command(head) is not None:
            head = head[:-1].rstrip()
            glue = " "
        self._held = replace(
            held,
            message=(head + glue + tail)[:_JOINED_LIMIT]
            + (" \\" if tail.endswith("\\") and not (head + glue + tail).endswith("\\") else ""),
        )
        self._lines += 1


def error_line(text: str) -> bool:
    """True for the line of a traceback that names the exception."""
    return _ERROR.match(text) is not None


def place_of(text: str) -> str | None:
    """``scheduler.py:368 in init_model_worker`` of a traceback's ``File`` line; None for other lines."""
    match = _PLACE.match(text)
    return None if match is None else f"{re.split(r'[/]', match[1])[-1]}:{match[2]} in {match[3]}"
