"""Make the pictures of the README: the real console on a simulated server whose clock stands, or on a log of the tests.

    python screenshots/make.py [NAME ...]

Each picture has a fixed size, scenario and keys; a second run gives the same file.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates
from kvtui.learn import DemoApp
from kvtui.staging import open_demo
from kvtui.views.screens.simulation import SimulationScreen
from kvtui.wiring import Request, open_feed

if TYPE_CHECKING:
    from textual.geometry import Region
    from textual.pilot import Pilot

HERE: Final = Path(__file__).resolve().parent
LOGS: Final = HERE.parent / "tests" / "logs"
OLD: Final = 1_700_000_000
"""A log that nobody has written to for long is finished, whenever the pictures are made."""
STANDS: Final = 1_772_000_000.0
"""What the clock of a simulated server shows: 2026-02-25 06:13:20 UTC."""
WIDE, NARROW = (120, 40), (80, 24)
PATIENCE: Final = 3_000
"""Looks at a screen that something is to appear on."""


class StoppedClock:
    """Time stands; the feed is woken by what a key does to the simulated server."""

    def now(self) -> float:
        """Always the same."""
        return STANDS

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 (nothing becomes due)
        """Until somebody wakes the feed."""
        await asyncio.Event().wait()


class Picture(NamedTuple):
    """One picture: what is looked at, a terminal size, and the keys pressed before it is taken."""

    source: str
    """A file name of ``tests/logs``, else the name of a scenario."""
    size: tuple[int, int] = WIDE
    keys: tuple[str, ...] = ()
    numbered: bool = False
    """Numbers on the regions that the README explains."""


KIMI: Final = "founding-kimi"
PICTURES: Final = {
    "console": Picture(KIMI),
    "regions": Picture(KIMI, numbered=True),
    "why": Picture(KIMI, keys=("v",)),
    "what-if": Picture(KIMI, keys=("3", *("right",) * 7)),
    "plan": Picture(KIMI, keys=("a", "4", "enter", "end")),
    "simulated": Picture(KIMI, keys=("a", "s")),
    "checked": Picture(KIMI, keys=("a", "A", *("N",) * 30, "b")),
    "start-failed": Picture("start_failed.log", keys=("v",)),
    "small": Picture("founding_a.log", NARROW, ("3",)),
}
REGIONS: Final = (
    ("#header", 0, 0.7), ("#strip", 0, 0.6), ("#memory", 0, 0.7), ("#server", 0, 0.7), ("#server", 9, 0.3),
    ("#formula", 0, 0.5), ("#options", 0, 0.5), ("#footer", 0, 0.985),
)  # fmt: skip
"""What each number stands on: a widget, a row of it, and how far to the right; the numbers are ① to ⑧ in this order."""
CELL: Final = (12.2, 24.4)
"""Width and height of a cell in Rich's SVG."""


async def take(picture: Picture) -> str:
    """The screen as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        app = _app(picture, Path(folder))
        async with app.run_test(size=picture.size) as pilot:
            await _until(pilot, lambda: app.view_state is not None)
            for key in picture.keys:
                await _press(app, pilot, key)
            await pilot.pause()
            svg = app.export_screenshot(title=f"kvtui {picture.source}", simplify=True)
            places = [app.screen.query_one(name).region for name, _, _ in REGIONS] if picture.numbered else []
    # Rich names the styles of each export after its content's hash of memory addresses; a fixed name keeps files equal.
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return _numbered(svg, places) if picture.numbered else svg


def _app(picture: Picture, folder: Path) -> KvtuiApp:
    if not picture.source.endswith(".log"):
        return DemoApp(open_demo(picture.source, clock=StoppedClock()), target=f"demo {picture.source}")
    path = folder / picture.source
    path.write_bytes((LOGS / picture.source).read_bytes())
    os.utime(path, (OLD, OLD))
    return KvtuiApp(open_feed(Request(str(path))), estimates, target=picture.source)


async def _press(app: KvtuiApp, pilot: Pilot[None], key: str) -> None:
    """Press a key and wait for what comes of it: simulated time that goes by, verdicts of the time before, a twin that plays."""
    state = app.view_state
    before = state.analysis.frame.now if state is not None else None
    await pilot.press(key)
    await pilot.pause()
    if key == "N":
        await _until(pilot, lambda: app.view_state is not None and app.view_state.analysis.frame.now != before)
    await _until(pilot, lambda: all(worker.is_finished for worker in app.workers if worker.group == "past"))
    await pilot.pause()
    screen = app.screen
    if isinstance(screen, SimulationScreen):
        await _until(pilot, lambda: screen.done)


async def _until(pilot: Pilot[None], there: Callable[[], bool]) -> None:
    for _ in range(PATIENCE):
        if there():
            return
        await pilot.pause(0.01)
    raise SystemExit("what was waited for never came")


def _numbered(svg: str, places: list[Region]) -> str:
    """The picture with a number on each region; cells are counted from where the picture's own frame begins."""
    origin = re.search(r'<g transform="translate\(([\d.]+), ([\d.]+)\)" clip-path', svg)
    if origin is None:
        raise SystemExit("Rich draws its pictures in another way: the numbers have no place")
    left, top = float(origin[1]), float(origin[2])
    return svg.replace("</svg>", "".join(_marks(places, left, top)) + "</svg>")


def _marks(places: list[Region], left: float, top: float) -> Iterator[str]:
    for number, (place, (_, row, share)) in enumerate(zip(places, REGIONS, strict=True), 1):
        x = left + (place.x + place.width * share) * CELL[0]
        y = top + (place.y + row + 0.5) * CELL[1]
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="14" fill="#ffd75f" stroke="#1b1b1b" stroke-width="2"/>'
        yield (
            f'<text x="{x:.1f}" y="{y + 6.5:.1f}" text-anchor="middle" font-family="sans-serif" font-size="19" font-weight="bold" '
            f'fill="#1b1b1b">{number}</text>'
        )


def main() -> None:
    """Write the pictures that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        path = HERE / f"{name}.svg"
        path.write_text(asyncio.run(take(PICTURES[name])), encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
