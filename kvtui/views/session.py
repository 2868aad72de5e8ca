"""What the person at the screen is looking at: the what-if, the plan, the cursor, the pause. No Textual here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from kvtui.diagnose.earlier import looked_back
from kvtui.domain.buckets import axis
from kvtui.domain.estimate import Estimate
from kvtui.domain.frame import Analysis
from kvtui.domain.periods import Periods
from kvtui.domain.plan import Plan
from kvtui.domain.samples import Timeline
from kvtui.domain.saved_plan import SavedPlan, followed
from kvtui.options.registry import estimates as levers
from kvtui.options.stated import Stated, what_would_it_take
from kvtui.present.aside import account_at
from kvtui.present.figures import fraction as shown
from kvtui.present.order import steady
from kvtui.present.plan_pane import combined, context_at
from kvtui.present.readings import finite, reason
from kvtui.present.server import LINE_SPAN, SPAN
from kvtui.present.state import ViewState

LOWEST: Final = 0.01
HIGHEST: Final = 0.999

Estimates = Callable[[Analysis, float | None], tuple[Estimate, ...]]


def parse_fraction(text: str) -> float | str:
    """A typed fraction: ``0.93``, ``.93``, ``93`` or ``93 %``; else a sentence that says what is wrong."""
    typed = text.strip().removesuffix("%").strip().replace(",", ".")
    if len(typed) > 12:
        return "a number between 0 and 1 is needed, such as 0.93"
    try:
        value = float(typed)
    except ValueError:
        return "a number between 0 and 1 is needed, such as 0.93"
    if math.isfinite(value) and 1 < value < 100:
        value /= 100
    if not math.isfinite(value) or not LOWEST <= value <= HIGHEST:
        return f"a fraction lies between {LOWEST} and {HIGHEST}"
    return round(value, 4)


class Session:
    """Holds the view state and replaces it whole."""

    def __init__(self, estimates: Estimates) -> None:
        self._estimates = estimates
        self._newest: Analysis | None = None
        self.state: ViewState | None = None
        """None until the first analysis."""
        self.keys: Mapping[str, str] = {}
        """Keys that were moved, as they are shown, by their command."""
        self.timelines: dict[int, Timeline] = {}
        """Samples of each boot that was shown, by its index."""
        self._hidden: frozenset[str] = frozenset()
        self._saved: tuple[SavedPlan, ...] = ()
        self._asked: Analysis | None = None
        self._past: Periods | None = None

    @property
    def truth(self) -> Analysis | None:
        """The newest analysis with nothing hidden."""
        return self._newest

    def hide(self, hidden: frozenset[str]) -> None:
        """Leave "verdict" or "options" out of what is shown: a learner is to find them alone."""
        if hidden != self._hidden:
            self._hidden = hidden
            if self.state is not None and self._newest is not None:
                self.state = self._at(replace(self.state, analysis=self._shown(self._newest)), self.state.fraction)

    def forget(self) -> None:
        """Another server follows: nothing of this one is kept."""
        self._newest, self.state = None, None
        self._asked, self._past = None, None
        self.timelines.clear()

    def unjudged(self) -> Analysis | None:
        """The newest analysis, where the time before it is not judged and not being judged; ``recall`` takes the answer."""
        newest = self._newest
        if newest is None or any(source.state == "waiting" for source in newest.frame.sources):
            return None
        if self._asked is not None and self._asked.frame.start == newest.frame.start:
            return None
        self._asked, self._past = newest, None
        return newest

    def recall(self, asked: Analysis, past: Periods) -> None:
        """What the verdicts were before; an answer about a server that is gone is passed over."""
        if asked is self._asked and self.state is not None and self._newest is not None:
            self._past = past
            held = self._newest if self.state.paused_at is None else self.state.analysis
            self.state = replace(self.state, analysis=self._shown(held))

    def _shown(self, analysis: Analysis) -> Analysis:
        if self._past is not None and self._asked is not None and self._asked.frame.start == analysis.frame.start:
            analysis = looked_back(analysis, self._past)
        if "verdict" in self._hidden:
            analysis = replace(analysis, findings=(), periods=())
        return replace(analysis, estimates=()) if "options" in self._hidden else analysis

    def show(self, analysis: Analysis) -> None:
        """Take a new analysis; while paused it is kept for later."""
        self._newest = analysis
        analysis = self._shown(analysis)
        boot = analysis.frame.boot
        if boot is not None:
            self.timelines[boot.index] = analysis.frame.timeline
        if self.state is None:
            self.state = self._at(ViewState(analysis), None)
        elif self.state.paused_at is None:
            self._take(self.state, analysis)

    def _take(self, state: ViewState, analysis: Analysis) -> None:
        if _boot(analysis) != _boot(state.analysis):
            # Another start has another fraction, another pool and other times: a what-if on the old one says nothing about it.
            self.state = self._at(ViewState(analysis, width=state.width, stated=state.stated), None)
        elif _judged_alike(state.analysis, analysis):
            # Only readings are newer: what follows from the judgement is not worked out again each second.
            self.state = replace(state, analysis=analysis, paused_at=None)
        else:
            after = self._at(replace(state, analysis=analysis, paused_at=None), state.fraction)
            self.state = replace(after, estimates=steady(state.estimates, after.estimates))

    def _at(self, state: ViewState, fraction: float | None) -> ViewState:
        what_if = None if fraction is None else account_at(state.analysis.account, fraction)
        moved = replace(state, keys=self.keys, fraction=fraction, what_if=what_if, followed=followed(state.analysis, self._saved))
        if "options" in self._hidden:
            return replace(moved, estimates=(), planned=None, answer=None)
        if moved.stated is None:
            options = state.analysis.estimates if fraction is None else self._estimates(state.analysis, fraction)
            return _with_plan(replace(moved, estimates=options, answer=None))
        context = context_at(moved, fraction)
        options = levers(context)
        return _with_plan(replace(moved, estimates=options, answer=what_would_it_take(context, options, moved.stated)))

    def set_fraction(self, fraction: float | None) -> None:
        """Look at another fraction; today's value or None ends the what-if."""
        if self.state is None:
            return
        today = finite(self.state.analysis.account.fraction)
        same = fraction is not None and today is not None and abs(fraction - today) < 5e-5
        self.state = self._at(self.state, None if same else fraction)

    def nudge(self, change: float) -> str:
        """Change the fraction by a step; returns why that cannot be done, or an empty string."""
        if self.state is None:
            return "nothing has been read yet"
        account = self.state.analysis.account
        base = self.state.fraction if self.state.fraction is not None else finite(account.fraction)
        if base is None:
            return f"today's fraction is unknown ({reason(account.fraction)}); {self.keys.get('type', '=')} types one"
        wanted = round(base + change, 4)
        if not LOWEST <= wanted <= HIGHEST:
            return f"{shown(base)} is as far as it goes"
        self.set_fraction(wanted)
        return ""

    def toggle(self, option: str) -> None:
        """Mark an option for the plan, or take it out."""
        if self.state is not None:
            self.state = _with_plan(replace(self.state, plan=self.state.plan ^ {option}))

    def adopt(self, plan: Plan | None) -> str:
        """Mark the options of a plan and move to its fraction; returns why there is nothing to adopt, or an empty string."""
        if self.state is None or plan is None:
            return "no plan is known to be safe and to gain here"
        self.state = replace(self.state, plan=frozenset(plan.options))
        self.set_fraction(plan.fraction)
        return ""

    def clear_plan(self) -> None:
        """Take every mark out, and go back to today's fraction."""
        if self.state is not None:
            self.state = replace(self.state, plan=frozenset())
            self.set_fraction(None)

    def state_load(self, stated: Stated | None) -> None:
        """Answer for a load that the operator states; None or an empty one: for the measured load."""
        if self.state is not None:
            said = stated if stated is not None and stated != Stated() else None
            self.state = self._at(replace(self.state, stated=said), self.state.fraction)

    def remember(self, plans: tuple[SavedPlan, ...]) -> None:
        """Plans that were kept, oldest first."""
        self._saved = plans
        if self.state is not None:
            self.state = self._at(self.state, self.state.fraction)

    def scrub(self, at: float | None) -> None:
        """Look at another time; None: the newest."""
        if self.state is not None:
            self.state = replace(self.state, cursor=at if at is not None and math.isfinite(at) else None)

    def scrub_by(self, share: float) -> str:
        """Move the cursor by a share of what a chart shows; returns why that cannot be done, or an empty string."""
        if self.state is None:
            return "nothing has been read yet"
        places = axis(self.state.analysis.frame.timeline)
        if places.ends is None:
            return "there are no samples to scrub through"
        first, last = places.ends
        at = (self.state.cursor if self.state.cursor is not None else last) + share * (SPAN if places.kind == "time" else LINE_SPAN)
        self.scrub(None if at >= last else max(first, at))
        return ""

    def today(self) -> None:
        """End the what-if and the scrubbing."""
        self.scrub(None)
        self.set_fraction(None)

    def pause(self) -> None:
        """Hold what is shown still, or go on with the newest."""
        if self.state is None:
            return
        if self.state.paused_at is None:
            now = self.state.analysis.frame.now
            self.state = replace(self.state, paused_at=now if now is not None else math.nan)
        elif self._newest is not None:
            self._take(replace(self.state, paused_at=None), self._shown(self._newest))


def _with_plan(state: ViewState) -> ViewState:
    """What the marks come to, computed once for all panes."""
    return replace(state, planned=combined(state))


def _judged_alike(one: Analysis, other: Analysis) -> bool:
    """True where both carry one judgement: a feed hands it on with newer readings until the next is made."""
    return one.account is other.account and one.estimates is other.estimates and one.workload is other.workload


def _boot(analysis: Analysis) -> int | None:
    boot = analysis.frame.boot
    return boot.index if boot is not None else None
