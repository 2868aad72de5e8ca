"""What the screen is given to play lessons: the lessons, the progress, and the way to a stage and to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvtui.guide.lesson import Lesson
from kvtui.guide.play import Play
from kvtui.guide.progress import Progress
from kvtui.ports import DemoFeed


@dataclass(frozen=True, slots=True)
class Shelf:
    """All lessons, in order, and the one to begin with."""

    lessons: tuple[Lesson, ...]
    progress: Progress
    play: Play
    open_stage: Callable[[str, float], DemoFeed]
    """A feed for a scenario at a speed; may take a second, so it is called off the screen's thread."""
    keep: Callable[[Progress], str]
    """Write the progress; returns why it could not be written, or an empty string."""
