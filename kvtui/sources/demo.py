"""A simulated server as a source: the same readers, the same frame, no GPU and no network.

Time is the player's own: it moves with the clock at a chosen speed, stands, or goes by steps. The log is printed by the
player and read by the reader of real logs; pages likewise. Nothing here knows what is wrong with the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.frame import Frame
from kvtui.domain.health import SourceHealth
from kvtui.domain.live_boot import Said
from kvtui.domain.samples import EMPTY_TIMELINE
from kvtui.parse.logreader import LogReader, LogReading
from kvtui.ports import Clock
from kvtui.scenarios import SCENARIOS, Player, Scenario
from kvtui.scenarios.player import STEP_S
from kvtui.sources.demo_changes import changed
from kvtui.sources.demo_page import DemoHttp

DEFAULT_SCENARIO: Final = "founding-kimi"
SLOWEST: Final = 1.0
FASTEST: Final = 60.0
_HISTORY_S: Final = 150.0
"""Seconds of load that were before the console opened, so that it has something to judge."""
_MOST_AT_ONCE_S: Final = 600.0
"""A console that slept does not play the night in one read."""
_LOOKS: Final = 10
"""Pages a read at most: at 60x a page each six seconds."""
_DETAIL: Final = 8_000
_COARSE: Final = 3_000


def demo_list() -> tuple[tuple[str, str], ...]:
    """Names and titles of what can be played, the default first."""
    return tuple((scenario.id, scenario.title) for scenario in SCENARIOS.values() if scenario.demo)


def demo_scenario(name: str | None) -> Scenario:
    """A scenario by name; the default for None. Raises ValueError, with one sentence, for an unknown one."""
    found = SCENARIOS.get(name or DEFAULT_SCENARIO)
    if found is None:
        raise ValueError(f"There is no demo named {str(name)[:40]!r}; kvtui --demo list names them.")
    return found


class DemoSource:
    """``ports.Source`` over a simulated server. Deterministic: one scenario, one seed, one history.

    ``speed``: seconds of the server a second of the clock, 1 to 60. ``named``: False where a learner is to find out what is
    wrong, so that neither the scenario's name nor its story is said. Raises ValueError for an unknown scenario or speed.
    """

    name = "demo"
    every = 1.0

    def __init__(self, scenario: str | Scenario | None, clock: Clock, *, speed: float = 1.0, seed: int = 0, named: bool = True) -> None:
        self.scenario = scenario if isinstance(scenario, Scenario) else demo_scenario(scenario)
        self._clock = clock
        self._named = named
        self._speed, self._paused = SLOWEST, False
        situation = self.scenario.make("plain")
        self._wall = clock.now()
        history = min(_HISTORY_S, self.scenario.seconds)
        self._player = Player(situation, seed=seed)
        before = self._player.up_s + history
        self._player.epoch = float(int(self._wall - before))
        self._reader = LogReader(detail=_DETAIL, coarse=_COARSE)
        self._http, self._said = DemoHttp(), Said()
        self._owed = 0.0
        """Seconds of the server that are still to be played."""
        self._chosen = -1
        self._frame: Frame | None = None
        self.speed = speed
        self._play(before)

    @property
    def speed(self) -> float:
        """Seconds of the server a second of the clock."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not SLOWEST <= value <= FASTEST:
            raise ValueError("The demo runs at 1 to 60 times the speed of the clock.")
        self._catch_up()
        self._speed = value

    @property
    def paused(self) -> bool:
        """True while time stands."""
        return self._paused

    @property
    def now(self) -> float:
        """The simulated time, seconds since the epoch."""
        return self._player.epoch + self._player.now

    @property
    def up(self) -> bool:
        """True while the server serves; false while it starts and once it has failed."""
        return self._player.phase == "up"

    def pause(self) -> None:
        """Let time stand."""
        self._catch_up()
        self._paused = True

    def resume(self) -> None:
        """Let time run again."""
        self._catch_up()
        self._paused = False

    def step(self, seconds: float = 1.0) -> None:
        """Go on by some seconds, at most ten minutes, at the next read; also while time stands."""
        self._owed = min(_MOST_AT_ONCE_S, self._owed + max(0.0, seconds))

    def apply(self, changes: Mapping[str, Scalar]) -> dict[str, str]:
        """Restart the server with other settings: names of server arguments or flags; None takes one back.

        Also ``clients`` and ``max_new_tokens`` of the load, and ``free_other_processes``. A start may fail, as in life: the
        log says why, and the next ``apply`` may put it right. Gives what was left out, with a sentence each; raises
        ValueError, with one sentence, where nothing can be played.
        """
        after, left = changed(self._player.situation, changes)
        self._catch_up()
        self._play(self._owed)
        self._player.restart(after)
        self._chosen = -1
        self._frame = None
        return left

    def look(self, *, closely: bool) -> None:
        """Nothing is spared: no server is asked."""

    def choose(self, boot: int) -> None:
        """Show another start from the next read on."""
        self._chosen = boot
        self._frame = None

    async def read(self) -> Frame:
        """The simulated server now."""
        self._catch_up()
        if self._owed >= STEP_S or self._frame is None:
            self._play(self._owed)
            self._frame = self._made()
        return self._frame

    async def close(self) -> None:
        """Nothing is held."""

    def _catch_up(self) -> None:
        """Turn the clock's time into the server's; a clock that was set back owes nothing."""
        now = self._clock.now()
        if not self._paused:
            self._owed = min(_MOST_AT_ONCE_S, self._owed + max(0.0, now - self._wall) * self._speed)
        self._wall = now

    def _play(self, seconds: float) -> None:
        """The whole seconds of it; the rest is owed on."""
        player, end = self._player, self._player.now + seconds
        stride = max(STEP_S, seconds // _LOOKS)
        while player.now + STEP_S <= end:
            lines = player.advance(min(end, player.now + stride))
            self._reader.feed([line.encode() for line in lines])
            self._http.look(player)
        self._owed = end - player.now

    def _made(self) -> Frame:
        reading, now = self._reader.reading(), self.now
        http, gpus, host, found = self._http.reading(now), self._player.gpus(), self._player.host(), self._player.found()
        boots = self._said.over(reading.boots, *((http, found) if self.up else (None, None)))
        chosen = self._chosen if -len(boots) <= self._chosen < len(boots) else -1
        log = SourceHealth(
            "log", f"the simulated server {self.scenario.id if self._named else ''}".rstrip(), "live", "", None, reading.now, simulated=True
        )
        return Frame(
            now=now,
            finished=False,
            boots=boots,
            chosen=chosen,
            timeline=reading.timelines[chosen] if boots else EMPTY_TIMELINE,
            timelines=reading.timelines,
            events=reading.events[chosen] if boots else (),
            counts=reading.counts,
            sources=(log, *http.health, gpus.health, host.health),
            notes=(*self._notes(reading), *(failure.reason for failure in dict.fromkeys(http.failures.values()))),
            http=http,
            gpus=gpus,
            host=host,
            found=found,
        )

    def _notes(self, reading: LogReading) -> tuple[str, ...]:
        pace = "time stands" if self._paused else f"time runs at {self._speed:g}×"
        told = f"Demo: {self.scenario.title}. {self.scenario.story} " if self._named else ""
        return (f"{told}A simulation; {pace}.", *reading.notes)
