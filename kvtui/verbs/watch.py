"""``kvtui report --watch``: one line a change until somebody ends it, over the same feed as the console's."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from kvtui.engine.clock import WallClock
from kvtui.engine.follower import within
from kvtui.present.watch import change_json, change_text, changes, ended, limited, settled
from kvtui.sources.opening import comes_to_an_end
from kvtui.verbs.shared import EXIT_HEALTHY, EXIT_LIMITED, EXIT_UNREADABLE
from kvtui.wiring import open_feed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.domain.frame import Analysis
    from kvtui.ports import Clock, Feed
    from kvtui.present.watch import Change, Told
    from kvtui.wiring import Request

SETTLE_S: Final = 30.0
"""How long the first line waits until every source was tried, and a long log was read."""
LOOK_S: Final = 1.0
"""Seconds between two looks whether anybody still reads the lines."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GONE: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL


def watch(request: Request, form: str, seconds: float | None) -> int:
    """Print what is so now and then every change, ``form`` json or text, for ``seconds`` or until a signal; gives the exit status.

    What is piped in, and a packed file, is read to its end. Raises sources.errors.Unreadable where the target cannot be used.
    """
    feed = open_feed(request)
    word = change_text if form == "text" else partial(_json, request.shown)
    watching = Watching(feed, WallClock(), word, ends=isinstance(request.target, str) and comes_to_an_end(request.target))
    asyncio.run(_bounded(watching, feed, seconds))
    return watching.status


def _json(target: str, change: Change, at: float) -> str:
    return json.dumps(change_json(change, at, target), ensure_ascii=False, allow_nan=False)


class Watching:
    """Tells the changes of one feed; ``ends``: True where the end of the log is the end of the watch."""

    def __init__(self, feed: Feed, clock: Clock, word: Callable[[Change, float], str], *, ends: bool) -> None:
        self._feed, self._clock, self._word, self._ends = feed, clock, word, ends
        self._told: Told | None = None
        self.newest: Analysis | None = None

    @property
    def status(self) -> int:
        """The exit status that the newest verdict has."""
        if self.newest is None or not self.newest.frame.boots:
            return EXIT_UNREADABLE
        return EXIT_LIMITED if limited(self.newest) else EXIT_HEALTHY

    async def run(self) -> None:
        """Until the feed's end, where it has one. Raises BrokenPipeError where nobody reads any more."""
        await within(SETTLE_S, self._settle())
        self.tell()
        while not (self._ends and self.newest is not None and ended(self.newest.frame)):
            self.newest = await self._feed.next()
            self.tell()

    async def _settle(self) -> None:
        while self.newest is None or not settled(self.newest.frame):
            self.newest = await self._feed.next()

    def tell(self) -> None:
        """Print what the newest analysis has of news."""
        if self.newest is None:
            return
        found, self._told = changes(self._told, self.newest)
        for change in found:
            sys.stdout.write(self._word(change, self._clock.now()) + "\n")
            sys.stdout.flush()

    def untold(self) -> bool:
        """True where not even the first line was printed."""
        return self._told is None


async def _bounded(watching: Watching, feed: Feed, seconds: float | None) -> None:
    """Watch until its end, a signal, the time is over, or nobody reads any more."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Outside the main thread there are no signals to take.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in SIGNALS:
            # What nohup or a shell has this process ignore stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, stop.set)
    tasks = [asyncio.ensure_future(part) for part in (watching.run(), stop.wait(), _unread())]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    await feed.close()
    broken = tasks[2].done() and not tasks[2].cancelled()
    try:
        if watching.untold() and not broken:
            watching.tell()
        for error in told:
            if isinstance(error, Exception):
                raise error
    except BrokenPipeError:
        broken = True
    if broken:
        _let_go()


async def _unread() -> None:
    """Ends once nobody reads standard output; without a line to write nothing else would tell."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # no descriptor behind it
        await asyncio.Event().wait()
    clock = WallClock()
    while not any(event & _GONE for _, event in poll.poll(0)):
        await clock.sleep(LOOK_S)


def _let_go() -> None:
    """What is still buffered goes nowhere: the interpreter would complain of it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
