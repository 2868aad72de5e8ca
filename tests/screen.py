"""What the terminal would show, as text: for golden screens."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from textual.app import App

GOLDEN = Path(__file__).parent / "golden"


def screen_text(app: App) -> str:
    """The screen's characters, trailing blanks removed, one line a row."""
    width, height = app.size
    console = Console(
        width=width, height=height, file=io.StringIO(), record=True, legacy_windows=False, color_system=None, force_terminal=True
    )
    # The one private name of Textual that tests use; it is kept here.
    console.print(app.screen._compositor.render_update(full=True))
    lines = [line.rstrip() for line in console.export_text(styles=False).split("\n")]
    return "\n".join(lines[:height]).rstrip("\n") + "\n"


def check_golden(name: str, text: str) -> None:
    """Compare with ``tests/golden/NAME.txt``; with KVTUI_GOLDEN=write in the environment, write it instead."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("KVTUI_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no golden screen {path.name}: run once with KVTUI_GOLDEN=write and look at it"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs:\n{text}"
