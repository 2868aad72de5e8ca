"""Builds what plays without a server: the demo's feed, and the shelf of lessons."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from kvtui.domain.settings import DEFAULTS, Settings
from kvtui.engine.analyse import analyse
from kvtui.engine.clock import WallClock
from kvtui.engine.demo_feed import SimulatedFeed
from kvtui.guide.lesson import Lesson
from kvtui.guide.progress import Progress, dumped, following, loaded, resume
from kvtui.guide.schema import read_lesson
from kvtui.guide.shelf import Shelf
from kvtui.ports import Clock, DemoFeed
from kvtui.scenarios import SCENARIOS
from kvtui.sources.demo import DEFAULT_SCENARIO, DemoSource, demo_list, demo_scenario
from kvtui.sources.lesson_files import lesson_tables
from kvtui.sources.state_file import read_state, state_folder, write_state

PROGRESS: Final = "guide.json"


def open_demo(
    scenario: str | None, settings: Settings = DEFAULTS, *, speed: float = 1.0, clock: Clock | None = None, named: bool = True
) -> DemoFeed:
    """A feed on a simulated server; None: the first founding one. ``settings``: of the thresholds. ``named``: as for DemoSource.

    Raises ValueError, with one sentence, for an unknown name.
    """
    time, thresholds = clock or WallClock(), settings.thresholds
    source = DemoSource(demo_scenario(scenario), time, speed=speed, named=named)
    return SimulatedFeed(source, time, partial(analyse, thresholds=thresholds), hold_s=thresholds.persistence_s)


def demo_lines() -> tuple[str, ...]:
    """What can be played, a line each, the default first."""
    rows = sorted(demo_list(), key=lambda row: row[0] != DEFAULT_SCENARIO)
    width = max(len(name) for name, _ in rows)
    return tuple(f"{name:<{width}}  {title}" for name, title in rows)


def lessons() -> tuple[Lesson, ...]:
    """All lessons, in order. Raises ValueError, with one sentence, for one that is not as it should be."""
    found = [read_lesson(table, folder, SCENARIOS) for folder, table in lesson_tables()]
    return tuple(sorted(found, key=lambda lesson: lesson.number))


def saved_progress(path: Path | None = None) -> Progress:
    """What is kept of earlier lessons."""
    return loaded(read_state(path or state_folder() / PROGRESS))


def open_shelf(wanted: str | None, *, path: Path | None = None, clock: Clock | None = None) -> Shelf:
    """The lessons, at the one that was named (by id or number), else where the person left off.

    ``path``: the file that keeps the progress. Raises ValueError, with one sentence, for a lesson that does not exist.
    """
    file = path or state_folder() / PROGRESS
    every, progress = lessons(), saved_progress(file)
    found = following(every, progress) if wanted is None else _named(every, wanted)
    return Shelf(
        lessons=every,
        progress=progress,
        play=resume(found, progress),
        open_stage=lambda scenario, speed: open_demo(scenario, speed=speed, clock=clock, named=False),
        keep=lambda told: write_state(file, dumped(_beside(saved_progress(file), progress, told))),
    )


def _beside(kept: Progress, before: Progress, now: Progress) -> Progress:
    """What the file holds, with what was played here: another console may have written its own lessons meanwhile."""
    return {**kept, **{name: one for name, one in now.items() if one != before.get(name)}}


def _named(every: tuple[Lesson, ...], wanted: str) -> Lesson:
    name = wanted.strip().lower().removeprefix("l") if wanted.strip().lower()[1:].isdigit() else wanted.strip().lower()
    for lesson in every:
        if name in (lesson.id, str(lesson.number)):
            return lesson
    raise ValueError(f"There is no lesson {wanted[:40]!r}; kvtui guide --list names them.")
