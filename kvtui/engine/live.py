"""A running server as one source: its log, its endpoints, the GPUs and the host, merged into one frame a tick.

Each of them fails alone and comes back by itself; the frame is made from the newest reading of each, and each reading
carries its own time. The log is the better history where it is read: it prints every decode tick, pages show some.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.events import Event
from kvtui.domain.frame import Frame
from kvtui.domain.gpu import GpuReading
from kvtui.domain.health import SourceHealth
from kvtui.domain.host import HostReading
from kvtui.domain.http_reading import HttpReading, shifted
from kvtui.domain.live_boot import Said, boot_of, same_server
from kvtui.domain.notice import Notice
from kvtui.domain.process import FoundServer
from kvtui.engine.follower import RESTING_S, Follower, LogLike, Readable, Resting, ended, within
from kvtui.engine.history import History
from kvtui.engine.interruptions import ClockWatch
from kvtui.engine.notices import notices
from kvtui.engine.shift import Shift
from kvtui.engine.starts import Starts, stretch
from kvtui.engine.starts import within as events_of
from kvtui.ports import Clock

FIRST_WAIT_S: Final = 1.5
"""How long the first frame waits for a first reading, so that it is not empty."""
BESIDE_LOG_S: Final = 2.0
"""Seconds between two pages at least while a log tells each second what runs."""
LOG_WAIT_S: Final = 30.0
"""How long one look waits for a log to be read whole."""
EVENTS_KEPT: Final = 2_000
JUMPS_KEPT: Final = 8


class LiveSource:
    """``ports.Source`` over all that can be asked of one running server."""

    name = "server"
    every = 1.0

    def __init__(
        self,
        clock: Clock,
        *,
        log: LogLike | None = None,
        http: Resting[HttpReading] | None = None,
        gpus: Readable[GpuReading] | None = None,
        host: Readable[HostReading] | None = None,
        found: FoundServer | None = None,
        finder: Readable[FoundServer] | None = None,
        local_offset: float = 0.0,
        uptime: Callable[[], float] | None = None,
        notes: tuple[str, ...] = (),
        relog: Callable[[FoundServer], LogLike | None] | None = None,
    ) -> None:
        """``local_offset``: this machine's seconds ahead of UTC; ``notes``: what discovery has to say.

        ``finder`` looks for the server's processes again; ``uptime``: see ``ClockWatch``. ``relog``: the log of processes
        that write it elsewhere than those before, which may be the log that is read; None where it cannot be read.
        """
        self._clock, self._found, self._notes = clock, found, notes
        self._news = asyncio.Event()
        self._shift = Shift(local_offset)
        self._history = History()
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._wanted = -1
        self._closed = False
        self._pages, self._least = http, 0.0
        self._closely, self._logged = True, False
        self._log_source = log
        self._log = Follower[Frame](log, clock, self._news, self._took_log) if log is not None else None
        self._http = Follower[HttpReading](http, clock, self._news, self._took_http) if http is not None else None
        self._gpus = Follower[GpuReading](gpus, clock, self._news) if gpus is not None else None
        self._host = Follower[HostReading](host, clock, self._news) if host is not None else None
        self._finder = Follower[FoundServer](finder, clock, self._news, self._took_found) if finder is not None else None
        self._jumps: deque[Notice] = deque(maxlen=JUMPS_KEPT)
        self._watch = ClockWatch(clock, self._jumped, uptime)
        self._watching: asyncio.Task[None] | None = None
        self._starts, self._said = Starts(), Said()
        self._relog = relog
        self._old: asyncio.Task[None] | None = None

    def _took_log(self, frame: Frame) -> None:
        self._logged = any(health.state == "live" for health in frame.sources)
        self._shift.seen(frame.now, self._clock.now(), fresh=self._logged)
        self._pace_pages()

    def _took_http(self, reading: HttpReading) -> None:
        shift = self._shift.seconds
        self._history.extend(reading.rows, shift)
        self._events.extend(replace(event, at=event.at + shift) if event.at is not None else event for event in reading.events)
        if self._starts.took(reading, self._found, shift) and self._finder is not None:
            self._finder.poke()

    def _took_found(self, found: FoundServer) -> None:
        before, self._found = self._found, found
        if before is None or before.log == found.log:
            return
        fresh = self._relog(found) if self._relog is not None else None
        if fresh is None:
            why = f": {found.log.note}" if found.log.note else ""
            note = f"The server was started anew and writes its log elsewhere, where it is not read{why}."
        else:
            note = f"The server was started anew and writes its log elsewhere: {found.log.name or found.log.kind} is read now."
            self._follow_log(fresh)
        self._notes = tuple(dict.fromkeys((note, *self._notes)))

    def _follow_log(self, log: LogLike) -> None:
        """Read this log from now on; the one before is let go of, unless it is the same that goes on."""
        if log is self._log_source:
            if self._log is not None:
                self._log.poke()
            return
        if self._log is not None:
            self._old = asyncio.ensure_future(self._log.close())
        self._log_source = log
        self._log = Follower[Frame](log, self._clock, self._news, self._took_log)
        self._log.start()

    def _jumped(self, notice: Notice, by: float) -> None:
        self._jumps.append(notice)
        if by < 0 and notice.at is not None:
            end = notice.at + self._shift.seconds
            self._events = deque((event for event in self._events if event.at is None or event.at <= end), maxlen=EVENTS_KEPT)

    async def read(self) -> Frame:
        """The newest of everything as one frame; after ``close`` what was known then."""
        if self._closed:
            return self._frame()
        first = not any(f is not None and f.newest is not None for f in self._followers())
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch.run())
        for follower in (*self._followers(), self._finder):
            if follower is not None:
                follower.start()
        if first:
            await within(FIRST_WAIT_S, self._first_readings())
        return self._frame()

    async def settle(self, seconds: float) -> Frame:
        """For one look: until every endpoint was tried and two pages came, and the log was read; at most ``seconds`` for the server."""
        await self.read()
        await within(seconds, self._settled())
        if self._log is not None:
            await within(LOG_WAIT_S, self._log_read())
        return self._frame()

    async def watch(self, seconds: float) -> Frame:
        """For a longer look: all that comes in ``seconds``."""
        await self.read()
        left = seconds
        while left > 0:
            await self._clock.sleep(min(self.every, left))
            left -= self.every
        return self._frame()

    async def _settled(self) -> None:
        while self._http is not None:
            reading = self._http.newest
            if reading is not None and reading.settled:
                return
            self._news.clear()
            await self._news.wait()

    async def _log_read(self) -> None:
        while self._log is not None:
            frame = self._log.newest
            if frame is not None and all(health.state != "waiting" for health in frame.sources):
                return
            self._news.clear()
            await self._news.wait()

    async def _first_readings(self) -> None:
        """Until the log or the server has answered once."""
        while not any(f is not None and f.newest is not None for f in (self._log, self._http)):
            self._news.clear()
            await self._news.wait()

    def _followers(
        self,
    ) -> tuple[Follower[Frame] | None, Follower[HttpReading] | None, Follower[GpuReading] | None, Follower[HostReading] | None]:
        return (self._log, self._http, self._gpus, self._host)

    def _frame(self) -> Frame:
        log = self._log.newest if self._log is not None else None
        http = self._http.newest if self._http is not None else None
        gpus = self._gpus.newest if self._gpus is not None else None
        host = self._host.newest if self._host is not None else None
        if log is not None and log.finished and self._http is None:
            return log
        # The frame has one clock, the log's: what was read on the wall clock is moved to it.
        shift = self._shift.seconds
        http = shifted(http, shift) if http is not None else None
        gpus = replace(gpus, at=_moved(gpus.at, shift), health=gpus.health.shifted(shift)) if gpus is not None and shift else gpus
        host = replace(host, at=_moved(host.at, shift), health=host.health.shifted(shift)) if host is not None and shift else host
        base = log if log is not None else Frame(now=None, finished=False)
        base = self._with_boots(base, http)
        base = self._with_history(base, http)
        now = self._clock.now() + shift
        jumps = (replace(jump, at=_moved(jump.at, shift)) for jump in self._jumps)
        said = notices(http, jumps, now)
        failed = (health.reason for health in http.health if health.state == "failed") if http is not None else ()
        told = (*(http.notes if http is not None else ()), *(gpus.notes if gpus is not None else ()))
        notes = (*self._notes, *(notice.text for notice in said), *failed, *told, *base.notes)
        return replace(
            base,
            now=max(now, base.now or now),
            finished=False,
            sources=self._health(log, http, gpus, host),
            notes=tuple(dict.fromkeys(notes)),
            http=http,
            gpus=gpus,
            host=host,
            found=self._found,
            notices=said,
        )

    def _with_boots(self, base: Frame, http: HttpReading | None) -> Frame:
        """The newest boot with the server's own answers laid over it; a boot of its own where the log has none that fits."""
        if not base.boots:
            alone = boot_of(http, self._found)
            return base if alone is None else self._starts.with_boots(base, alone, self._wanted)
        newest = base.boots[-1]
        if not same_server(newest, http):
            note = "The log's pool is not that of the running server: it is the log of another start. The server's own numbers are used."
            alone = boot_of(http, self._found)
            if alone is None:
                return base
            added: Boot = replace(alone, index=len(base.boots))
            chosen = len(base.boots) if self._wanted in {-1, len(base.boots)} else base.chosen
            return replace(base, boots=(*base.boots, added), chosen=chosen, notes=(*base.notes, note))
        return replace(base, boots=self._said.over(base.boots, http, self._found))

    def _with_history(self, base: Frame, http: HttpReading | None) -> Frame:
        """Pages of metrics as the history, where no log gives batch lines of the boot that is shown."""
        newest_shown = not base.boots or base.chosen in {-1, len(base.boots) - 1}
        logged = bool(base.counts.lines)
        if http is None or (logged and not newest_shown):
            return base
        silent = not len(base.timeline)
        if not silent and base.sources and base.sources[0].state in {"live", "ended"}:
            return base
        pages = self._history.view()
        if not len(pages):
            return base
        if not logged and len(base.boots) > 1:
            lines = tuple(stretch(boot, pages) for boot in base.boots)
            base = replace(base, timelines=lines)
            if not newest_shown:
                return replace(base, timeline=lines[base.chosen], sampled=True, events=events_of(base.boots[base.chosen], self._events))
        # What the log told of retractions is in the pages' counters too.
        other = (event for event in base.events if event.kind != "retract") if self._events else base.events
        return replace(base, timeline=pages, sampled=True, events=(*other, *self._events))

    def _health(
        self, log: Frame | None, http: HttpReading | None, gpus: GpuReading | None, host: HostReading | None
    ) -> tuple[SourceHealth, ...]:
        named = (("log", self._log), ("server", self._http), ("nvml", self._gpus), ("host", self._host))
        waiting = [
            SourceHealth(name, "", "failed" if follower.broken else "waiting", follower.broken or "has not answered yet")
            for name, follower in named
            if follower is not None and (follower.broken or follower.newest is None)
        ]
        shift = self._shift.seconds
        read = (health.shifted(shift, both=False) for health in log.sources) if log is not None else ()
        told = [*read, *(http.health if http is not None else ())]
        told += [reading.health for reading in (gpus, host) if reading is not None]
        return (*told, *waiting)

    def look(self, *, closely: bool) -> None:
        """Nobody looks, or somebody does again: what the driver, the host and the log say later is not lost."""
        self._closely = closely
        for follower in (self._log, self._gpus, self._host):
            if follower is not None:
                follower.look(closely=closely)
        self._pace_pages()

    def _pace_pages(self) -> None:
        # Without a log that is followed the pages are the history; beside one they add what the log does not tell.
        least = (BESIDE_LOG_S if self._closely else RESTING_S) if self._logged else 0.0
        if self._pages is not None and least != self._least:
            self._least = least
            self._pages.rest(least)

    def choose(self, boot: int) -> None:
        """Show another start from the next frame on."""
        self._wanted = boot
        if self._log_source is not None and self._log is not None:
            self._log_source.choose(boot)
            self._log.poke()

    async def close(self) -> None:
        """End every task and let go of every source, all at once."""
        self._closed = True
        if self._log_source is not None:
            # Now, not at the next turn of the loop, which a terminal that is being restored may hold up.
            self._log_source.stop()
        ends = [follower.close() for follower in (*self._followers(), self._finder) if follower is not None]
        tasks = [task for task in (self._watching, self._old) if task is not None]
        await asyncio.gather(*ends, *(ended(task) for task in tasks), return_exceptions=True)


def _moved(at: float | None, seconds: float) -> float | None:
    return None if at is None else at + seconds
