"""A simulator of SGLang's scheduler at the granularity of steps. Pure, and deterministic by seed.

``simulate`` plays a demand on a server and yields its states, ``summarise`` says what they come to, ``replay`` does
both for several seeds; ``Twin`` is the same thing to be driven step by step.
"""

from kvtui.twin.demand import UNSET, Demand, Lengths, Shape, TwinRequest
from kvtui.twin.scheduler import Twin
from kvtui.twin.setup import Server, StepTimes
from kvtui.twin.simulate import advance, simulate
from kvtui.twin.state import Outcome, StepState
from kvtui.twin.summary import Quantiles, Summary, replay, spread, summarise

__all__ = [
    "UNSET",
    "Demand",
    "Lengths",
    "Outcome",
    "Quantiles",
    "Server",
    "Shape",
    "StepState",
    "StepTimes",
    "Summary",
    "Twin",
    "TwinRequest",
    "advance",
    "replay",
    "simulate",
    "spread",
    "summarise",
]
