"""``kvtui`` on a machine without a server, in a real terminal, and off one."""

import sys

import pytest
from pty_console import PtyConsole
from reading import LOGS

PROGRAM = """
import sys
from pathlib import Path
import kvtui.sources.discovery as discovery
from kvtui.domain.process import Discovery, FoundServer
from kvtui.domain.reading import Known
server = FoundServer(Known(1), (), Known("a"), port=Known(9))
there = Path({there!r})
discovery.discover = lambda *_places: Discovery((server,), ()) if there.exists() else Discovery((), ("processes: none among 7",))
from kvtui.cli import main
main()
"""


@pytest.fixture
def bare(tmp_path):
    """A console on a machine without a server, until ``tmp_path / "there"`` exists."""
    program = (sys.executable, "-c", PROGRAM.format(there=str(tmp_path / "there")))
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    with PtyConsole(program=program, env=env) as console:
        console.until("No SGLang server was found")
        console.until("none among 7") if b"none among 7" not in console.painted else None
        yield console


def test_leaving_it_is_status_3_and_the_terminal_is_as_before(bare):
    bare.leave("q")
    assert bare.process.returncode == 3
    bare.check_restored()


def test_the_console_opens_when_a_server_appears(bare, tmp_path):
    (tmp_path / "there").touch()
    bare.until("GPU memory")
    bare.leave("q")
    assert bare.process.returncode == 0
    bare.check_restored()


def test_the_demo_opens(bare):
    bare.press("d")
    bare.until("GPU memory")
    bare.leave("q")
    assert bare.process.returncode == 0


def test_the_guide_opens(bare):
    bare.press("g")
    bare.until("Lesson 1")
    bare.leave("q")
    assert bare.process.returncode == 0


def test_a_log_that_is_typed_opens(bare):
    bare.press("t")
    bare.until("An address or a log")
    bare.press(f"{LOGS / 'founding_a.log'}\r")
    bare.until("Kimi-K2.5")
    bare.leave("q")
    assert bare.process.returncode == 0
