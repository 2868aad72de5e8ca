"""What stands before a message: stamps, ranks and the wrappings of whatever carried the log.

SGLang writes ``[2026-11-29 14:19:08 DP0 TP3] message`` (facts/observability.md 3.1). Everything else that
is taken off here comes from containers, journals, consoles, other loggers, or from a person's paste.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kvtui.domain.rank import MAIN, Rank
from kvtui.parse.envelopes import Envelopes, Opened, rfc3339
from kvtui.parse.stamps import Dates, Midnights, clock_seconds, month_day

_RANKS: Final = r"(?:\s(?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,5}){0,8}"
_DIRECT: Final = re.compile(rf"\[(\d{{4}}-\d\d-\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{{1,6}}))?({_RANKS})\] ")
_OWN: Final = re.compile(
    rf"\s{{0,8}}\[?(?:(\d{{4}}-\d\d-\d\d)[ T])?(?:(\d\d):(\d\d):(\d\d)(?:[.,](\d{{1,9}}))?|HH:MM:SS)({_RANKS})\s{{0,4}}\]\s?"
)
_BARE_RANKS: Final = re.compile(r"\s{0,8}\[((?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,5}(?:[ ,](?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,5}){0,7})\]\s?")
_LOOSE_RANKS: Final = re.compile(r"((?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,5}(?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d{1,5}){0,7})\]? ")
_GPU_RANK: Final = re.compile(r"\s{0,8}\[gpu(?:_id)?[=:](\d{1,4})\]\s?")
_RANK_PART: Final = re.compile(r"(DP|PP|ATTN_CP|MOE_DP|TP|EP)(\d+)")
_RANK_FIELD: Final = {"DP": "dp", "PP": "pp", "TP": "tp", "EP": "ep", "ATTN_CP": "attn_cp", "MOE_DP": "moe_dp"}

_OUTER: Final = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:\s?(?:Z|[+-]\d\d:?\d\d))?\]?(?: (?:UTC|GMT|[A-Z]{3,4}))?(?:\s+|$)"
)
_SYSLOG: Final = re.compile(r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ")
_UNIX: Final = re.compile(r"(\d{10}\.\d{1,9}) ")
_UNIT: Final = re.compile(r"[\w.-]{1,80} [\w.@:/-]{1,80}\[\d{1,9}\]: ?")
_ANSI: Final = re.compile(
    r"\x1b\[[0-9;:?]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,300}(?:\x07|\x1b\\)?|\x1b[@-Z\\^_=>()]|(?<!\w)\[(?:\d{1,3};){0,4}\d{1,3}m"
)
_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"

_COMPOSE: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,80})\s{0,40}\| ?")
_SERVICES_LIMIT: Final = 16
_WRAPS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:> ?){1,4}",  # a quoted mail or issue
        r"\s{0,8}\d{1,9}\t",  # cat -n
        r"(?:[\w./-]{1,120}:)?\s{0,8}\d{1,9}[:|-]\s?(?=[\[{]|\d{4}-\d\d-\d\dT?)",  # grep -n
        r"\s{1,8}\d{1,9}\s{1,2}(?=\[)",  # nl
        r"\[pod/[\w./-]{1,200}\] ?",  # kubectl logs --prefix
        r"\(\w[\w:.() -]{0,80}pid=\d{1,9}(?:, ip=[\w.:]{1,45})?\) ?",  # Ray
        r"\[(?:rank|default)\d{1,5}\]:\s?",  # torchrun
        r"\[\d{1,4},\d{1,5}\]<std(?:out|err)>:\s?",  # mpirun
        r"(?:stdout|stderr) [FP] ",  # CRI without its stamp
    )
)
_LEVELS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\s{{0,4}}{_LEVEL}:\s{{0,2}}[A-Za-z_][\w.]{{2,80}}:(?=\S)",  # logging.basicConfig's default
        rf"\s{{0,4}}{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]{{1,120}}:\d{{1,6}}\]\s?",
        rf"\s{{0,4}}\[?{_LEVEL}\]?[: ]\s{{0,4}}[\w./-]{{1,120}}\.py:\d{{1,6}}[\]:]\s?",
        rf"\s{{0,4}}\[{_LEVEL}\]:?\s{{0,4}}",
        rf"\s{{0,4}}{_LEVEL}:\s{{1,8}}",
        rf"\s{{0,4}}{_LEVEL}\s{{1,4}}(?:[a-z_]\w{{0,60}}(?:(?:\.|::)\w{{1,60}}){{1,6}}: )?",
    )
)
_GLUED: Final = re.compile(rf"\[(?:\d{{4}}-\d\d-\d\d )?\d\d:\d\d:\d\d(?:\.\d{{1,6}})?{_RANKS}\] ")
_LEVEL_STARTS: Final = frozenset("IWE[\x1b")
_SKEW_UNIT: Final = 900.0
_SKEW_MAX: Final = 26 * 3600.0
"""The furthest that two zones, or a container's clock and a local one, are apart."""
_MAX_PEELS: Final = 8
_MAX_GLUED: Final = 64
_RANK_CACHE: Final = 4_096


