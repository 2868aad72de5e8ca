"""Situations as data, and what a server in them would print: for demos, lessons, tests and pictures. Pure.

Made with the twin where its scheduler shows them, by hand elsewhere. Nothing here knows a rule or a parser: what comes
out is text, so that rules and incidents share no assumption.
"""

from kvtui.scenarios.box import Box, Draft
from kvtui.scenarios.build import EPOCH, build
from kvtui.scenarios.catalogue import SCENARIOS
from kvtui.scenarios.player import Player
from kvtui.scenarios.situation import STRENGTHS, Decor, Incident, Machine, Scenario, Situation, Strength
from kvtui.scenarios.start import Start, start_of

__all__ = [
    "EPOCH",
    "SCENARIOS",
    "STRENGTHS",
    "Box",
    "Decor",
    "Draft",
    "Incident",
    "Machine",
    "Player",
    "Scenario",
    "Situation",
    "Start",
    "Strength",
    "build",
    "start_of",
]
