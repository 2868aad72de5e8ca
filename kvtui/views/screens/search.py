"""Where no server was found, or several: what was looked for, and what can be opened instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen

from kvtui.present.frame_bars import footer
from kvtui.present.search import choices, looked_for, search_header, servers
from kvtui.views.commands import bindings
from kvtui.views.keyed import commands_of
from kvtui.views.screens.ask import AskScreen
from kvtui.views.widgets.lines import Bar, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from kvtui.domain.process import Discovery, FoundServer

LONGEST: Final = 2_000
"""Characters of an address or a path that are taken."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be opened."""

    kind: Literal["server", "target", "demo", "guide"]
    server: FoundServer | None = None
    """Of the kind ``server``."""
    target: str = ""
    """Of the kind ``target``: as it was typed."""


class SearchScreen(Screen[None]):
    """Follows a search that goes on. ``refused``: why a target cannot be opened, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("search")]

    class Chosen(Message):
        """Something is to be opened."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    class Again(Message):
        """The person does not want to wait for the next look."""

    def __init__(self, seen: Discovery, refused: Callable[[str], str], every_s: float) -> None:
        super().__init__()
        self._seen = seen
        self._refused = refused
        self._every_s = every_s
        self._looks = 1
        self._at = 0

    def compose(self) -> ComposeResult:
        """What was found, what was looked for, what can be done."""
        yield Bar(id="header")
        with VerticalScroll(id="seen", classes="box", can_focus=False):
            yield Page(id="found")
        with Vertical(id="choices", classes="box"):
            yield Page(id="keys")
        yield Bar(id="footer")

    def on_mount(self) -> None:
        """Headings and keys."""
        self.query_one("#choices").border_title = "What you can do"
        self._paint()

    @property
    def seen(self) -> Discovery:
        """What the newest look found."""
        return self._seen

    def show(self, seen: Discovery) -> None:
        """Another look; the pointer stays at its server."""
        pointed = self._pointed
        same = [number for number, server in enumerate(seen.servers) if pointed is not None and server.main == pointed.main]
        self._seen = seen
        self._looks += 1
        self._at = same[0] if same else min(self._at, max(0, len(seen.servers) - 1))
        self._paint()

    @property
    def _pointed(self) -> FoundServer | None:
        return self._seen.servers[self._at] if self._at < len(self._seen.servers) else None

    def _paint(self) -> None:
        seen, at, looks, every_s = self._seen, self._at, self._looks, self._every_s
        none = not seen.servers
        self.query_one("#seen").border_title = "Looked for" if none else "Servers on this machine"
        self.query_one("#header", Bar).show(lambda width: (search_header(seen, looks, every_s, width),))
        self.query_one("#found", Page).show(lambda width: looked_for(seen, width) if none else servers(seen, at, width))
        commands = [one for one in commands_of(self.app) if one.scope == "search" or one.id == "quit"]
        usable = [one for one in commands if not (none and one.id in {"search-up", "search-down", "search-open"})]
        rows = tuple((one.shown, one.title, one.help) for one in usable if one.id not in {"search-up", "search-down"})
        self.query_one("#keys", Page).show(lambda width: choices(rows, width))
        pairs = tuple((one.shown, one.title) for one in usable)
        self.query_one("#footer", Bar).show(lambda width: (footer(pairs, width),))

    def action_move(self, step: int) -> None:
        """Point at another server."""
        self._at = max(0, min(len(self._seen.servers) - 1, self._at + step))
        self._paint()

    def action_open(self) -> None:
        """The console on the server that is pointed at."""
        if self._pointed is not None:
            self.post_message(self.Chosen(Choice("server", server=self._pointed)))

    def action_again(self) -> None:
        """Look now."""
        self.post_message(self.Again())

    def action_demo(self) -> None:
        """A simulated server."""
        self.post_message(self.Chosen(Choice("demo")))

    def action_guide(self) -> None:
        """The lessons."""
        self.post_message(self.Chosen(Choice("guide")))

    def action_type(self) -> None:
        """An address, or the path of a log."""
        asked = AskScreen[tuple[str]](
            "An address or a log",
            "",
            self._target,
            example="http://gpu7:30000, :30000 or /var/log/sglang.log",
            hint="⏎ opens it · esc leaves",
            longest=LONGEST,
        )
        self.app.push_screen(asked, self._typed)

    def _target(self, text: str) -> tuple[str] | str:
        wanted = text.strip()
        return self._refused(wanted) or (wanted,)

    def _typed(self, target: tuple[str] | None) -> None:
        if target is not None:
            self.post_message(self.Chosen(Choice("target", target=target[0])))
