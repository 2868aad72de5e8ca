"""Two starts of one log side by side, for the report: what changed since it was fast."""

from __future__ import annotations

from kvtui.domain.frame import Frame
from kvtui.present.boots import Difference, compare, load_of
from kvtui.present.figures import stamp
from kvtui.present.report_doc import Document, Section, Table
from kvtui.present.report_json import Json


def _differences(frame: Frame, left: int, right: int) -> tuple[Difference, ...]:
    loads = {index: load_of(frame.timelines[index]) for index in (left, right) if index < len(frame.timelines)}
    return compare(frame.boots[left], frame.boots[right], loads)


def _name(frame: Frame, index: int) -> str:
    begun = frame.boots[index].begun_at
    return f"start {index + 1}" + (f", {stamp(begun)}" if begun is not None else "")


def comparison_document(frame: Frame, left: int, right: int) -> Document:
    """The differences as a document; ``left`` and ``right`` are indices into ``frame.boots``."""
    rows = tuple((d.name, d.left, d.right, d.note) for d in _differences(frame, left, right))
    head = ("what", _name(frame, left), _name(frame, right), "")
    return Document(
        "kvtui report · what changed", f"{_name(frame, left)} → {_name(frame, right)}", (Section("Differences", table=Table(head, rows)),)
    )


def comparison_json(frame: Frame, left: int, right: int) -> dict[str, Json]:
    """The differences as data."""
    return {
        "schema": 1,
        "left": left + 1,
        "right": right + 1,
        "differences": [
            {"name": d.name, "left": d.left, "right": d.right, "note": d.note or None} for d in _differences(frame, left, right)
        ],
    }
