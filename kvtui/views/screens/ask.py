"""One line that a person types, with a sentence for what is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from kvtui.views.commands import bindings

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

T = TypeVar("T")


class AskScreen(ModalScreen[T]):
    """Gives what was typed, as ``parse`` reads it; nothing where it was left with Escape.

    ``parse`` gives a sentence (str) where the text cannot be read.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("ask")]
    replaces: ClassVar[bool] = False
    """True: what is typed takes the place of the text that is there, else it is added."""

    def __init__(self, title: str, typed: str, parse: Callable[[str], T | str], *, example: str, hint: str, longest: int) -> None:
        super().__init__()
        self._heading = title
        self._typed = typed
        self._parse = parse
        self._example = example
        self._hint = hint
        self._longest = longest

    def compose(self) -> ComposeResult:
        """One field and a line for what is wrong."""
        with Vertical(id="box"):
            yield Input(self._typed, placeholder=self._example, max_length=self._longest, select_on_focus=self.replaces, compact=True)
            yield Static(self._hint, id="said", markup=False)

    def on_mount(self) -> None:
        """Ready to type."""
        self.query_one("#box").border_title = self._heading
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it, or say what is wrong."""
        found = self._parse(event.value)
        if isinstance(found, str):
            self.query_one("#said", Static).update(f"✖ {found}")
        else:
            self.dismiss(found)

    def action_close(self) -> None:
        """Leave things as they are."""
        self.dismiss()
