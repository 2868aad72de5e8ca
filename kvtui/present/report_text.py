"""The report for a terminal: plain text, no colours, at most as wide as asked."""

from __future__ import annotations

import textwrap

from kvtui.present.report_doc import Document, Section, Table


def _table(table: Table, width: int) -> list[str]:
    """Columns as wide as their cells; the last column takes what is left and wraps."""
    sizes = [max(len(row[i]) for row in (table.head, *table.rows)) for i in range(len(table.head))]
    indent = sum(sizes[:-1]) + 2 * (len(sizes) - 1)
    room = max(20, width - indent - 2)
    lines = []
    for row in (table.head, *table.rows):
        cells = [cell.rjust(size) if i in table.right else cell.ljust(size) for i, (cell, size) in enumerate(zip(row, sizes, strict=True))]
        wrapped = textwrap.wrap(row[-1], room) or [""]
        lines.append(("  " + "  ".join([*cells[:-1], wrapped[0]])).rstrip())
        lines += [" " * (indent + 2) + text for text in wrapped[1:]]
    return lines


def section_text(section: Section, width: int) -> list[str]:
    """One section as lines of at most ``width`` columns where words allow it."""
    lines = [section.title]
    lines += [f"  {text}" for text in section.code]
    if section.table is not None:
        lines += _table(section.table, width)
    for text in section.lines:
        lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return lines


def report_text(document: Document, width: int = 120) -> str:
    """The document as text of at most ``width`` columns where words allow it."""
    lines = [document.title, document.subtitle]
    for section in document.sections:
        lines += ["", *section_text(section, width)]
    return "\n".join(lines) + "\n"
