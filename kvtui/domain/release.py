"""SGLang releases, and tables of what changed with which release.

SGLang's differences are data: a ``Table`` lists the release from which each value holds. The tables
were measured on the releases in ``MEASURED``; a release between two of them may have either
neighbour's value, so a caller can ask for both (``neighbours``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_PATTERN: Final = re.compile(
    r"v?(?P<base>\d{1,4}\.\d{1,4}\.\d{1,4})(?:\.?(?P<kind>rc|post|dev)(?P<number>\d{1,9}))?(?:\.dev\d{1,9})?(?:[+-][0-9A-Za-z.+_-]{1,80})?",
    re.ASCII,
)
_STAGES: Final = {"dev": -2, "rc": -1, None: 0, "post": 1}


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A release number; ordered as packages are: ``0.5.3rc0 < 0.5.3 < 0.5.3.post1 < 0.5.4``."""

    base: tuple[int, int, int]
    stage: int = 0
    """-2 a development build, -1 a candidate, 0 the release, 1 a post release."""
    number: int = 0
    """Number of the candidate, post release or development build."""

    def __str__(self) -> str:
        suffix = {-2: f".dev{self.number}", -1: f"rc{self.number}", 1: f".post{self.number}"}.get(self.stage, "")
        return ".".join(map(str, self.base)) + suffix


@lru_cache(maxsize=256)
def parse_release(text: str) -> Release | None:
    """A release from text such as ``0.5.10.post1``, ``v0.5.9``, ``0.5.3rc0`` or ``0.5.12.post1+g1a2b``.

    Local and build parts are ignored. None for anything else, such as ``0.5.1x`` or ``main``.
    """
    found = _PATTERN.fullmatch(text.strip()) if len(text) <= 120 else None
    if found is None:
        return None
    major, minor, patch = (int(part) for part in found["base"].split("."))
    kind: str | None = found["kind"]
    return Release((major, minor, patch), _STAGES[kind], int(found["number"] or 0))


MEASURED: Final = tuple(
    Release(base, stage, number)
    for base, stage, number in (
        ((0, 4, 6), 1, 5),
        ((0, 4, 10), 1, 2),
        ((0, 5, 3), 1, 3),
        ((0, 5, 6), 1, 2),
        ((0, 5, 9), 0, 0),
        ((0, 5, 10), 1, 1),
        ((0, 5, 12), 1, 1),
        ((0, 5, 15), 1, 1),
        ((0, 5, 18), 0, 0),
        ((0, 5, 21), 0, 0),
        ((0, 5, 23), 0, 0),
    )
)
"""Releases whose own code was run or read, oldest first (facts/memory.md)."""

NEWEST: Final = MEASURED[-1]


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
    """What holds from which release on, oldest first; the first row also serves anything older."""

    topic: str
    """What the rows are about, in words fit for a note."""
    rows: tuple[tuple[str, T], ...]
    """The release a value is first seen in (always one of ``MEASURED``, by its base) and the value."""

    def at(self, release: Release | None) -> T:
        """The value for a release; None and releases newer than the table get the newest row."""
        base = NEWEST.base if release is None else release.base
        chosen = self.rows[0][1]
        for since, value in self.rows:
            if _base(since) > base:
                break
            chosen = value
        return chosen


@lru_cache(maxsize=128)
def _base(text: str) -> tuple[int, int, int]:
    release = parse_release(text)
    if release is None:
        msg = f"{text} is not a release"
        raise ValueError(msg)
    return release.base


def neighbours(release: Release | None) -> tuple[Release, Release] | None:
    """The measured releases around one that was not measured; None where it was, or lies outside.

    The tables give the older neighbour's values there: what the newer one brought may have begun
    in between, so a result that differs under the newer neighbour's values is not certain.
    """
    if release is None:
        return None
    below = [known for known in MEASURED if known.base < release.base]
    above = [known for known in MEASURED if known.base > release.base]
    if any(known.base == release.base for known in MEASURED) or not below or not above:
        return None
    return below[-1], above[0]


def standing(release: Release | None) -> str:
    """Why the rules used for a release are not its own, as a sentence; empty where it was measured."""
    if release is None:
        return f"The release is unknown: the rules of {NEWEST} are used."
    if release.base > NEWEST.base:
        return f"{release} is newer than any release measured: the rules of {NEWEST} are used."
    if release.base < MEASURED[0].base:
        return f"{release} is older than any release measured: the rules of {MEASURED[0]} are used."
    return ""
