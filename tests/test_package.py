"""The wheel holds all that is needed: it is built, installed beside nothing else, and opens the console."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
import textual

ROOT = Path(__file__).resolve().parents[1]

HEADLESS = """
import asyncio, pathlib, sys
from kvtui import app
from kvtui.engine.analyse import estimates
from kvtui.wiring import Request, open_feed

async def main():
    console = app.KvtuiApp(open_feed(Request(sys.argv[1], None, None)), estimates)
    async with console.run_test(size=(120, 40)) as pilot:
        while console.view_state is None:
            await pilot.pause(0.01)
        await pilot.pause()
        print(console.theme, console.view_state.analysis.account.tokens_reported.value, pathlib.Path(app.__file__).parent)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT], check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_themes_are_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "themes").iterdir():
        assert f"kvtui/themes/{path.name}" in names


def test_lessons_are_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    lessons = sorted((ROOT / "kvtui" / "guide" / "lessons").glob("*/lesson.toml"))
    assert len(lessons) >= 8
    assert {f"kvtui/guide/lessons/{path.parent.name}/lesson.toml" for path in lessons} <= set(names)


def test_the_installed_wheel_reads_a_log_and_opens_the_console(wheel, tmp_path):
    # The run-time packages come from this environment; kvtui itself only from the wheel.
    home = tmp_path / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    site = next((home / "lib").glob("python3*")) / "site-packages"
    zipfile.ZipFile(wheel).extractall(site)
    (site / "runtime.pth").write_text(str(Path(textual.__file__).resolve().parents[1]) + "\n")
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-03-18 09:00:00] max_total_num_tokens=4096, chunked_prefill_size=512, max_prefill_tokens=16384, max_running_requests=64, context_len=4096\n"
    )
    python = home / "bin" / "python"
    report = subprocess.run([python, "-m", "kvtui", "report", log, "--format", "json"], capture_output=True, text=True, cwd=tmp_path)
    assert '"tokens_reported": 4096' in report.stdout, report.stderr
    opened = subprocess.run([python, "-c", HEADLESS, log], capture_output=True, text=True, cwd=tmp_path)
    assert opened.returncode == 0, opened.stderr
    assert "4096" in opened.stdout
    assert "kvtui-" in opened.stdout
    assert str(home) in opened.stdout
