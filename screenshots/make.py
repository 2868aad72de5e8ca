"""Make the pictures of the README from the logs of the tests.

    python screenshots/make.py [NAME ...]

Each picture is the real console on a real log, at a fixed size; a second run gives the same file.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates
from kvtui.wiring import Request, open_feed

HERE = Path(__file__).resolve().parent
LOGS = HERE.parent / "tests" / "logs"
OLD = 1_700_000_000
"""A log that nobody has written to for long is finished, whenever the pictures are made."""


class Picture(NamedTuple):
    """One picture: a log, a terminal size, and the keys pressed before it is taken."""

    log: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()


PICTURES = {
    "console": Picture("founding_a.log", (120, 40)),
    "what-if": Picture("founding_a.log", (120, 40), ("right",) * 8),
    "why": Picture("founding_a.log", (120, 40), ("v",)),
    "start-failed": Picture("start_failed.log", (120, 40), ("v",)),
    "small": Picture("founding_a.log", (80, 24), ("3",)),
}


async def take(picture: Picture) -> str:
    """The screen as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / picture.log
        path.write_bytes((LOGS / picture.log).read_bytes())
        os.utime(path, (OLD, OLD))
        app = KvtuiApp(open_feed(Request(str(path))), estimates, target=picture.log)
        async with app.run_test(size=picture.size) as pilot:
            while app.view_state is None:
                await pilot.pause(0.01)
            for key in picture.keys:
                await pilot.press(key)
            await pilot.pause()
            svg = app.export_screenshot(title=f"kvtui {picture.log}", simplify=True)
    # Rich names the styles of each export after its content's hash of memory addresses; a fixed name keeps files equal.
    return re.sub(r"terminal-\d+", "terminal", svg)


def main() -> None:
    """Write the pictures that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        path = HERE / f"{name}.svg"
        path.write_text(asyncio.run(take(PICTURES[name])), encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
