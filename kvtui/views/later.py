"""What the console needs after its first paint."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.domain.estimate import Estimate
    from kvtui.domain.frame import Analysis


def load_panes() -> None:
    """Import what the first analysis is shown with; blocking."""
    for name in ("session", "widgets.chart"):
        importlib.import_module(f"kvtui.views.{name}")
    for name in ("header", "verdict", "memory", "server", "formula", "options"):
        importlib.import_module(f"kvtui.present.{name}")


def levers(analysis: Analysis, at: float | None) -> tuple[Estimate, ...]:
    """The options at today's fraction or at a what-if; see ``engine.analyse.estimates``."""
    from kvtui.engine.analyse import estimates

    return estimates(analysis, at)
