"""The command that follows a log kept by a journal or by a container's runtime, and its output cut into lines."""

from __future__ import annotations

import re
from typing import Final

from kvtui.domain.process import LogTarget

TAIL: Final = 200_000
"""Lines of history asked for: enough to hold a start that is hours old."""
LINE_LIMIT: Final = 1 << 20
"""Bytes kept of one line; what follows is dropped up to the line's end."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][\w.@:\\/-]{0,252}")


def follow_command(target: LogTarget, since: float | None = None, tail: int = TAIL) -> tuple[str, tuple[str, ...]] | None:
    """Program and arguments that print a log and go on printing; None where no program is needed or the name is unfit.

    ``since``: seconds since the epoch; instead of the last ``tail`` lines only what came after. Only reads.
    """
    if _NAME.fullmatch(target.name) is None:
        return None
    seconds = None if since is None else f"{since:.6f}"
    if target.kind == "journal":
        # --all: without it a message above 4096 bytes comes as null, and server_args lines are longer
        which = ("--user-unit", target.name) if target.user else ("--unit", target.name)
        start = ("--lines", str(tail)) if seconds is None else ("--since", f"@{seconds}", "--lines", "all")
        fields = "--output-fields=MESSAGE,_LINE_BREAK"
        return "journalctl", ("--no-pager", "--quiet", "--all", "--output=json", fields, *start, "--follow", *which)
    if target.kind in {"docker", "podman"}:
        start = ("--tail", str(tail)) if seconds is None else ("--since", seconds)
        return target.kind, ("logs", "--follow", *start, "--", target.name)
    if target.kind == "kubernetes":
        return "kubectl", _kubectl(target, since, tail)
    return None


def _kubectl(target: LogTarget, since: float | None, tail: int) -> tuple[str, ...]:
    start = f"--tail={tail}" if since is None else f"--since-time={_rfc3339(since)}"
    named = [f"--{flag}={value}" for flag, value in (("namespace", target.namespace), ("container", target.container)) if value]
    return ("logs", "--follow", start, *named, "--", target.name)


def _rfc3339(seconds: float) -> str:
    """``2026-01-31T12:00:00Z``, rounded down; by hand, since this layer knows no clock."""
    days, rest = divmod(int(seconds), 86_400)
    # civil date of a day number: eras of 400 years that begin on 1 March
    shifted = days + 719_468
    era, day_of_era = divmod(shifted, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_index = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_index + 2) // 5 + 1
    month = month_index + 3 if month_index < 10 else month_index - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}Z"


class LineCutter:
    """Cuts chunks into lines of bounded length; line ends are not kept."""

    __slots__ = ("_held", "_limit", "_part", "cut")

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._part: list[bytes] = []
        self._held = 0
        self.cut = 0
        """Lines that lost their end."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes."""
        pieces = chunk.split(b"\n")
        lines: list[bytes] = []
        for piece in pieces[:-1]:
            self._hold(piece)
            lines.append(self.rest())
        self._hold(pieces[-1])
        return lines

    def rest(self) -> bytes:
        """The line begun, which is then done."""
        line = b"".join(self._part)
        if self._held > self._limit:
            self.cut += 1
        self._part.clear()
        self._held = 0
        return line[:-1] if line.endswith(b"\r") else line

    def _hold(self, piece: bytes) -> None:
        room = self._limit - self._held
        if room > 0 and piece:
            self._part.append(piece[:room])
        self._held += len(piece)
