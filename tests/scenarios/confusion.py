"""The confusion table: what the rules say of each labelled situation, from its log alone and from its metrics alone.

``python tests/scenarios/confusion.py [ID ...] [--seeds N ...] [-v]`` prints it, and with several seeds the score of each.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass

from kvtui.diagnose.context import context_of
from kvtui.diagnose.registry import diagnose
from kvtui.domain.accounting import account
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Frame
from kvtui.domain.http_reading import Failure, HttpReading
from kvtui.domain.reading import Missing
from kvtui.domain.samples import SampleStore
from kvtui.engine.analyse import EMPTY_BOOT, analyse
from kvtui.parse.exposition import wanted_lines
from kvtui.parse.loads import read_loads
from kvtui.parse.logreader import LogReader
from kvtui.parse.server_info import read_server_info
from kvtui.scenarios import SCENARIOS, Incident, Scenario, build
from kvtui.sources.exposition_reader import PageReader
from kvtui.sources.server_memory import ServerMemory

_SLOW_S = 60.0


@dataclass(frozen=True)
class Verdicts:
    scenario: Scenario
    strength: str
    view: str
    findings: tuple[Finding, ...]

    @property
    def got(self) -> str:
        """What is compared: the first of the scenario's axis; of banners any that is expected."""
        ids = [finding.id for finding in self.findings if self.scenario.axis in {"banner", finding.axis}]
        if self.scenario.axis == "banner":
            return next((name for name in ids if name in self.scenario.expected), ids[0] if ids else "-")
        # A loud banner comes before the axis' own verdict, and must not stand where a limit is expected.
        return ids[0] if ids else "-"

    @property
    def primary(self) -> str:
        """The verdict that stands first, whatever its axis."""
        return self.findings[0].id

    @property
    def right(self) -> bool:
        return self.got in self.scenario.expected and set(self.scenario.also) <= {finding.id for finding in self.findings}

    @property
    def wrong_ids(self) -> list[str]:
        never, named = self.scenario.never, [finding.id for finding in self.findings]
        wrong = [name for name in never if name == self.got]
        if "healthy" in never and "healthy" in named:
            wrong.append("healthy")
        if "healthy" in self.scenario.expected:
            wrong += [f.id for f in self.findings if f.id in never and f.confidence != "low" and f.axis == "concurrency"]
        return wrong


def log_frame(incident: Incident) -> Frame:
    """The log as a finished file, with the machine beside it where that is told."""
    reader = LogReader()
    reader.feed([line.encode() for line in incident.log.rstrip("\n").split("\n")])
    reading = reader.reading()
    return Frame(
        now=reading.now, finished=True, boots=reading.boots, timeline=reading.timelines[-1], timelines=reading.timelines,
        events=reading.events[-1], counts=reading.counts, gpus=incident.gpus, host=incident.host, found=incident.found,
    )  # fmt: skip


def metrics_frame(incident: Incident) -> Frame:
    """The pages as a live server's, without any log."""
    memory, pages, store, events = ServerMemory(), PageReader(), SampleStore(), []
    asked = -_SLOW_S
    failures: dict[str, Failure] = {}
    at = incident.pages[0][0]
    if incident.server_info:
        memory.info = read_server_info(json.loads(incident.server_info), at)
    for (at, text), (_, loads) in zip(incident.pages, incident.loads, strict=True):
        if not text:
            failures["metrics"] = Failure("refused", "nothing listens")
            memory.went_away(at)
            continue
        failures.clear()
        memory.page(pages.scrape(wanted_lines(text.encode()), at, memory.release))
        if memory.loads_are_free or at - asked >= _SLOW_S:
            asked = at
            found = read_loads(json.loads(loads), at)
            assert not isinstance(found, Missing)
            memory.loads(found, alone=False)
        rows, news = memory.drain()
        store.extend(rows)
        events += news
    http = HttpReading(now=at, target="http://127.0.0.1:30000", model=Missing("not asked"), health=(), failures=failures, **memory.told())
    return Frame(
        at, False, timeline=store.view(), events=tuple(events), http=http, gpus=incident.gpus, host=incident.host, found=incident.found
    )


def judge(scenario: Scenario, strength: str, seed: int = 0) -> list[Verdicts]:
    """The findings of every view that can show the scenario."""
    incident = build(scenario, strength, seed=seed)
    found = []
    for view in scenario.views:
        if view == "log":
            findings = analyse(log_frame(incident)).findings
        else:
            findings = diagnose(context_of(metrics_frame(incident), account(EMPTY_BOOT)))
        found.append(Verdicts(scenario, strength, view, findings))
    return found


def table(ids: list[str] | None = None, seed: int = 0) -> list[Verdicts]:
    """Every scenario in every strength and view."""
    chosen = [SCENARIOS[name] for name in ids] if ids else list(SCENARIOS.values())
    return [verdicts for scenario in chosen for strength in scenario.strengths for verdicts in judge(scenario, strength, seed)]


def grid(rows: list[Verdicts]) -> str:
    """Situation by verdict, one line a situation: how often each verdict came, from each view."""
    lines = ["| situation | expected | from the log | from the metrics |", "|---|---|---|---|"]
    for name in dict.fromkeys(row.scenario.id for row in rows):
        mine = [row for row in rows if row.scenario.id == name]
        cells = []
        for view in ("log", "metrics"):
            got = Counter(row.got + ("" if row.right and not row.wrong_ids else " ✗") for row in mine if row.view == view)
            cells.append(", ".join(f"{verdict} {count}" for verdict, count in got.items()) or "–")
        lines.append(f"| {name} | {' or '.join(mine[0].scenario.expected)} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("-v", "--verbose", action="store_true")
    asked = parser.parse_args(arguments)
    scores = []
    for seed in asked.seeds:
        rows = table(asked.ids, seed)
        print(grid(rows))
        for row in rows:
            if asked.verbose or not row.right or row.wrong_ids:
                named = ", ".join(f"{f.id}{'?' if f.confidence == 'low' else ''}" for f in row.findings)
                print(f"{row.scenario.id} {row.strength} {row.view}: {named}: {row.findings[0].sentence}")
        right = sum(row.right for row in rows)
        wrong = sum(bool(row.wrong_ids) for row in rows)
        scores.append(f"seed {seed}: {right}/{len(rows)} right ({right / len(rows):.1%}), {wrong} with a verdict that is wrong")
    print("\n".join(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
