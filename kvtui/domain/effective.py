"""The settings that hold for one run, and what is wrong with those that were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kvtui.domain.settings import DEFAULTS, Settings

Given = Mapping[str, tuple[Any, str]]
"""Value and option of each setting that the command line gives, by its name."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    line: int | None
    """Of the file; None where it is not the file's."""
    text: str
    """A sentence without its stop; nothing of it is taken over from the file unseen."""


@dataclass(frozen=True, slots=True)
class Effective:
    """The settings, and where each comes from."""

    settings: Settings = DEFAULTS
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Of each setting that is not at its default, by its path: a variable, an option, or the line of the file."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with file and environment; with any, the settings must not be used."""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=lambda: MappingProxyType({}))
    """Of the file, by table and name."""
    asked: Settings = DEFAULTS
    """What file and environment ask for, as far as that is right: for whoever judges the rest of it."""

    def line(self, *path: str) -> int | None:
        """Where the file sets it; where it sets what holds it, for what has no line of its own."""
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)

    def with_given(self, given: Given) -> Effective:
        """With what the command line gives, which goes before everything else."""
        if self.problems or not given:
            return self
        settings = replace(self.settings, **{name: value for name, (value, _) in given.items()})
        origins = {**self.origins, **{name: option for name, (_, option) in given.items()}}
        return replace(self, settings=settings, origins=MappingProxyType(origins))
