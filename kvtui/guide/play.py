"""The step machine: from a reply to feedback, forward and back, hints, and the result. Nothing here knows a screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Union

from kvtui.guide.facts import Facts
from kvtui.guide.fill import fill, number, typed
from kvtui.guide.lesson import Ask, Hidden, Lesson, Step, Until

Reply = Union[int, str, None]
"""Index of a choice, a typed number, or None: "I have done it"."""
NOT_A_NUMBER: Final = "Type a number, such as 259,871 or 260k."
_SLACK: Final = 0.03
"""How near a wrong number must be to be recognised as a known mistake, relative."""
RIGHT: Final = "Right."
_WRONG: Final = {"choose": "Not that.", "number": "Not that.", "move": "Not yet.", "do": "Not yet."}
UNREAD: Final = "Nothing has been read yet: wait a moment."


@dataclass(frozen=True, slots=True)
class Mark:
    """What happened at one step."""

    tries: int = 0
    """Wrong replies."""
    hints: int = 0
    """Hints that were shown."""
    done: bool = False
    told: bool = False
    """True: the answer was given away."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is said to the last reply."""

    right: bool
    text: str
    opening: str = ""
    """The word before the text; empty: no judgement, for what is no reply or was told."""


@dataclass(frozen=True, slots=True)
class Play:
    """One lesson under way; ``at == len(lesson.steps)`` is its end."""

    lesson: Lesson
    at: int = 0
    marks: Mapping[str, Mark] = field(default_factory=lambda: MappingProxyType({}))
    feedback: Feedback | None = None

    @property
    def step(self) -> Step | None:
        """The step, or None at the end."""
        return self.lesson.steps[self.at] if self.at < len(self.lesson.steps) else None

    def mark(self, step: Step) -> Mark:
        """What happened at a step so far."""
        return self.marks.get(step.id, Mark())

    @property
    def waits(self) -> bool:
        """True while the step's question is open."""
        step = self.step
        return step is not None and step.ask is not None and not self.mark(step).done

    @property
    def hidden(self) -> frozenset[Hidden]:
        """What the person must find without being told."""
        found: set[Hidden] = set(self.lesson.hide)
        for step in self.lesson.steps[: self.at + 1]:
            found |= set(step.hide)
            if self.mark(step).done or step is not self.step:
                found -= set(step.reveal)
        return frozenset(found) if self.step is not None else frozenset()

    @property
    def scenario(self) -> str:
        """What is played now."""
        told = [step.scenario for step in self.lesson.steps[: self.at + 1] if step.scenario]
        return told[-1] if told else self.lesson.scenario

    @property
    def speed(self) -> float:
        """Seconds of the server a second."""
        told = [step.speed for step in self.lesson.steps[: self.at + 1] if step.speed]
        return told[-1] if told else 1.0


@dataclass(frozen=True, slots=True)
class Result:
    """How a lesson went."""

    asked: int
    first_time: int
    """Answered at the first try, without being told."""
    tries: int
    hints: int
    told: int


def answer(play: Play, reply: Reply, facts: Facts | None) -> Play:
    """The play after a reply to the open question; unchanged where none is open."""
    step = play.step
    if step is None or step.ask is None or play.mark(step).done:
        return play
    if facts is None:
        return replace(play, feedback=Feedback(right=False, text=UNREAD))
    right, said = _judge(step.ask, reply, facts)
    if right is None:
        return replace(play, feedback=Feedback(right=False, text=said))
    mark = play.mark(step)
    mark = replace(mark, done=True) if right else replace(mark, tries=mark.tries + 1)
    feedback = Feedback(right, fill(said, facts), RIGHT if right else _WRONG[step.ask.kind])
    return replace(play, marks=_with(play, step, mark), feedback=feedback)


def _judge(ask: Ask, reply: Reply, facts: Facts) -> tuple[bool | None, str]:
    """Whether a reply is right, and what is said; None: it is no reply."""
    if ask.kind == "choose":
        if not isinstance(reply, int) or not 0 <= reply < len(ask.choices):
            return None, "Choose one of the answers."
        chosen = ask.choices[reply]
        return chosen.right, " ".join(part for part in (chosen.why, ask.after if chosen.right else "") if part)
    if ask.kind == "number":
        return _judge_number(ask, reply, facts)
    missed = next((until for until in ask.until if not met(until, facts)), None)
    return (True, ask.after) if missed is None else (False, missed.why)


def _judge_number(ask: Ask, reply: Reply, facts: Facts) -> tuple[bool | None, str]:
    value = typed(reply) if isinstance(reply, str) else None
    wanted = number(ask.answer, facts)
    if value is None:
        return None, NOT_A_NUMBER
    if wanted is None:
        return None, UNREAD
    if _near(value, wanted, ask.within):
        return True, ask.after
    for mistake in ask.mistakes:
        bad = number(mistake.value, facts)
        if bad is not None and _near(value, bad, max(ask.within, _SLACK)):
            return False, mistake.why
    return False, ask.otherwise


def _near(value: float, wanted: float, within: float) -> bool:
    return abs(value - wanted) <= max(abs(wanted) * within, 1e-9)


def met(until: Until, facts: Facts) -> bool:
    """True where a condition holds; false where a figure is unknown."""
    found, bound = facts.value(until.fact), number(until.bound, facts)
    if found is None or bound is None:
        return False
    return found >= bound - 1e-9 if until.sense == "at least" else found <= bound + 1e-9


def forward(play: Play) -> Play:
    """To the next step; a question must be answered first."""
    step = play.step
    if step is None or play.waits:
        return play
    marks = play.marks if step.ask is not None else _with(play, step, replace(play.mark(step), done=True))
    return replace(play, at=play.at + 1, marks=marks, feedback=None)


def back(play: Play) -> Play:
    """To the step before; what was answered stays answered."""
    return replace(play, at=max(0, play.at - 1), feedback=None)


def hint(play: Play, facts: Facts | None) -> Play:
    """One more hint; after the last, the answer is told and the step is done."""
    step = play.step
    if step is None or step.ask is None or play.mark(step).done:
        return play
    mark = play.mark(step)
    if mark.hints < len(step.ask.hints):
        return replace(play, marks=_with(play, step, replace(mark, hints=mark.hints + 1)), feedback=None)
    said = fill(f"{told(step.ask)} {step.ask.after}", facts)
    return replace(play, marks=_with(play, step, replace(mark, done=True, told=True)), feedback=Feedback(right=True, text=said))


def told(ask: Ask) -> str:
    """The answer, with placeholders."""
    if ask.kind == "choose":
        return " ".join(f"The answer: {choice.text} {choice.why}" for choice in ask.choices if choice.right)
    if ask.kind == "number":
        shown = ask.answer if ask.answer[:1].isdigit() else f"{{{ask.answer}}}"
        return f"The answer: {shown}{'' if ask.unit == '%' else ' '}{ask.unit}."
    return "Skipped."


def again(play: Play) -> Play:
    """The same lesson from its start."""
    return Play(play.lesson)


def result(play: Play) -> Result:
    """How it went so far."""
    asked = [play.mark(step) for step in play.lesson.steps if step.ask is not None]
    return Result(
        asked=len(asked),
        first_time=sum(1 for mark in asked if mark.done and not mark.tries and not mark.told),
        tries=sum(mark.tries for mark in asked),
        hints=sum(mark.hints for mark in asked),
        told=sum(1 for mark in asked if mark.told),
    )


def _with(play: Play, step: Step, mark: Mark) -> Mapping[str, Mark]:
    return MappingProxyType({**play.marks, step.id: mark})
