"""Logs as the tests read them: text through the real parser, up to a frame or an analysis."""

from pathlib import Path

from kvtui.domain.accounting import NO_GEOMETRY
from kvtui.domain.frame import EMPTY_FRAME, Frame
from kvtui.engine.analyse import analyse
from kvtui.parse.logreader import LogReader

LOGS = Path(__file__).parent / "logs"
SHARED = Path(__file__).resolve().parents[2] / "shared"


def frame_of(text: str | bytes, boot: int = -1) -> Frame:
    """The frame of a finished log."""
    raw = text.encode() if isinstance(text, str) else text
    reader = LogReader()
    reader.feed(raw.split(b"\n"))
    seen = reader.reading()
    if not seen.boots:
        return EMPTY_FRAME
    chosen = boot % len(seen.boots)
    return Frame(
        now=seen.now, finished=True, boots=seen.boots, chosen=chosen, timeline=seen.timelines[chosen], timelines=seen.timelines, events=seen.events[chosen], counts=seen.counts,
        notes=seen.notes,
    )  # fmt: skip


def analysis_of(text: str | bytes, boot: int = -1, given=NO_GEOMETRY):
    return analyse(frame_of(text, boot), given)


def log(name: str) -> str:
    return (LOGS / name).read_text()
