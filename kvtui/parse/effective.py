"""What holds in the end: command line before environment before file before default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from kvtui.domain.effective import Effective, Given, Problem
from kvtui.domain.settings import DEFAULTS, Settings, entries_of
from kvtui.parse.setting_value import of_variable
from kvtui.parse.settings_file import SettingsFile
from kvtui.parse.toml_lines import line_of


def effective(file: SettingsFile, environ: Mapping[str, str], given: Given) -> Effective:
    """Lay environment and command line over a file. An empty variable counts as unset."""
    origins = {path: f"line {line_of(file.lines, *path.split('.'))}" for path in file.named}
    changed: dict[str, Any] = {}
    problems = list(file.problems)
    for entry in entries_of(Settings):
        text = environ.get(entry.told.variable, "") if entry.told.variable else ""
        if text:
            value, problem = of_variable(entry.told, text)
            if problem:
                problems.append(Problem(None, problem))
            else:
                changed[entry.name], origins[entry.name] = value, entry.told.variable
    asked = replace(file.asked, **changed)
    settings = DEFAULTS if problems else asked
    return Effective(settings, MappingProxyType(origins), tuple(problems), file.lines, asked).with_given(given)
