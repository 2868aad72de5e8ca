"""Typing a fraction."""

from __future__ import annotations

from kvtui.views.screens.ask import AskScreen
from kvtui.views.session import parse_fraction


class FractionScreen(AskScreen[float]):
    """Gives the fraction that was typed."""

    replaces = True

    def __init__(self, typed: str) -> None:
        super().__init__(
            "mem_fraction_static",
            typed,
            parse_fraction,
            example="0.93 or 93",
            hint="⏎ shows it in every pane · esc leaves",
            longest=12,
        )
