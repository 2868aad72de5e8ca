"""What every screen of the console is: something that a view state can be shown on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from kvtui.present.state import ViewState


class StateScreen(Screen[None]):
    """A screen that follows the view state."""

    def show(self, state: ViewState) -> None:
        """Bring the state to the screen; called with each new analysis and after each key that changes it."""
        raise NotImplementedError
