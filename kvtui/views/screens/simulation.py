"""The twin at work on one trial: it runs beside the keys, and is told to stop when the screen is left."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

from kvtui.domain.reading import Missing
from kvtui.options.simulate import run
from kvtui.present.simulation import simulation_lines
from kvtui.views.screens.text import TextScreen

if TYPE_CHECKING:
    from kvtui.options.simulate import Simulated
    from kvtui.options.trial import Trial
    from kvtui.present.state import ViewState


class SimulationScreen(TextScreen):
    """Before and after; the load is the one of the moment it was opened."""

    def __init__(self, title: str, trial: Trial | Missing, state: ViewState | None) -> None:
        super().__init__("Simulation", lambda _state, width: simulation_lines(title, self._result, width), state)
        self._trial = trial
        self._result: Simulated | Missing | None = trial if isinstance(trial, Missing) else None
        self._left = threading.Event()

    @property
    def done(self) -> bool:
        """True once there is a result to read."""
        return self._result is not None

    def on_mount(self) -> None:
        """The words first, then the work."""
        super().on_mount()
        if self._result is None:
            self.run_worker(self._play(), name="twin", group="twin")

    def on_unmount(self) -> None:
        """Nobody waits for it any more."""
        self._left.set()

    async def _play(self) -> None:
        trial = self._trial
        if isinstance(trial, Missing):
            return
        try:
            self._result = await asyncio.to_thread(run, trial, self._left.is_set)
        except (ArithmeticError, ValueError) as error:
            # What was read is hostile: figures that no scheduler can have end the twin, not the console.
            self._result = Missing(f"the figures that were read cannot be played ({type(error).__name__})")
        if self._state is not None and self.is_mounted:
            self.show(self._state)
