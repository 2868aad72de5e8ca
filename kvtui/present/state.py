"""What a pane is painted from: one analysis, and what the person at the screen is looking at.

Pane models are made from this by pure functions, so that an equal model means that nothing has to
be painted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kvtui.domain.account import WhatIf
from kvtui.domain.estimate import Estimate
from kvtui.domain.frame import Analysis

if TYPE_CHECKING:
    # The state is needed before the first paint; levers are not.
    from kvtui.domain.plan import Plan
    from kvtui.domain.saved_plan import Followed
    from kvtui.options.stated import Answer, Stated

WidthClass = Literal["narrow", "normal", "wide"]
"""``narrow``: one pane at a time; ``normal``: four panes; ``wide``: four panes with room for charts."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """What all panes show; replaced whole, never changed."""

    analysis: Analysis
    fraction: float | None = None
    """``mem_fraction_static`` of the what-if, or None: today's."""
    plan: frozenset[str] = frozenset()
    """Ids of the options marked for the plan."""
    cursor: float | None = None
    """Time scrubbed to, in seconds on the source's clock, or None: the newest."""
    width: WidthClass = "normal"
    what_if: WhatIf | None = None
    """The account at ``fraction``; None exactly where ``fraction`` is None."""
    estimates: tuple[Estimate, ...] = ()
    """Options at ``fraction`` (today's where that is None), best first."""
    planned: Plan | None = None
    """What ``plan`` comes to at ``fraction``; None where nothing is marked."""
    stated: Stated | None = None
    """The load that the operator stated; ``estimates`` and ``planned`` are for it."""
    answer: Answer | None = None
    """What the stated load would take; None where none is stated."""
    followed: Followed | None = None
    """A saved plan that this start carries out, beside what came of it."""
    paused_at: float | None = None
    """Where reading was frozen, on the source's clock; None: not paused."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys that were moved, as they are shown, by their command."""

    def key(self, command: str, delivered: str) -> str:
        """The key that a hint names: ``delivered``, unless the command was moved to another."""
        return self.keys.get(command, delivered)
