"""Typing a load and a goal."""

from __future__ import annotations

from kvtui.options.stated import Stated
from kvtui.options.stated_text import EXAMPLE, LONGEST, parse_stated
from kvtui.views.screens.ask import AskScreen


def _parse(text: str) -> Stated | str:
    return parse_stated(text) if text.strip() else Stated()


class LoadScreen(AskScreen[Stated]):
    """Gives the load that was typed; an empty one ends the statement."""

    def __init__(self, typed: str) -> None:
        super().__init__(
            "The load, and a goal (900 tok/s, 10 s wait)",
            typed,
            _parse,
            example=EXAMPLE,
            hint="⏎ the options answer for it · an empty line: as measured · esc leaves",
            longest=LONGEST,
        )
