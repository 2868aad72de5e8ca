"""What the app does about what-ifs, time and plans: the fraction, marks, the cursor, simulating, saving, a stated load."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kvtui.views.keyed import key_of
from kvtui.views.looking_back import LookingBackApp
from kvtui.views.screens.text import TextScreen

# As in the app: what is planned with is imported where it is used, so that the first paint does not wait for it.
if TYPE_CHECKING:
    from kvtui.domain.plan import Plan
    from kvtui.domain.saved_plan import SavedPlan
    from kvtui.options.stated import Stated
    from kvtui.ports import PlanShelf
    from kvtui.present.state import ViewState
    from kvtui.views.messages import Mark, Scrub, Simulate
    from kvtui.views.session import Session


class PlanningApp(LookingBackApp):
    """The part of the console that plans; the rest is ``kvtui.app``."""

    shelf: PlanShelf | None = None
    """Where plans are kept; None: nowhere."""

    @property
    def _session(self) -> Session:
        raise NotImplementedError

    def _tell(self, problem: str) -> None:
        if problem:
            self.notify(problem, severity="warning", markup=False, timeout=4)

    def _paint(self) -> None:
        raise NotImplementedError

    def action_nudge(self, change: float) -> None:
        """Move the fraction of the what-if."""
        self._tell(self._session.nudge(change))
        self._paint()

    def action_type_fraction(self) -> None:
        """Ask for a fraction."""
        from kvtui.present.figures import fraction
        from kvtui.views.screens.fraction import FractionScreen

        state = self._session.state
        start = fraction(state.fraction) if state is not None and state.fraction is not None else "0."
        self.push_screen(FractionScreen(start), self._typed)

    def _typed(self, wanted: float | None) -> None:
        if wanted is not None:
            self._session.set_fraction(wanted)
            self._paint()

    def action_today(self) -> None:
        """Back to today's fraction and to the newest sample."""
        self._session.today()
        self._paint()

    def action_best_plan(self) -> None:
        """Mark what is proposed as the best safe plan; a second time takes it out again."""
        from kvtui.present.plan_pane import proposed

        state = self._session.state
        if state is not None and state.plan:
            self._session.clear_plan()
        else:
            self._tell(self._session.adopt(proposed(state) if state is not None else None))
        self._paint()

    def on_mark(self, message: Mark) -> None:
        """An option goes into the plan or out of it."""
        if message.estimate.applies:
            self._session.toggle(message.estimate.id)
            self._paint()
        else:
            self._tell("this option does nothing here; it cannot be planned")

    def action_scrub(self, share: float) -> None:
        """Move the time cursor by a share of what a chart shows."""
        self.look_back()
        self._tell(self._session.scrub_by(share))
        self._paint()

    def on_scrub(self, message: Scrub) -> None:
        """A chart asks for a time."""
        self._session.scrub(message.at)
        self._paint()

    def action_pause(self) -> None:
        """Hold still, or go on."""
        self._session.pause()
        self._paint()

    def action_simulate(self) -> None:
        """Play the plan on the twin; today alone where nothing is marked."""
        self._simulate(None)

    def on_simulate(self, message: Simulate) -> None:
        """Play one option, or the plan that it is part of."""
        self._simulate(message.option)

    def _simulate(self, option: str | None) -> None:
        from kvtui.present.simulation import subject
        from kvtui.views.screens.simulation import SimulationScreen

        state = self._session.state
        if state is None:
            self._tell("nothing has been read yet")
        elif not isinstance(self.screen, TextScreen):
            title, trial = subject(state, option)
            self.push_screen(SimulationScreen(title, trial, state))

    def action_state_load(self) -> None:
        """Ask for a load and a goal."""
        from kvtui.options.stated_text import stated_text
        from kvtui.views.screens.load import LoadScreen

        state = self._session.state
        if state is None:
            self._tell("nothing has been read yet")
            return
        self.push_screen(LoadScreen(stated_text(state.stated) if state.stated is not None else ""), self._load_stated)

    def _load_stated(self, stated: Stated | None) -> None:
        from kvtui.present.stated import stated_lines

        if stated is None:
            return
        self._session.state_load(stated)
        self._paint()
        state = self._session.state
        if state is not None and state.stated is not None:
            self.push_screen(TextScreen("What would it take?", stated_lines, state))

    def action_save_plan(self) -> None:
        """Keep the plan, so that the next start can be compared with it."""
        from kvtui.present.plan_pane import planned

        state = self._session.state
        plan = planned(state) if state is not None else None
        if state is None or plan is None:
            mark, best = key_of(self, "mark"), key_of(self, "best-plan")
            self._tell(f"nothing is marked for a plan: {mark} marks an option, {best} marks the best safe plan")
        elif plan.conflicts:
            self._tell(f"the plan's parts do not go together: {plan.conflicts[0].why}")
        elif self.shelf is None:
            self._tell("there is no place to keep a plan here")
        else:
            self.run_worker(self._keep(self.shelf, _kept(state, plan)), name="save", group="save")

    async def _keep(self, shelf: PlanShelf, kept: SavedPlan) -> None:
        try:
            place = await asyncio.to_thread(shelf.save, kept)
        except Exception as error:  # noqa: BLE001 (a shelf says in one sentence why it could not)
            self._tell(str(error))
            return
        told = "after the restart kvtui shows predicted beside actual"
        if not kept.checkable:
            told = "it has no launch flag, so kvtui cannot see whether it was carried out; the next start is compared with it"
        self.notify(f"saved in {place}; {told}", markup=False, timeout=6)

    async def _remember(self) -> None:
        """What was kept earlier; a folder on a slow disk must not hold up the first paint."""
        if self.shelf is not None:
            plans = await asyncio.to_thread(self.shelf.load)
            if plans:
                self._session.remember(plans)
                self._paint()


def _kept(state: ViewState, plan: Plan) -> SavedPlan:
    """What is kept of the plan on the screen, for the load that its figures hold for."""
    from kvtui.domain.saved_plan import saved_plan
    from kvtui.options.stated_text import stated_text
    from kvtui.present.plan_pane import context_at

    if state.stated is None:
        return saved_plan(state.analysis, plan)
    return saved_plan(state.analysis, plan, stated_text(state.stated), context_at(state, None).workload)
