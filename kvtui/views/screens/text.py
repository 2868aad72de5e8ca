"""A box of text over the screen: why, detail, where from, log, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from kvtui.present.line import Line, clean
from kvtui.views.messages import Copy
from kvtui.views.widgets.lines import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from kvtui.present.state import ViewState


class TextScreen(ModalScreen[None]):
    """Lines made from the view state; they follow it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "close"),
        Binding("y,c", "copy", "copy", show=False),
        Binding("up,k", "scroll_text('up')", show=False),
        Binding("down,j", "scroll_text('down')", show=False),
        Binding("pageup,b", "scroll_text('page_up')", show=False),
        Binding("pagedown,space", "scroll_text('page_down')", show=False),
        Binding("home,g", "scroll_text('home')", show=False),
        Binding("end,G", "scroll_text('end')", show=False),
    ]

    def __init__(
        self,
        title: str,
        make: Callable[[ViewState, int], tuple[Line, ...]],
        state: ViewState | None,
        *,
        copied: str = "",
        whole: bool = False,
    ) -> None:
        super().__init__(classes="-whole" if whole else None)
        self._heading = clean(title, 200)
        self._make = make
        self._state = state
        self._copied = copied

    def compose(self) -> ComposeResult:
        """A box that scrolls."""
        with VerticalScroll(id="box"):
            yield Page(id="text")

    def on_mount(self) -> None:
        """Title, keys and the first text."""
        box = self.query_one("#box")
        box.border_title = Content(self._heading)
        box.border_subtitle = Content("esc closes · ↑↓ scroll" + (" · y copies" if self._copied else ""))
        if self._state is not None:
            self.show(self._state)

    def show(self, state: ViewState) -> None:
        """Follow the state."""
        self._state = state
        self.query_one("#text", Page).show(lambda width: self._make(state, width))

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss()

    def action_copy(self) -> None:
        """Copy what is worth copying, where there is anything."""
        if self._copied:
            self.app.post_message(Copy(self._copied))

    def action_scroll_text(self, where: str) -> None:
        """Scroll without animation: over a slow line each step is a full paint."""
        box = self.query_one("#box", VerticalScroll)
        if where in {"up", "down", "page_up", "page_down", "home", "end"}:
            getattr(box, f"scroll_{where}")(animate=False)
