"""What is copied or written for handing over: plain text, secrets removed where it was read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kvtui.domain.finding import Finding
from kvtui.present.figures import NONE, plural, stamp
from kvtui.present.line import Drawn, Line, plain

NO_VERDICT: Final = "no verdict yet"


def pane_text(title: str, rows: Sequence[Line]) -> str:
    """A pane as text: its title and its rows, without what is only drawn and without blank ones at the end."""
    lines = [plain(row).rstrip() for row in rows if not (row and isinstance(row[0], Drawn))]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join((title, *lines))


def pane_said(title: str, rows: Sequence[Line]) -> str:
    """What is said of a pane that was copied whole."""
    return f"the pane {title}, {_rows(title, rows)}"


def page_said(title: str, rows: Sequence[Line]) -> str:
    """What is said of a page that was copied whole."""
    return f"the page {title}, {_rows(title, rows)}"


def _rows(title: str, rows: Sequence[Line]) -> str:
    return plural(len(pane_text(title, rows).splitlines()) - 1, "row")


def verdict_text(findings: Sequence[Finding]) -> str:
    """The verdicts, a line each: title and proof."""
    return "\n".join(f"{finding.title}: {finding.sentence}" for finding in findings) or NO_VERDICT


def report_name(at: float | None) -> str:
    """Name of a report's file, without its ending: the time on the source's clock, so that two of a night stay apart."""
    told = stamp(at)
    return "kvtui-report" if told == NONE else f"kvtui-report-{re.sub(r'[^0-9]+', '-', told)}"
