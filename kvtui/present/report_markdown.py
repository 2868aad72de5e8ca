"""The report as Markdown, fit for pasting into a ticket."""

from __future__ import annotations

import re

from kvtui.present.report_doc import Document, Section, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|@])")


def escape(text: str) -> str:
    """Text that a Markdown renderer shows as it is: names from a log must not become links or mentions."""
    return _SPECIAL.sub(r"\\\1", text)


def _table(table: Table) -> list[str]:
    rule = ["---:" if i in table.right else "---" for i in range(len(table.head))]
    rows = [table.head, tuple(rule), *table.rows]
    return ["| " + " | ".join(cell if n == 1 else escape(cell) for cell in row) + " |" for n, row in enumerate(rows)]


def _fence(lines: tuple[str, ...]) -> list[str]:
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]


def _section(section: Section) -> list[str]:
    lines = [f"### {escape(section.title)}", ""]
    if section.code:
        lines += [*_fence(section.code), ""]
    if section.table is not None:
        lines += [*_table(section.table), ""]
    if section.lines:
        lines += [*(f"- {escape(text)}" for text in section.lines), ""]
    return lines


def report_markdown(document: Document) -> str:
    """The document as Markdown."""
    lines = [f"## {escape(document.title)}", "", escape(document.subtitle), ""]
    for section in document.sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"
