"""The shape of the source: small files, short functions, no literal colours in layout, no path of a machine."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "kvtui").rglob("*.py"))


def test_there_are_sources():
    assert len(SOURCES) > 30


def test_files_stay_small():
    big = {str(p.relative_to(ROOT)): n for p in SOURCES if (n := p.read_text().count("\n")) > 320}
    assert not big


def test_functions_stay_short():
    long = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno - node.lineno > 65:
                long.append(f"{path.relative_to(ROOT)}:{node.name}")
    assert not long


def test_layout_files_hold_no_literal_colours():
    for path in (ROOT / "themes").glob("*.tcss"):
        assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?!\s*[{,.:>])", path.read_text()), path


def test_no_path_of_a_machine_in_the_sources():
    for path in [*SOURCES, *(ROOT / "themes").iterdir(), ROOT / "README.md"]:
        if path.is_file():
            assert not re.search(r"(?<![\w.])/(home|root|work|Users)/", path.read_text()), path
