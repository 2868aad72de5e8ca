"""Plays lessons as a person would, by keys; for the tests of this folder."""

from __future__ import annotations

import asyncio

from kvtui.guide.facts import Facts
from kvtui.guide.fill import number
from kvtui.guide.play import met
from kvtui.learn import GuideApp
from kvtui.staging import open_shelf
from kvtui.views.screens.guide import GuideScreen
from kvtui.views.widgets.lesson_pane import LessonPane

ENOUGH = 600


class HandClock:
    """Time stands; the feed is woken by what a test does to the server."""

    def __init__(self) -> None:
        self.time = 1_772_000_000.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(60)


def guide_app(lesson, path):
    shelf = open_shelf(lesson, path=path, clock=HandClock())
    return GuideApp(shelf.open_stage(shelf.play.scenario, shelf.play.speed), shelf)


class Player:
    def __init__(self, app, pilot):
        self.app, self.pilot = app, pilot

    @property
    def screen(self) -> GuideScreen:
        return next(s for s in self.app.screen_stack if isinstance(s, GuideScreen))

    @property
    def play(self):
        return self.screen.play

    @property
    def step(self):
        return self.play.step

    async def settle(self):
        await self.pilot.pause()

    async def until(self, condition, what):
        for _ in range(ENOUGH):
            if condition():
                return
            await self.pilot.pause(0.02)
        raise AssertionError(f"{self.play.lesson.id}, step {self.step.id if self.step else 'end'}: {what} never came")

    async def ready(self):
        """The figures of the step are there."""
        await self.until(lambda: self.screen._facts is not None and self.app.view_state is not None, "an analysis")
        await self.settle()

    async def press(self, *keys):
        await self.pilot.press(*keys)
        await self.settle()

    async def fraction(self, value):
        """As after = and a number; the keys have a test of their own."""
        self.app._typed(value)
        await self.settle()

    @property
    def live(self) -> Facts:
        return self.screen._now()

    async def wrong(self):
        """Every wrong answer of the open question, one after the other; gives what was said to each."""
        ask, said = self.step.ask, []
        if ask.kind == "choose":
            for index, choice in enumerate(ask.choices):
                if not choice.right:
                    await self.press(str(index + 1), "enter")
                    said.append((self.play.feedback.text, self.play.feedback.right))
        elif ask.kind == "number":
            for value in [*(number(m.value, self.screen._facts) for m in ask.mistakes), -987654.0]:
                await self.typed(value)
                said.append((self.play.feedback.text, self.play.feedback.right))
        elif ask.kind == "move":
            for until in ask.until:
                value = self.unmet(until)
                await self.fraction(value)
                await self.press("enter")
                said.append((self.play.feedback.text, self.play.feedback.right))
        else:
            await self.press("enter")
            said.append((self.play.feedback.text, self.play.feedback.right))
        return said

    def unmet(self, until):
        """A fraction at which this condition is the first that is not met."""
        facts, ask = self.live, self.step.ask
        for hundredth in range(70, 98):
            at = Facts(facts.analysis, hundredth / 100)
            first = next((one for one in ask.until if not met(one, at)), None)
            if first == until:
                return hundredth / 100
        raise AssertionError(f"no fraction fails {until}")

    async def typed(self, value):
        """As typed; the keys have a test of their own."""
        self.screen.pane.entry = f"{value:.4f}"
        await self.press("enter")

    async def right(self):
        ask = self.step.ask
        if ask.kind == "choose":
            await self.press(str(next(i for i, c in enumerate(ask.choices) if c.right) + 1), "enter")
        elif ask.kind == "number":
            await self.typed(number(ask.answer, self.screen._facts))
        elif ask.kind == "move":
            facts = self.live
            grid = (h / 100 for h in range(70, 98))
            await self.fraction(next(f for f in grid if all(met(u, Facts(facts.analysis, f)) for u in ask.until)))
            await self.press("enter")
        else:
            await self.do()
        assert self.play.feedback.right, (self.play.lesson.id, self.step.id, self.play.feedback)

    async def do(self):
        """Lesson 5 gets more clients, lesson 8 another fraction; both wait for what comes of it."""
        asked = self.step.ask.until
        if asked[0].fact == "boots" and not met(asked[0], self.live):
            if self.play.lesson.id == "safe-change":
                await self.fraction(0.91)
            else:
                await self.to_option("client-concurrency")
                await self.press("space")
            await self.press("A")
        for _ in range(ENOUGH):
            if all(met(one, self.live) for one in asked):
                break
            self.app._demo.step(10.0)
            await self.pilot.pause(0.05)
        await self.until(lambda: all(met(one, self.live) for one in asked), "what was to be done")
        if not isinstance(self.app.focused, LessonPane):
            await self.press("G")
        await self.press("enter")

    async def to_option(self, wanted):
        pane = self.screen.query_one("#options")
        pane.focus()
        await self.settle()
        for _ in range(30):
            if pane.pointed == wanted:
                return
            await self.press("down")
        raise AssertionError(f"no option {wanted}")
