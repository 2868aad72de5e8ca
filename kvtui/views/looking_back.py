"""What the verdicts were before: worked out beside the screen, when a person first looks back or the strip needs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.app import App

if TYPE_CHECKING:
    from kvtui.domain.frame import Analysis
    from kvtui.views.session import Session


def goes_further_back(analysis: Analysis) -> bool:
    """True where a running server has samples from before what its verdicts rest on: since when they hold is not told by them."""
    from kvtui.domain.workload import WINDOW_S

    frame = analysis.frame
    if frame.finished or frame.now is None:
        return False
    span = frame.timeline.span
    return span is not None and frame.now - span[0] > WINDOW_S


class LookingBackApp(App[None]):
    """The part of the console that knows the past; the rest is ``kvtui.app``."""

    @property
    def _session(self) -> Session:
        raise NotImplementedError

    def _paint(self) -> None:
        raise NotImplementedError

    def look_back(self) -> None:
        """Judge what came before, once a start; the screens show it as soon as it is there."""
        analysis = self._session.unjudged()
        if analysis is not None:
            # A group of its own: the command palette cancels the default one.
            self.run_worker(self._look_back(analysis), name="past", group="past")

    async def _look_back(self, analysis: Analysis) -> None:
        from kvtui.diagnose.earlier import periods_of

        self._session.recall(analysis, await asyncio.to_thread(periods_of, analysis))
        self._paint()
