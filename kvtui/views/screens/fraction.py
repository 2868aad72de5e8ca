"""Typing a fraction."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvtui.views.session import parse_fraction

if TYPE_CHECKING:
    from textual.app import ComposeResult


class FractionScreen(ModalScreen[float]):
    """Gives the fraction that was typed; nothing where it was left with Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "close")]

    def __init__(self, typed: str) -> None:
        super().__init__()
        self._typed = typed

    def compose(self) -> ComposeResult:
        """One field and a line for what is wrong."""
        with Vertical(id="box"):
            yield Input(self._typed, placeholder="0.93 or 93", max_length=12, select_on_focus=False, compact=True)
            yield Static("⏎ shows it in every pane · esc leaves", id="said", markup=False)

    def on_mount(self) -> None:
        """Ready to type."""
        self.query_one("#box").border_title = "mem_fraction_static"
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it, or say what is wrong."""
        found = parse_fraction(event.value)
        if isinstance(found, str):
            self.query_one("#said", Static).update(f"✖ {found}")
        else:
            self.dismiss(found)

    def action_close(self) -> None:
        """Leave things as they are."""
        self.dismiss()
