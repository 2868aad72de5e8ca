"""What the lesson pane shows, as plain data: texts with their figures filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from kvtui.guide.facts import Facts
from kvtui.guide.fill import fill
from kvtui.guide.lesson import Ask, Lesson
from kvtui.guide.play import RIGHT, Feedback, Mark, Play, result

ChoiceState = Literal["open", "pointed", "right"]
_BACK: Final = "{key:card-back} back"
_ASKED: Final = f"{{key:hint}} hint · {_BACK}"
GO_ON: Final = f"{{key:card-reply}} go on · {_BACK} · {{key:lesson}} hide"
KEYS: Final = {
    "choose": f"{{key:card-up}}{{key:card-down}} · {{key:card-reply}} answer · {_ASKED}",
    "number": f"0–9 · {{key:card-reply}} answer · {_ASKED}",
    "move": f"{{key:lower}}{{key:raise}} · {{key:card-reply}} done · {_ASKED}",
    "do": f"{{key:card-reply}} done · {_ASKED}",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One card."""

    lesson: str
    place: str
    """Which lesson it is, and how far."""
    title: str
    paragraphs: tuple[str, ...]
    question: str = ""
    choices: tuple[tuple[str, ChoiceState], ...] = ()
    entry: str | None = None
    """What was typed; None: nothing is to be typed."""
    hints: tuple[str, ...] = ()
    feedback: Feedback | None = None
    keys: str = GO_ON
    """Which key does what, apart by " · ", the most needed first; the keys are still to be named, as in the texts."""

    @property
    def heading(self) -> str:
        """Place and lesson in one line."""
        return f"{self.place} · {self.lesson}"


def card(play: Play, facts: Facts | None, *, pointed: int = 0, entry: str = "") -> Card:
    """The card of the step, or of the lesson's end. ``pointed``: the choice under the pointer. ``entry``: what was typed."""
    step = play.step
    if step is None:
        return _end(play)
    lesson, place = play.lesson.title, f"Lesson {play.lesson.number} · {play.at + 1} of {len(play.lesson.steps)}"
    paragraphs = tuple(fill(part, facts) for part in step.text.split("\n"))
    ask = step.ask
    if ask is None:
        return Card(lesson, place, step.title, paragraphs)
    mark = play.mark(step)
    feedback = play.feedback
    if feedback is None and mark.done:
        feedback = Feedback(right=True, text=fill(ask.after, facts), opening="" if mark.told else RIGHT)
    return Card(
        lesson=lesson,
        place=place,
        title=step.title,
        paragraphs=paragraphs,
        question=fill(ask.question, facts),
        choices=_choices(ask, mark, facts, pointed),
        entry=entry if ask.kind == "number" and not mark.done else None,
        hints=tuple(fill(text, facts) for text in ask.hints[: mark.hints]),
        feedback=feedback,
        keys=GO_ON if mark.done else KEYS[ask.kind],
    )


def _choices(ask: Ask, mark: Mark, facts: Facts | None, pointed: int) -> tuple[tuple[str, ChoiceState], ...]:
    def state(index: int, *, right: bool) -> ChoiceState:
        if mark.done:
            return "right" if right else "open"
        return "pointed" if index == pointed else "open"

    return tuple((fill(choice.text, facts), state(index, right=choice.right)) for index, choice in enumerate(ask.choices))


def _end(play: Play) -> Card:
    found = result(play)
    lines = [f"{found.first_time} of {found.asked} questions right at the first try."]
    if found.tries or found.hints:
        lines.append(f"{_counted(found.tries, 'wrong answer')}, {_counted(found.hints, 'hint')}, {_counted(found.told, 'answer')} told.")
    for step in play.lesson.steps:
        mark = play.mark(step)
        if step.ask is not None and (mark.tries or mark.told):
            lines.append(f"Worth another look: {step.title}")
    lines.append("Nothing is hidden any more: look around, or go on with the next lesson.")
    return Card(
        lesson=play.lesson.title,
        place=f"Lesson {play.lesson.number} · the end",
        title="Done",
        paragraphs=tuple(lines),
        keys="{key:card-reply} next lesson · {key:again} again · {key:quit} quit",
    )


def listed(lesson: Lesson) -> str:
    """One line for a list of lessons."""
    return f"{lesson.number}  {lesson.title} ({lesson.minutes} min): {lesson.summary}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {noun}s"
