"""The lesson pane: a card of the walkthrough, with a question to answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from kvtui.guide.fill import name_keys
from kvtui.present import glyphs
from kvtui.present.line import BLANK, Line, Span, Tone, cells, clean, wrap
from kvtui.views.commands import bindings
from kvtui.views.keyed import commands_of
from kvtui.views.keymap import shown
from kvtui.views.widgets.lines import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual import events
    from textual.app import ComposeResult

    from kvtui.guide.card import Card, ChoiceState
    from kvtui.guide.play import Reply
    from kvtui.views.commands import Command

FRAME: Final = 2
"""Columns beside each end of a heading, within the corners."""
LONGEST: Final = 24
"""Characters of a typed number."""
_TYPED: Final = frozenset("0123456789.,+-−%kKmM ")
_CHOICES: Final[dict[ChoiceState, tuple[str, Tone]]] = {
    "open": (" ", "text"),
    "pointed": (glyphs.POINTER, "key"),
    "right": (glyphs.GOOD, "good"),
}


def card_lines(card: Card, width: int, keys: Mapping[str, str]) -> tuple[Line, ...]:
    """A card in ``width`` columns: text, question, answers, hints, and what is said to the reply. ``keys``: by command."""
    room = max(10, width)

    def _block(text: str, *, first: str = "", tone: Tone = "text") -> list[Line]:
        parts = wrap(clean(name_keys(text, keys)), room - len(first)) or ("",)
        return [(Span(first if index == 0 else " " * len(first), tone), Span(part, tone)) for index, part in enumerate(parts)]

    lines: list[Line] = [(Span(clean(card.title), "strong"),)]
    for part in card.paragraphs:
        lines += _block(part)
    if card.question:
        lines += [BLANK, *_block(card.question, first="? ", tone="strong")]
    for number, (text, state) in enumerate(card.choices, 1):
        sign, tone = _CHOICES[state]
        lines += _block(text, first=f"{sign} {number} ", tone=tone)
    if card.entry is not None:
        lines.append((Span("  › ", "key"), Span(f"{clean(card.entry)}▏", "strong")))
    for text in card.hints:
        lines += _block(text, first="hint: ", tone="note")
    if card.feedback is not None:
        sign, tone = (glyphs.GOOD, "good") if card.feedback.right else (glyphs.BAD, "bad")
        said = f"{card.feedback.opening} {card.feedback.text}".strip()
        lines += [BLANK, *_block(said, first=f"{sign} ", tone=tone)]
    return tuple(lines)


def foot(keys: str, below: int, page: str, width: int) -> str:
    """The keys of a card in ``width`` columns; rows below the fold come first, with the key that shows them."""
    parts = [*([f"▼ {below} more: {page}"] if below > 0 else []), *keys.split(" · ")]
    while len(parts) > 1 and cells(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)


def _beside_enter(command: Command) -> str:
    rest = [key for key in command.keys if key != "enter"]
    return shown(rest[0]) if rest and command.keys[0] == "enter" else command.shown


class LessonPane(VerticalScroll, can_focus=True):
    """Holds the pointer and what is typed; asks its screen for everything else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("card"),
        *(Binding(str(n), f"choose({n - 1})", show=False) for n in range(1, 10)),
    ]

    class Replied(Message):
        """Enter: an answer to the open question, or "go on"."""

        def __init__(self, reply: Reply) -> None:
            super().__init__()
            self.reply = reply

    class Back(Message):
        """To the step before."""

    class Touched(Message):
        """The pointer or the typed number changed."""

    def __init__(self) -> None:
        super().__init__(id="lesson")
        self.pointed = 0
        self.entry = ""
        self._card: Card | None = None

    def compose(self) -> ComposeResult:
        """Text that scrolls."""
        yield Page(id="card")

    def fresh(self) -> None:
        """Another step: no pointer, nothing typed, from the top."""
        self.pointed, self.entry = 0, ""
        self.scroll_home(animate=False)

    def show(self, card: Card) -> None:
        """Show a card; what is said to a reply is scrolled into view."""
        before, self._card = self._card, card
        if card == before:
            return
        keys = self._keys()
        page = self.query_one("#card", Page)
        page.show(lambda width: (*self._above(card), *card_lines(card, width, keys)))
        self._foot()
        self.call_after_refresh(self._foot)
        if before is not None and (card.feedback, card.hints) != (before.feedback, before.hints) and (card.feedback or card.hints):
            self.call_after_refresh(self.scroll_end, animate=False)
        elif before is not None and before.choices and card.title == before.title:
            row = next((y for y, line in enumerate(page.rows) if line and line[0].text.startswith(glyphs.POINTER)), 0)
            self.call_after_refresh(self.scroll_to_region, Region(0, row, 1, 2), animate=False)

    def _above(self, card: Card) -> tuple[Line, ...]:
        """The lesson's title on the card, where the frame has no room for the whole of it."""
        return () if cells(card.heading) <= self.size.width - 2 * FRAME else ((Span(clean(card.lesson), "dim"),),)

    def _keys(self) -> Mapping[str, str]:
        """The keys of this run by command; Enter is the card's own here, so that another command has its next key."""
        return {one.id: one.shown if one.scope == "card" else _beside_enter(one) for one in commands_of(self.app)}

    def _foot(self) -> None:
        """What stands in the frame: where the lesson is, and the keys."""
        if self._card is not None:
            self.border_title = Content(self._card.place if self._above(self._card) else self._card.heading)
            keys = self._keys()
            below = round(self.max_scroll_y - self.scroll_y)
            said = foot(name_keys(self._card.keys, keys), below, keys["card-page-down"], self.size.width - 2)
            self.border_subtitle = Content(said)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """What is below the fold changes with it."""
        super().watch_scroll_y(old_value, new_value)
        self._foot()

    def on_resize(self) -> None:
        """So it does with the room."""
        self.call_after_refresh(self._foot)

    async def on_key(self, event: events.Key) -> None:
        """Digits and signs are typed where a number is asked for."""
        if self._card is None or self._card.entry is None:
            return
        if event.key == "backspace" and self.entry:
            self.entry = self.entry[:-1]
        elif event.character is not None and event.character in _TYPED and event.character != " ":
            self.entry = (self.entry + event.character)[:LONGEST]
        else:
            return
        event.stop()
        event.prevent_default()
        self.post_message(self.Touched())

    def action_reply(self) -> None:
        """Answer, or go on."""
        card = self._card
        if card is None:
            return
        self.post_message(self.Replied(self.entry if card.entry is not None else self.pointed if card.choices else None))

    def action_go_back(self) -> None:
        """To the step before."""
        self.post_message(self.Back())

    def action_point(self, step: int) -> None:
        """Move the pointer; without choices, scroll."""
        if self._card is None or not self._card.choices or "pointed" not in {state for _, state in self._card.choices}:
            self.scroll_relative(y=step, animate=False)
            return
        self.pointed = max(0, min(len(self._card.choices) - 1, self.pointed + step))
        self.post_message(self.Touched())

    def action_choose(self, index: int) -> None:
        """Point at an answer by its number; where there is none to choose from, the key is the console's."""
        if self._card is None or not any(state == "pointed" for _, state in self._card.choices):
            raise SkipAction
        if index < len(self._card.choices):
            self.pointed = index
            self.post_message(self.Touched())

    def action_scroll_card(self, direction: int) -> None:
        """A page of the card."""
        self.scroll_relative(y=direction * max(1, self.size.height - 1), animate=False)
