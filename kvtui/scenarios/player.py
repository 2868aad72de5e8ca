"""Plays a situation: time moves, lines and pages come out. Knows no clock and no text but its own."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final, Literal

from kvtui.domain.gpu import GpuReading
from kvtui.domain.host import HostReading
from kvtui.domain.process import FoundServer
from kvtui.scenarios.around import command_of, found_server, gpu_reading, host_reading
from kvtui.scenarios.box import Box
from kvtui.scenarios.gauges import Totals
from kvtui.scenarios.pages import Pages
from kvtui.scenarios.printing import Printer
from kvtui.scenarios.situation import Situation
from kvtui.scenarios.start import Start, activation_gib, start_of, step_times, twin_server
from kvtui.scenarios.starting import UP_S, forward_failure, heads, prefixes, start_lines
from kvtui.scenarios.wording import stamped
from kvtui.twin import Twin, advance

STEP_S: Final = 1.0
"""Seconds played at a time: pages are exact to this."""
_STOP_S: Final = 4.0
_ACCESS_S: Final = 10.0

Phase = Literal["starting", "up", "down"]


class Player:
    """One server from the start of its log on. ``now``: seconds since ``epoch``, which stamps count from.

    Deterministic: one situation, one seed, one history, however it is cut into calls.
    """

    def __init__(self, situation: Situation, *, seed: int = 0, epoch: float = 0.0) -> None:
        self.situation = situation
        self.epoch = epoch
        self.now = 0.0
        self.phase: Phase = "starting"
        self._seed = seed
        self._rng = Random(seed)  # noqa: S311 - a simulation wants repeatable draws
        self._twins: list[Twin] = []
        self._pending: list[tuple[float, str, str]] = []
        self._lag = 0.0
        """Seconds of ``now`` at which the twins began; they count from there."""
        self._begin(at=0.0)

    @property
    def box(self) -> Box:
        """The server as it is now."""
        return self.situation.box

    @property
    def up_s(self) -> float:
        """When the present start is or was up, in seconds since the epoch of this player."""
        return self._begun + UP_S

    @property
    def frozen(self) -> bool:
        """True where the scheduler of this situation is dead by now."""
        freeze = self.situation.decor.freeze_s
        return freeze is not None and self.now >= self.up_s + freeze

    def advance(self, until: float) -> list[str]:
        """Play on by whole seconds, as far as ``until`` allows; the log lines on the way, in order."""
        lines: list[tuple[float, str, str]] = []
        # Whole seconds, whatever the calls ask for: so that the history does not depend on them.
        while self.now + STEP_S <= until:
            at = self.now + STEP_S
            lines += sorted(self._step(at), key=lambda entry: entry[0])
            self.now = at
        return [text for at, prefix, message in lines for text in self._rendered(at, prefix, message)]

    def page(self) -> str:
        """``/metrics`` now; empty where nothing listens."""
        return self._pages.metrics([p.gauges for p in self._printers], self._totals) if self._listens() else ""

    def loads(self) -> str:
        """``/v1/loads`` now; empty where nothing listens."""
        return self._pages.loads([p.gauges for p in self._printers], self.epoch + self.now) if self._listens() else ""

    def server_info(self) -> str:
        """``/server_info`` now; empty where nothing answers, which includes a scheduler that hangs."""
        return self._pages.server_info(command_of(self.box)) if self._listens() and not self.frozen else ""

    def gpus(self) -> GpuReading:
        """The cards now."""
        busy = self.phase == "up" and any(printer.gauges.running for printer in self._printers)
        alive = None if self.phase == "down" else self.start
        return gpu_reading(self.box, alive, self.situation.machine, self.epoch + self.now, busy=busy)

    def host(self) -> HostReading:
        """The host now."""
        return host_reading(self.box, self.situation.machine, self.epoch + self.now)

    def found(self) -> FoundServer | None:
        """The server's processes; None where they are gone."""
        return None if self.phase == "down" else found_server(self.box)

    def restart(self, situation: Situation) -> None:
        """Stop the server and start it with another box or load. What was in flight waits on, unless the load changed."""
        stop = self.now + (_STOP_S if self.phase == "up" else 0.0)
        self._pending = []
        if self.phase == "up":
            self._pending = [
                (self.now, "", "SIGTERM received. signum=None, frame=None. Draining requests and shutting down..."),
                (stop - 1, "", "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]."),
            ]
        same = situation.demands == self.situation.demands
        self.situation = situation
        self._begin(at=stop, keep=same)

    def _begin(self, *, at: float, keep: bool = False) -> None:
        self._begun, self.phase = at, "starting"
        self.start: Start = start_of(self.box)
        situation, self._totals = self.situation, Totals()
        self._pages = Pages(self.box, self.start, situation.decor)
        self._printers = [Printer(self.box, self.start, situation.decor, self._rng, self._totals) for _ in situation.demands]
        lines = [(at + after, prefix, text) for after, prefix, text in start_lines(self.box, self.start, situation.decor.crash)]
        self._pending += [*lines, *self._hand_made(at + UP_S)]
        self._ranks, self._heads = prefixes(self.box), heads(self.box)
        self._need, self._chunk = activation_gib(self.box), self.box.chunk or 0
        self._dies = bool(self.start.failed or situation.decor.crash)
        self._access_at = at + UP_S
        if not keep:
            self._twins = []

    def _hand_made(self, up: float) -> Iterator[tuple[float, str, str]]:
        for line in self.situation.decor.lines:
            for prefix in prefixes(self.box) if line.every_rank else heads(self.box)[:1]:
                yield up + line.after_s, "bare" if line.bare else prefix, line.text

    def _step(self, until: float) -> list[tuple[float, str, str]]:
        due = [entry for entry in self._pending if entry[0] < until]
        self._pending = [entry for entry in self._pending if entry[0] >= until]
        if self.phase == "starting" and self._dies and not any(entry[0] < self.up_s for entry in self._pending):
            self.phase = "down"
        if self.phase == "starting" and until > self.up_s and not self._dies:
            self._come_up()
        if self.phase != "up":
            return due
        refuse = self.situation.decor.refuse_s
        if refuse is not None and until >= self.up_s + refuse:
            self.phase = "down"
            return due
        return [*due, *([] if self.frozen else self._served(until)), *self._asked(until)]

    def _come_up(self) -> None:
        server, times = twin_server(self.box, self.start), step_times(self.box, self.situation.times)
        self.phase = "up"
        if self._twins:
            for twin in self._twins:
                twin.restart(server, times, down_s=max(0.0, self.up_s - self._lag - twin.now))
        else:
            self._lag = self.up_s
            self._twins = [Twin(server, demand, times, seed=self._seed * 1_000 + i) for i, demand in enumerate(self.situation.demands)]
        for printer, twin in zip(self._printers, self._twins, strict=True):
            printer.begin(twin.now)

    def _served(self, until: float) -> list[tuple[float, str, str]]:
        lines: list[tuple[float, str, str]] = []
        largest = 0
        for prefix, twin, printer in zip(self._heads, self._twins, self._printers, strict=True):
            for state in advance(twin, until - self._lag):
                largest = max(largest, state.new_tokens)
                for at, message in printer.feed(state):
                    ranks = self._ranks[: self.box.tp] if message.startswith("KV cache pool") else [prefix]
                    lines += [(self._lag + at, rank, message) for rank in ranks]
            printer.stamp(self.epoch + until)
        if self.start.available_gib < self._need and largest >= 0.5 * self._chunk > 0:
            lines += [(until, rank, text) for rank, text in forward_failure(self.box, self._heads[0])]
            self.phase = "down"
        return lines

    def _asked(self, until: float) -> list[tuple[float, str, str]]:
        """The HTTP side writes its access lines, whatever the scheduler does."""
        if until - self._access_at < _ACCESS_S:
            return []
        self._access_at = until
        return [(until - 0.5, "", 'INFO:     127.0.0.1:41234 - "GET /metrics HTTP/1.1" 200 OK')]

    def _listens(self) -> bool:
        return self.phase == "up"

    def _rendered(self, at: float, prefix: str, message: str) -> list[str]:
        if prefix == "bare":
            return [message]
        first, *rest = message.split("\n")
        return [stamped(self.epoch + at, prefix, first), *rest]
