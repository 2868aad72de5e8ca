"""ASCII only, for terminals that have no more: the last thing that happens to a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.filter import LineFilter

from kvtui.present.plain_ascii import to_ascii

if TYPE_CHECKING:
    from textual.color import Color


class AsciiFilter(LineFilter):
    """Every sign by its table; widths stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 (Textual's signature)
        """The row in ASCII."""
        return [
            Segment(to_ascii(text), style, control) if not text.isascii() else Segment(text, style, control)
            for text, style, control in segments
        ]
