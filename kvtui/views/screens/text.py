"""A box of text over the screen: why, detail, where from, log, help."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.screen import ModalScreen

from kvtui.present.line import Line, clean
from kvtui.views.commands import bindings
from kvtui.views.keyed import commands_of, key_of
from kvtui.views.messages import Copy
from kvtui.views.widgets.pointed_page import PointedPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kvtui.present.state import ViewState


ROOMY: Final = 130
"""Columns from which the box has something beside it; on less, slivers of what lies below would only disturb."""


class TextScreen(ModalScreen[None]):
    """Lines made from the view state; they follow it."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("text")]
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (ROOMY, "-wide")]  # noqa: RUF012 (Textual declares it so)

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
        # Without the focus: it would take the keys that move the pointer.
        with VerticalScroll(id="box", can_focus=False):
            yield PointedPage(id="text")

    def on_mount(self) -> None:
        """Title, keys and the first text."""
        box = self.query_one("#box")
        box.border_title = Content(self._heading)
        keys = {one.id: one.shown for one in commands_of(self.app)}
        box.border_subtitle = Content(
            f"{keys['text-close']} closes · {keys['text-up']}{keys['text-down']} choose · {keys['text-copy']} copies"
        )
        if self._state is not None:
            self.show(self._state)

    def show(self, state: ViewState) -> None:
        """Follow the state."""
        self._state = state
        self.query_one("#text", PointedPage).show(lambda width: self._make(state, width))

    def action_close(self) -> None:
        """Back to the screen below."""
        self.dismiss()

    @property
    def _page(self) -> PointedPage:
        return self.query_one("#text", PointedPage)

    def action_move(self, step: int) -> None:
        """Point at another entry, and keep it in sight."""
        box = self.query_one("#box", VerticalScroll)
        self._page.move(step, box.scroll_offset.y)
        here = self._page.pointed
        if here is not None:
            # At the ends the heading above the first entry, too, and what stands below the last.
            top = here.start if self._page.at else 0
            box.scroll_to_region(Region(0, top, 1, here.stop - top), animate=False)

    def action_copy(self) -> None:
        """Copy the entry that is pointed at, else what is best worth copying here."""
        text = self._page.copied() or self._copied
        if text:
            self.app.post_message(Copy(text))
        else:
            down, page = key_of(self.app, "text-down"), key_of(self.app, "text-copy-page")
            self.notify(f"{down} chooses what is copied; {page} copies the whole page", severity="warning", timeout=4)

    def action_copy_page(self) -> None:
        """Copy the whole page."""
        from kvtui.present.copied import page_said, pane_text

        rows = self._page.lines
        self.app.post_message(Copy(pane_text(self._heading, rows), page_said(self._heading, rows)))

    def action_scroll_text(self, where: str) -> None:
        """Scroll without animation: over a slow line each step is a full paint."""
        box = self.query_one("#box", VerticalScroll)
        if where in {"page_up", "page_down", "home", "end"}:
            self._page.leave()
            getattr(box, f"scroll_{where}")(animate=False)
