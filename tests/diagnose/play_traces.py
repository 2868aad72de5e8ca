"""Plays recorded metrics pages and ``/v1/loads`` answers into a frame without any log, up to the end of the label's window.

``python tests/diagnose/play_traces.py FOLDER`` prints each labelled run's verdict from metrics alone beside its label.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kvtui.domain.answers import ServerInfo
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Frame
from kvtui.domain.http_reading import Failure, HttpReading
from kvtui.domain.live_boot import boot_of
from kvtui.domain.reading import Missing
from kvtui.domain.samples import SampleStore
from kvtui.engine.analyse import analyse
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.loads import read_loads
from kvtui.parse.server_info import read_server_info
from kvtui.sources.exposition_reader import PageReader
from kvtui.sources.server_memory import ServerMemory

_SLOW_S = 60.0
SHIFT_S = 7200.0
"""The clock of the samples runs ahead of the wall clock, as in a log of another time zone."""


def runs(folder: Path) -> list[Path]:
    """Labelled runs with metrics."""
    return [d for d in sorted(folder.iterdir()) if (d / "label.json").exists() and _file(d, "metrics.jsonl") is not None]


def label_of(run: Path) -> dict:
    return json.loads((run / "label.json").read_text())


def _file(run: Path, name: str) -> Path | None:
    return next((path for path in (run / name, run / f"{name}.gz") if path.exists()), None)


def _records(run: Path, name: str) -> Iterator[dict]:
    path = _file(run, name)
    if path is None:
        return
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def _info(run: Path, name: str, at: float) -> ServerInfo | Missing:
    path = run / name
    return read_server_info(json.loads(path.read_text()), at) if path.exists() else Missing("not recorded")


class Player:
    """One run, record after record."""

    def __init__(self, run: Path) -> None:
        self.label = label_of(run)
        self._run = run
        self._memory, self._pages = ServerMemory(), PageReader()
        self._store, self._events = SampleStore(), []
        self._failures: dict[str, Failure] = {}
        self._asked = -_SLOW_S
        self._begun = False
        metrics = [("metrics", record) for record in _records(run, "metrics.jsonl")]
        loads = [("loads", record) for record in _records(run, "loads.jsonl")]
        self.records = sorted((*metrics, *loads), key=lambda entry: entry[1]["t"])

    def frames(self, until: float | None = None) -> Iterator[Frame]:
        """A frame after each page, up to ``until`` seconds after the start of the load."""
        for kind, record in self.records:
            if until is not None and record["t"] > self.label["t0"] + until:
                return
            self._feed(kind, record)
            if kind == "metrics":
                yield self._frame(record["t"])

    def _feed(self, kind: str, record: dict) -> None:
        memory, at = self._memory, float(record["t"])
        if not self._begun:
            self._begun = True
            memory.info = _info(self._run, "server_info_start.json", at)
        if record["status"] != 200:
            self._failures[kind] = Failure("refused", "nothing listens")
            if kind == "metrics":
                memory.went_away(at)
            return
        self._failures.pop(kind, None)
        if kind == "metrics":
            scrape = self._pages.scrape(wanted_lines(record["text"].encode() + b"\n"), at, memory.release)
            if memory.page(scrape):
                memory.info = _info(self._run, "server_info_end.json", at)
        elif memory.loads_are_free or at - self._asked >= _SLOW_S:
            self._asked = at
            loads = read_loads(record["body"], at)
            if not isinstance(loads, Missing):
                memory.loads(loads, alone=False)

    def _frame(self, at: float) -> Frame:
        memory = self._memory
        told = memory.told()
        self._store.extend([{**row, "at": row["at"] + SHIFT_S} for row in told["rows"]])
        self._events += [replace(event, at=event.at + SHIFT_S) for event in told["events"]]
        http = HttpReading(
            now=at, target="http://127.0.0.1:30000", model=Missing("not recorded"), health=(), failures=dict(self._failures), **told
        )
        boot = boot_of(http, None)
        return Frame(
            at + SHIFT_S,
            False,
            (boot,) if boot is not None else (),
            timeline=self._store.view(),
            events=tuple(self._events),
            sampled=True,
            http=http,
        )


def verdicts(frame: Frame) -> tuple[Finding, ...]:
    return analyse(frame).findings


def last_frame(run: Path) -> Frame:
    player = Player(run)
    *_, frame = player.frames(player.label.get("to_s"))
    return frame


def main(folder: Path) -> int:
    right = wrong = total = 0
    for run in runs(folder):
        label = label_of(run)
        found = verdicts(last_frame(run))
        got = found[0].id
        mark = "." if got in label["cause"] else "!" if got in label["verdicts_bad"] else "x"
        right, wrong, total = right + (mark == "."), wrong + (mark == "!"), total + 1
        others = ", ".join(finding.id for finding in found[1:])
        print(f"{mark} {run.name:28} {got:18} [{others}] accepted {', '.join(label['cause'])}")
        if "-v" in sys.argv:
            print(f"    {found[0].sentence}")
    print(f"{right}/{total} right, {wrong} wrong")
    return 1 if wrong or right < total else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
