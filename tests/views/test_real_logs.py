"""The console on logs, whole: file to screen, at the three sizes it is designed for."""

import os
import re

import pytest
from reading import LOGS
from screen import check_golden, screen_text

from kvtui.app import KvtuiApp
from kvtui.engine.analyse import estimates
from kvtui.wiring import Request, open_feed

SIZES = [(80, 24), (120, 40), (200, 60)]


OLD = 1_700_000_000
"""A log that nobody has written to for long is finished, whenever these tests run."""


async def opened(tmp_path, name, size, *keys):
    path = tmp_path / name
    path.write_bytes((LOGS / name).read_bytes())
    os.utime(path, (OLD, OLD))
    app = KvtuiApp(open_feed(Request(str(path))), estimates, target=name)
    async with app.run_test(size=size) as pilot:
        while app.view_state is None:
            await pilot.pause(0.01)
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        return screen_text(app)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", ["founding_a", "founding_b", "start_failed"])
async def test_the_console_on_a_log(tmp_path, name, size):
    text = await opened(tmp_path, f"{name}.log", size)
    check_golden(f"log-{name}-{size[0]}x{size[1]}", text)


async def test_the_what_if_of_the_founding_case_on_its_log(tmp_path):
    text = await opened(tmp_path, "founding_a.log", (120, 40), *(["right"] * 8))
    assert "◂ 0.93 ▸" in text
    assert "231,12" in text
    assert "+99%" in text
    assert re.search(r"127,104 \(\+9%\)", text)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
async def test_the_proof_of_a_verdict_is_drawn(tmp_path, size):
    text = await opened(tmp_path, "founding_a.log", size, "v")
    check_golden(f"why-founding_a-{size[0]}x{size[1]}", text)
