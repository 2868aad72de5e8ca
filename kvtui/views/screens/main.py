"""The main screen: header, verdict strip, four panes or one at a time, footer."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from textual.containers import Container, Vertical
from textual.geometry import Size
from textual.widgets import Static

from kvtui.present.frame_bars import footer, tabs
from kvtui.present.line import Line, Span, clean
from kvtui.views.commands import Scope, bindings, of
from kvtui.views.keyed import commands_of, key_of
from kvtui.views.messages import Copy
from kvtui.views.screens.base import StateScreen
from kvtui.views.widgets.formula_pane import FormulaPane
from kvtui.views.widgets.lines import Bar
from kvtui.views.widgets.memory_pane import MemoryPane
from kvtui.views.widgets.options_pane import OptionsPane
from kvtui.views.widgets.panel import LinePanel, Panel
from kvtui.views.widgets.server_pane import ServerPane

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from kvtui.present.state import ViewState, WidthClass

PANES: Final = ("memory", "server", "formula", "options")
NAMES: Final = ("GPU memory", "Server", "Formula", "Options")
FOUR: Final = Size(110, 32)
"""From this size on all four panes fit."""
WIDE: Final = Size(170, 50)
SMALLEST: Final = Size(60, 16)


def width_class(size: Size) -> WidthClass:
    """How much of the console fits a terminal of that size."""
    if size.width < FOUR.width or size.height < FOUR.height:
        return "narrow"
    return "wide" if size.width >= WIDE.width and size.height >= WIDE.height else "normal"


class StripBar(Bar, can_focus=True):
    """The verdicts; Enter on it opens why."""


class MainScreen(StateScreen):
    """Everything at a glance."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("main")]
    least = SMALLEST
    """The smallest terminal that it fits into."""
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (SMALLEST.width, "-narrow"), (FOUR.width, "-broad")]  # noqa: RUF012 (Textual declares it so)
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (SMALLEST.height, "-short"), (22, "-middle"), (FOUR.height, "-high")]  # noqa: RUF012

    before: tuple[Scope, ...] = ()
    beside: tuple[Scope, ...] = ()
    """Further keys for the footer: some that take a key from the main screen, and some of the app's."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = clean(target, 200)
        self._state: ViewState | None = None
        self._current = PANES.index("memory")
        self._focused_last: Widget | None = None
        self._told: tuple[tuple[object, ...], tuple[Line, ...]] = ((), ())
        """What the verdict strip was made of, and its lines."""

    def compose(self) -> ComposeResult:
        """The bars and the panes."""
        with Vertical(id="frame"):
            yield from self.console()
        yield Static("", id="small", markup=False)

    @staticmethod
    def console() -> ComposeResult:
        """The bars and the panes, from top to bottom."""
        yield Bar(id="header")
        yield StripBar(id="strip")
        yield Bar(id="tabs")
        yield Container(
            MemoryPane(id="memory", classes="pane"),
            ServerPane(id="server", classes="pane"),
            FormulaPane(id="formula", classes="pane"),
            OptionsPane(id="options", classes="pane"),
            id="panes",
        )
        yield Bar(id="footer")

    def on_mount(self) -> None:
        """Waiting for the first analysis is a state of its own, in words."""
        self.query_one("#header", Bar).show(lambda _: ((Span(" kvtui ", "mark"), Span(f"  {self._target}")),))
        self.query_one("#strip", Bar).show(lambda _: ((Span(f"▌◌ Reading {self._target or 'the source'} …", "note"),),))
        self._go(self._current)

    def show(self, state: ViewState) -> None:
        """Hand the state to every bar and pane; each paints what it must."""
        from kvtui.present.header import header

        self._state = state = replace(state, width=width_class(self.room(self.size)))
        self.set_class(self._has_banner(state), "-banner")
        head, verdicts = self._bars
        head.show(lambda width: (header(state, width),))
        verdicts.show(lambda width: self.verdicts(state, width))
        for pane in self._panes:
            pane.state = state

    def verdicts(self, state: ViewState, width: int) -> tuple[Line, ...]:
        """The verdict strip's lines."""
        from kvtui.present.verdict import strip

        # Sentences are fitted into their lines for longer than it takes to see that they are the same: verdicts stand for minutes.
        made_of = (state.analysis.findings, state.keys, width, self._verdict_rows())
        if state.cursor is not None or made_of != self._told[0]:
            lines = strip(state, width, self._verdict_rows()).lines
            self._told = (made_of if state.cursor is None else (), lines)
        return self._told[1]

    @staticmethod
    def _has_banner(state: ViewState) -> bool:
        from kvtui.present.verdict import leading

        return bool(leading(state)[1])

    def _verdict_rows(self) -> int:
        """Lines of the two verdicts: base.tcss gives the strip as many."""
        return 2 if self.room(self.size).height < 22 else 4

    def room(self, size: Size) -> Size:
        """The part of a screen of that size that the console has."""
        return size

    def on_resize(self, event: events.Resize) -> None:
        """Four panes, one, or a sentence."""
        self.fit(event.size)

    def fit(self, size: Size) -> None:
        """Fit the panes into their part of a screen of that size."""
        kind = width_class(self.room(size))
        self.set_class(kind != "narrow", "-four")
        self.set_class(kind == "wide", "-wide")
        wanted, there = f"{self.least.width}×{self.least.height}", f"{size.width}×{size.height}"
        self.query_one("#small", Static).update(f"kvtui needs {wanted}; this terminal has {there}. Enlarge it.")
        if self._state is not None:
            self.call_after_refresh(self._again)
        if size.width >= self.least.width and size.height >= self.least.height:
            self.call_after_refresh(self._focus_again)

    def _focus_again(self) -> None:
        """Back to what had the focus: where nothing fits, nothing can have it."""
        if self.focused is None and self._focused_last is not None:
            self._focused_last.focus()

    def _again(self) -> None:
        """Show what is shown, at another size: the newest state, which may have come since the size changed."""
        if self._state is not None:
            self.show(self._state)

    @cached_property
    def _bars(self) -> tuple[Bar, Bar]:
        """The header and the verdict strip."""
        return self.query_one("#header", Bar), self.query_one("#strip", Bar)

    @cached_property
    def _panes(self) -> list[Panel[object]]:
        return [self.query_one(f"#{name}", Panel) for name in PANES]

    def _go(self, number: int) -> None:
        self.turn_to(number)
        self._panes[number].focus()

    def turn_to(self, number: int) -> None:
        """Show a pane where only one fits; the focus stays."""
        self._current = number
        for index, pane in enumerate(self._panes):
            pane.set_class(index == number, "-current")
        self.query_one("#tabs", Bar).show(lambda width: (tabs(NAMES, self._current, width),))
        # Where something scrolls at the same time, Textual sends what appears no resize.
        self.call_after_refresh(self._panes[number].update_model)

    def action_pane(self, name: str) -> None:
        """Go to a pane."""
        self._go(PANES.index(name))

    def action_next_pane(self, step: int) -> None:
        """Go to the next pane or the one before; the strip lies between the last and the first."""
        places = len(PANES) + 1
        here = len(PANES) if isinstance(self.focused, StripBar) else self._current
        there = (here + step) % places
        if there == len(PANES):
            self.query_one("#strip", StripBar).focus()
        else:
            self._go(there)

    def action_row(self, step: int) -> None:
        """Point at a row of the pane that has the focus."""
        if isinstance(self.focused, LinePanel):
            self.focused.move_row(step)
        else:
            self.notify(f"rows are chosen in a pane: {key_of(self.app, 'next')} goes there", severity="warning", timeout=3)

    def action_copy_focus(self) -> None:
        """Copy the row that is pointed at, or the verdicts' sentences."""
        from kvtui.present.copied import verdict_text

        pane = self.focused if isinstance(self.focused, LinePanel) else None
        if pane is not None and pane.row_copied():
            self.app.post_message(Copy(pane.row_copied()))
        elif pane is None and self._state is not None:
            self.app.post_message(Copy(verdict_text(self._state.analysis.findings), "the verdicts"))
        else:
            self.notify("nothing has been read yet", severity="warning", timeout=3)

    def action_copy_pane(self) -> None:
        """Copy a pane's title and rows, the verdicts' where they have the focus."""
        from kvtui.present.copied import pane_said, pane_text

        pane = self.focused if isinstance(self.focused, LinePanel) else None
        if pane is None or pane.shown is None:
            self.action_copy_focus()
        else:
            self.app.post_message(Copy(pane_text(pane.TITLE, pane.rows), pane_said(pane.TITLE, pane.rows)))

    def action_explain(self) -> None:
        """Say what the thing with the focus is: an option, the verdicts, or the words of a pane."""
        from kvtui.present.glossary import entry_lines, in_rows, of_option, of_verdicts
        from kvtui.views.screens.text import TextScreen

        focused = self.focused
        if isinstance(focused, OptionsPane):
            entries = of_option(focused.pointed or "")
        elif isinstance(focused, StripBar) and self._state is not None:
            entries = of_verdicts(finding.id for finding in self._state.analysis.findings)
        else:
            pane = focused if isinstance(focused, LinePanel) else self._panes[self._current]
            entries = in_rows(pane.rows) if isinstance(pane, LinePanel) else ()
        self.app.push_screen(TextScreen("What this is", lambda _state, width: entry_lines(entries, width), self._state))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The footer shows the keys that work where the focus is."""
        focused = self._focused_last = event.widget
        if focused.id in PANES:
            self._current = PANES.index(focused.id)
        scopes: tuple[Scope, ...] = (*self.before, "main", *self.beside, "app")
        scopes = ("options", *scopes) if isinstance(focused, OptionsPane) else scopes
        commands = commands_of(self.app)
        keys = tuple((c.shown, c.title) for c in of(*scopes, commands=commands) if c.footer)
        dial = (("".join(c.shown for c in commands if c.id in {"lower", "raise"}), "fraction"),)

        def bar(width: int) -> tuple[Line, ...]:
            return (footer((*dial, *keys), width),)

        self.query_one("#footer", Bar).show(bar)
