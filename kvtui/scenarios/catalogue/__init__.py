"""All scenarios by id: every verdict of ``domain.finding`` at least once, and what looks alike and is not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kvtui.scenarios.catalogue.concurrency import CONCURRENCY
from kvtui.scenarios.catalogue.standing import STANDING
from kvtui.scenarios.catalogue.steps import STEPS
from kvtui.scenarios.situation import Scenario

__all__ = ["SCENARIOS"]

SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType({scenario.id: scenario for scenario in (*CONCURRENCY, *STEPS, *STANDING)})
