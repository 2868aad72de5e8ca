"""The report for a terminal: plain text, no colours, at most as wide as asked."""

from __future__ import annotations

import textwrap
from typing import Final

from kvtui.present.figures import NONE
from kvtui.present.report_doc import Document, Section, Table

LEAST: Final = 28
"""Columns that the last column of a table needs; with less its rows are written one below the other."""


def _wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, max(width, len(rest) + 8), initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def _table(table: Table, width: int) -> list[str]:
    """Columns as wide as their cells; the last column takes what is left and wraps."""
    sizes = [max(len(row[i]) for row in (table.head, *table.rows)) for i in range(len(table.head))]
    indent = sum(sizes[:-1]) + 2 * (len(sizes) - 1)
    room = width - indent - 2
    if room < min(LEAST, sizes[-1]):
        return _stacked(table, width)
    lines = []
    for row in (table.head, *table.rows):
        cells = [cell.rjust(size) if i in table.right else cell.ljust(size) for i, (cell, size) in enumerate(zip(row, sizes, strict=True))]
        wrapped = textwrap.wrap(row[-1], room) or [""]
        lines.append(("  " + "  ".join([*cells[:-1], wrapped[0]])).rstrip())
        lines += [" " * (indent + 2) + text for text in wrapped[1:]]
    return lines


def _stacked(table: Table, width: int) -> list[str]:
    """A row in a few lines: its name, its figures with their heads, and the last column below."""
    lines = _wrapped(table.head[0], width, "  ", "    ")
    for row in table.rows:
        named = [f"{head} {cell}" for head, cell in zip(table.head[1:-1], row[1:-1], strict=True) if cell != NONE]
        figures = row[1] if len(row) == 3 else " · ".join(named)
        whole = f"  {row[0]}: {figures}"
        lines += [whole] if len(whole) <= width else _wrapped(row[0], width, "  ", "    ")
        for text in (figures if len(whole) > width else "", row[-1]):
            lines += _wrapped(text, width, "    ", "    ")
    return lines


def section_text(section: Section, width: int) -> list[str]:
    """One section as lines of at most ``width`` columns where words allow it."""
    lines = _wrapped(section.title, width, "", "  ")
    for text in section.code:
        lines += [f"  {text}"] if len(text) + 2 <= width else _wrapped(text.strip(), width, "  ", "      ")
    if section.table is not None:
        lines += _table(section.table, width)
    for text in section.lines:
        lines += _wrapped(text, width, "  ", "    ")
    return lines


def report_text(document: Document, width: int = 120) -> str:
    """The document as text of at most ``width`` columns where words allow it."""
    lines = [*_wrapped(document.title, width, "", "  "), *_wrapped(document.subtitle, width, "", "  ")]
    for section in document.sections:
        lines += ["", *section_text(section, width)]
    return "\n".join(lines) + "\n"
