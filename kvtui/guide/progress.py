"""Progress as plain data, for a file; a file that someone edited is read with the same distrust as a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from kvtui.guide.lesson import Lesson
from kvtui.guide.play import Mark, Play

SCHEMA: Final = 1
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What is remembered of one lesson."""

    at: int = 0
    marks: Mapping[str, Mark] = field(default_factory=lambda: MappingProxyType({}))
    finished: bool = False
    """Ended at least once."""


Progress = Mapping[str, Kept]
"""By lesson id."""


def keep(progress: Progress, play: Play) -> Progress:
    """The progress with this play in it."""
    before = progress.get(play.lesson.id, Kept())
    ended = play.step is None
    kept = Kept(play.at, play.marks, finished=before.finished or ended)
    return MappingProxyType({**progress, play.lesson.id: kept})


def resume(lesson: Lesson, progress: Progress) -> Play:
    """The lesson where it was left; one that ended begins anew, and so does one whose steps have changed."""
    kept = progress.get(lesson.id)
    if kept is None or not 0 <= kept.at < len(lesson.steps):
        return Play(lesson)
    ids = {step.id for step in lesson.steps}
    play = Play(lesson, kept.at, MappingProxyType({name: mark for name, mark in kept.marks.items() if name in ids}))
    # A question before this step that is not answered: the lesson is another one than it was.
    first = next((i for i, step in enumerate(lesson.steps[: kept.at]) if step.ask is not None and not play.mark(step).done), kept.at)
    return replace(play, at=first)


def following(lessons: Sequence[Lesson], progress: Progress) -> Lesson:
    """The lesson that was begun and not ended, else the first that was never ended, else the first."""
    begun = [lesson for lesson in lessons if (kept := progress.get(lesson.id)) and not kept.finished and kept.at > 0]
    fresh = [lesson for lesson in lessons if not (progress.get(lesson.id, Kept())).finished]
    return (begun or fresh or list(lessons))[0]


def dumped(progress: Progress) -> dict[str, object]:
    """For a JSON file."""
    return {
        "schema": SCHEMA,
        "lessons": {
            name: {
                "at": kept.at,
                "finished": kept.finished,
                "steps": {step: [mark.tries, mark.hints, mark.done, mark.told] for step, mark in kept.marks.items()},
            }
            for name, kept in progress.items()
        },
    }


def loaded(data: object) -> Progress:
    """From what a JSON file held; whatever is not as ``dumped`` writes it is left out."""
    lessons = data.get("lessons") if isinstance(data, dict) and data.get("schema") == SCHEMA else None
    if not isinstance(lessons, dict):
        return MappingProxyType({})
    found = {str(name)[:80]: kept for name, told in list(lessons.items())[:100] if (kept := _kept(told)) is not None}
    return MappingProxyType(found)


def _kept(told: object) -> Kept | None:
    if not isinstance(told, dict):
        return None
    at, steps = told.get("at"), told.get("steps")
    if not _count(at) or not isinstance(at, int) or not isinstance(steps, dict):
        return None
    marks = {str(name)[:80]: mark for name, row in list(steps.items())[:100] if (mark := _mark(row)) is not None}
    return Kept(at, MappingProxyType(marks), finished=told.get("finished") is True)


def _mark(row: object) -> Mark | None:
    if not isinstance(row, list) or len(row) != 4:
        return None
    tries, hints, done, told = row
    if not (_count(tries) and _count(hints) and isinstance(done, bool) and isinstance(told, bool)):
        return None
    return Mark(tries, hints, done, told)


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
