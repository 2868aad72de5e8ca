"""From a source to the screen: read at the source's own interval, analyse, hand over what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from kvtui.diagnose.steady import HOLD_S, Steady, advance
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.periods import Periods, dated, extended
from kvtui.engine.follower import RESTING_S
from kvtui.ports import Clock, Source


class SourceFeed:
    """``ports.Feed`` over one source.

    A frame equal in content to the last one is not analysed again: a finished log costs nothing.
    """

    def __init__(
        self,
        source: Source,
        clock: Clock,
        analyse: Callable[[Frame], Analysis],
        *,
        hold_s: float = HOLD_S,
        at_once: Callable[[Frame], Analysis | None] | None = None,
    ) -> None:
        """``hold_s``: seconds that a finding on a running server must last before it is shown.

        ``at_once``: a quick look, asked first with each frame; it gives the analysis, or None where ``analyse`` is to make it.
        """
        self._hold_s = hold_s
        self._source = source
        self._clock = clock
        self._analyse, self._at_once = analyse, at_once
        self._last: Frame | None = None
        self._least = 0.0
        self._poked = asyncio.Event()
        self._steady = Steady()
        self._shown: tuple[int, int, float | None] | None = None
        self._periods: Periods = ()

    async def next(self) -> Analysis:
        """The newest analysis that differs from the last one given."""
        while True:
            if self._last is not None:
                await self._pause()
            frame = await self._source.read()
            if self._last is not None and _same(frame, self._last):
                self._last = frame
                continue
            self._last = frame
            quick = self._at_once(frame) if self._at_once is not None else None
            # A long log takes tens of milliseconds to judge: keys must not wait for it.
            return self._steadied(quick if quick is not None else await asyncio.to_thread(self._analyse, frame))

    def _steadied(self, analysis: Analysis) -> Analysis:
        """The verdicts of a server that runs, held until they last; a finished log is judged over its own span."""
        frame = analysis.frame
        if frame.start != self._shown:
            self._steady, self._shown, self._periods = Steady(), frame.start, ()
        if frame.now is None or (frame.finished and not self._periods):
            return analysis
        findings = analysis.findings
        if not frame.finished:
            self._steady = advance(self._steady, findings, frame.now, hold_s=self._hold_s)
            findings = self._steady.shown
        self._periods = extended(self._periods, findings, frame.now)
        return replace(analysis, findings=dated(findings, self._periods), periods=self._periods)

    async def _pause(self) -> None:
        """Until the next read is due, or another boot is asked for."""
        sleeping = asyncio.ensure_future(self._clock.sleep(max(self._source.every, self._least)))
        poked = asyncio.ensure_future(self._poked.wait())
        try:
            await asyncio.wait({sleeping, poked}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            poked.cancel()
        self._poked.clear()

    def choose(self, boot: int) -> None:
        """Show another boot with the next analysis."""
        self._source.choose(boot)
        self._poked.set()

    def look(self, *, closely: bool) -> None:
        """Analyses each ``RESTING_S`` while nobody looks; the next at once where somebody does again."""
        self._least = 0.0 if closely else RESTING_S
        self._source.look(closely=closely)
        if closely:
            self._poked.set()

    async def close(self) -> None:
        """Let go of the source."""
        await self._source.close()


def _same(new: Frame, old: Frame) -> bool:
    """True where nothing a person could see has changed."""
    return (
        new.counts == old.counts
        and new.chosen == old.chosen
        and new.finished == old.finished
        and len(new.boots) == len(old.boots)
        and new.notes == old.notes
        and new.http is old.http
        and new.gpus is old.gpus
        and new.host is old.host
        and tuple((s.name, s.state, s.reason) for s in new.sources) == tuple((s.name, s.state, s.reason) for s in old.sources)
    )
