"""The text report in few columns: rows of a table go below one another before a column becomes a ribbon."""

import re

import builders as b
import pytest

from kvtui.present.line import cells
from kvtui.present.report_doc import document
from kvtui.present.report_text import report_text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_asked_unless_a_word_is(width):
    for line in report_text(document(b.founding(), "server.log"), width).splitlines():
        assert cells(line) <= width or len(line.split()) <= 2, line


def test_a_narrow_table_names_its_figures():
    lines = report_text(document(b.founding(), "server.log"), 40).splitlines()
    assert "  free before weights: 94.04 GiB" in lines
    option = next(number for number, line in enumerate(lines) if re.fullmatch(r"  . raise fraction to [\d.]+", line))
    assert lines[option + 1].startswith("    tokens 202,385 · fits 99")


def test_a_wide_table_keeps_its_columns():
    lines = report_text(document(b.founding(), "server.log"), 120).splitlines()
    head = next(line for line in lines if line.startswith("  GPU memory, per GPU"))
    row = next(line for line in lines if line.startswith("  free before weights"))
    assert head.index("where from") == row.index("log line 1,118")