@dataclass(frozen=True, slots=True)
class Framed:
    """One message with what its prefix said."""

    line: int
    at: float | None
    """Seconds on the log's clock; None where neither this line nor its wrapping carries a stamp."""
    rank: Rank
    message: str
    own: bool
    """True: the line has SGLang's own bracket (stamp, ranks or both), so it begins a record."""


class Framer:
    """Takes prefixes off lines; remembers what neighbours share (dates, ranks, the offset of an outer clock)."""

    def __init__(self) -> None:
        self.midnights = Midnights()
        self._envelopes = Envelopes()
        self._dates = Dates()
        self._ranks: dict[str, Rank] = {"": MAIN}
        self._skew: float | None = None
        self.services: set[str] = set()
        """Containers whose lines docker compose has mixed into this log."""

    @property
    def pending(self) -> bool:
        """True while the next line may be the rest of one that came in pieces."""
        return self._envelopes.pending

    def records(self, raw: str, line: int) -> list[Framed]:
        """The messages of one line of the file: none while it is a piece of a longer line, several where lines were glued."""
        opened = self._envelopes.open(raw)
        return [] if opened is None else self._split(opened, line)

    def rest(self, line: int) -> list[Framed]:
        """What is left of lines whose last piece never came."""
        return [framed for opened in self._envelopes.rest() for framed in self._split(opened, line)]

    def stamp(self, raw: str, line: int) -> float | None:
        """The time of a line, without taking it as the next one of the log."""
        opened = Envelopes().open(raw)
        if opened is None:
            return None
        return self.frame(opened.text.strip("\r\n"), line, opened.at).at

    def _split(self, opened: Opened, line: int) -> list[Framed]:
        found: list[Framed] = []
        # progress bars overwrite themselves: what follows the last carriage return is what a screen showed,
        # but a record may stand in any part
        for part in re.split(r"[\r\n]+", opened.text):
            if not part.strip():
                continue
            first = self.frame(part, line, opened.at)
            found.extend(self._unglue(first))
            if len(found) >= _MAX_GLUED:
                break
        return found

    def _unglue(self, framed: Framed) -> list[Framed]:
        text = framed.message
        cuts = [m.start() for m in _GLUED.finditer(text, 1)][:_MAX_GLUED] if "] " in text else []
        if not cuts or text.startswith(("Receive", "Finish")):
            return [framed]
        head = Framed(framed.line, framed.at, framed.rank, text[: cuts[0]].rstrip(), framed.own)
        tails = [self.frame(text[a:b], framed.line) for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]
        return [head, *tails] if head.message else tails

    def frame(self, text: str, line: int, outer: float | None = None) -> Framed:
        """One message; ``outer`` is the stamp of the envelope it came in, seconds UTC."""
        match = _DIRECT.match(text)
        if match is not None:
            message = text[match.end() :]
            return self._own(match.groups(), self._unlevel(message) if message[:1] in _LEVEL_STARTS else message, line, outer)
        if "\x1b" in text or "m" in text[:400]:
            text = _ANSI.sub("", text)
        service = ""
        for _ in range(_MAX_PEELS):
            match = _OWN.match(text)
            if match is not None:
                if service and len(self.services) < _SERVICES_LIMIT:
                    self.services.add(service)
                return self._own(match.groups(), self._unlevel(text[match.end() :]), line, outer)
            match = _BARE_RANKS.match(text) or _GPU_RANK.match(text)
            if match is not None:
                ranks = match[1] if not match[1].isdigit() else f"TP{match[1]}"
                return Framed(line, self._shifted(outer), self._rank(ranks), self._unlevel(text[match.end() :]), own=True)
            stamp, rest = self._outer(text)
            if rest is None:
                compose = _COMPOSE.match(text)
                service = compose[1] if compose is not None else service
                rest = _unwrapped(text) if compose is None else text[compose.end() :]
                if rest is None:
                    break
            outer, text = (stamp if stamp is not None else outer), rest
        return self._loose(self._unlevel(text), line, outer)

    def _loose(self, text: str, line: int, outer: float | None) -> Framed:
        # a paste that lost both brackets: "2026-10-08 03:51:44 TP0 Decode batch ..."
        match = _LOOSE_RANKS.match(text) if outer is not None else None
        if match is None:
            return Framed(line, self._shifted(outer), MAIN, text, own=False)
        return Framed(line, outer, self._rank(match[1]), text[match.end() :], own=True)

    def _own(self, groups: tuple[str | None, ...], message: str, line: int, outer: float | None) -> Framed:
        date, hours, minutes, seconds, part, ranks = groups
        rank = self._rank(ranks or "")
        clock = clock_seconds(hours, minutes, seconds, part) if hours and minutes and seconds else None
        if clock is None:
            return Framed(line, outer, rank, message, own=True)
        if date is None:
            if outer is not None:
                return Framed(line, outer, rank, message, own=True)
            return Framed(line, self.midnights.at(line, clock), rank, message, own=True)
        day = self._dates.start(date)
        at = None if day is None else day + clock
        if at is not None and outer is not None:
            skew = round((outer - at) / _SKEW_UNIT) * _SKEW_UNIT
            self._skew = skew if abs(skew) <= _SKEW_MAX else self._skew
        return Framed(line, at if at is not None else outer, rank, message, own=True)

    def _shifted(self, outer: float | None) -> float | None:
        # containers stamp in UTC, SGLang in local time: keep to the latter where both are known
        return outer if outer is None or self._skew is None else outer - self._skew

    def _outer(self, text: str) -> tuple[float | None, str | None]:
        match = _OUTER.match(text)
        if match is not None:
            at = rfc3339(text.lstrip("["))
        else:
            match = _SYSLOG.match(text)
            if match is not None:
                day, clock = month_day(match[1], match[2]), clock_seconds(match[3], match[4], match[5], match[6])
                at = None if day is None or clock is None else day + clock
            else:
                match = _UNIX.match(text)
                at = float(match[1]) if match is not None else None
        if match is None:
            return None, None
        rest = text[match.end() :]
        unit = _UNIT.match(rest)
        if unit is not None:
            rest = rest[unit.end() :]
        return at, rest

    @staticmethod
    def _unlevel(text: str) -> str:
        text = _ANSI.sub("", text) if "\x1b" in text else text
        for pattern in _LEVELS:
            match = pattern.match(text)
            if match is not None:
                return text[match.end() :]
        return text

    def _rank(self, text: str) -> Rank:
        found = self._ranks.get(text)
        if found is None:
            parts = {_RANK_FIELD[name]: int(number) for name, number in _RANK_PART.findall(text)}
            found = Rank(**parts)
            if len(self._ranks) >= _RANK_CACHE:
                self._ranks.clear()
            self._ranks[text] = found
        return found


def _unwrapped(text: str) -> str | None:
    for pattern in _WRAPS:
        match = pattern.match(text)
        if match is not None:
            return text[match.end() :]
    return None
