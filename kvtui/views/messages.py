"""What panes ask of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from kvtui.domain.estimate import Estimate


class Mark(Message):
    """Put an option into the plan, or take it out."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate


class Detail(Message):
    """Open what there is to know about an option."""

    def __init__(self, estimate: Estimate) -> None:
        super().__init__()
        self.estimate = estimate


class Copy(Message):
    """Copy a text to the clipboard of the terminal."""

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__()
        self.text = text
        self.said = said or text
        """What is said of it: the text itself, unless it is long."""


class Choose(Message):
    """Show another boot."""

    def __init__(self, boot: int) -> None:
        super().__init__()
        self.boot = boot
        """Index into ``Frame.boots``."""


class Scrub(Message):
    """Look at another time."""

    def __init__(self, at: float | None) -> None:
        super().__init__()
        self.at = at
        """Seconds on the source's clock, or None: the newest."""


class Simulate(Message):
    """Play an option, or the plan that it is part of, on the twin."""

    def __init__(self, option: str | None) -> None:
        super().__init__()
        self.option = option
