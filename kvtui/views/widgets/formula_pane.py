"""The formula pane: the arithmetic of the pool, at today's fraction or another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.present.line import Line, Span
from kvtui.views.widgets.panel import LinePanel

if TYPE_CHECKING:
    from textual.geometry import Size

    from kvtui.present.formula import Formula
    from kvtui.present.state import ViewState


class FormulaPane(LinePanel["Formula"]):
    """Follows the fraction."""

    TITLE = "Formula"
    HELP_TOPIC = "formula"

    def inputs(self, state: ViewState) -> tuple[object, ...]:
        """The account and the what-if."""
        return self.judgement(state)

    def model(self, state: ViewState, size: Size) -> Formula:
        """The arithmetic for the pane's inner size."""
        from kvtui.present.formula import formula

        return formula(state, size.width, size.height)

    def lines(self, model: Formula) -> tuple[Line, ...]:
        """The arithmetic."""
        return model.lines

    def note(self, model: Formula) -> Line:
        """That this is a what-if, and the way back."""
        return (Span(model.note, "changed"),) if model.note else ()
