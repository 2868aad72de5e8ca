"""Kinds of terminals, suspending and resizing, in a real one."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from pty_console import PtyConsole

LOG = str(Path(__file__).resolve().parents[1] / "logs" / "founding_a.log")
PLAIN = {"COLORTERM": "", "NO_COLOR": "", "LANG": "C.UTF-8", "LC_ALL": "", "LC_CTYPE": ""}
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
WORD = "KV capacity limits concurrency"
"""Of the first paint that shows a reading."""


def painted_by(environ, *words):
    """All that the console writes up to its first whole screen, and after a key that leaves it."""
    with PtyConsole(LOG, *words, env={**PLAIN, **environ}) as console:
        console.until(WORD, 30)
        console.leave("q")
        assert console.process.returncode == 0
        console.check_restored()
        return console.painted


def codes(painted):
    """Parameters of every colour or attribute that was set."""
    return {part for code in COLOUR.findall(painted) for part in re.findall(rb"(?:38|48);(?:2;\d+;\d+;\d+|5;\d+)|\d+", code)}


@pytest.mark.parametrize(
    ("term", "colours", "is_ascii"),
    [
        ("xterm-256color", 256, False),
        ("tmux-256color", 256, False),
        ("xterm", 16, False),
        ("screen", 16, False),
        ("tmux", 16, False),
        ("linux", 16, True),
        ("vt100", 0, True),
        ("dumb", 0, True),
    ],
)
def test_every_kind_of_terminal_gets_what_it_can_show(term, colours, is_ascii):
    painted = painted_by({"TERM": term})
    found = codes(painted)
    extended = {code for code in found if code[:2] in {b"38", b"48"}}
    basic = {int(code) for code in found - extended if code.isdigit()} & {*range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108)}
    assert bool(extended) is (colours == 256), extended
    assert bool(basic) is (colours == 16), basic
    text = COLOUR.sub(b"", painted)
    assert (b"\xe2" not in text) is is_ascii
    assert (b"! KV capacity" if is_ascii else "▲ KV capacity".encode()) in text


@pytest.mark.parametrize("environ", [{"LANG": "C"}, {"LANG": "", "LC_ALL": "POSIX"}, {"LC_ALL": "de_DE.ISO-8859-1"}])
def test_without_utf_8_nothing_else_is_written(environ):
    assert painted_by({"TERM": "xterm-256color", **environ}).isascii()


@pytest.mark.parametrize("environ", [{"COLUMNS": "80", "LINES": "24"}, {"COLUMNS": "80"}, {"TERM": "dumb"}])
def test_the_terminal_itself_says_how_large_it_is(environ):
    painted = painted_by({"TERM": "xterm-256color", **environ})
    assert b"\x1b[40;1H" in painted
    # Two layouts in turn write as much in a second.
    assert len(painted) < 150_000


def test_no_color_sets_none():
    assert not {
        code
        for code in codes(painted_by({"TERM": "xterm-256color", "NO_COLOR": "1"}))
        if code[:1] in {b"3", b"4"} and code not in {b"39", b"49", b"4"}
    }


def test_the_mouse_is_left_to_the_terminal_where_it_is_asked_for():
    assert b"\x1b[?1000h" in painted_by({"TERM": "xterm-256color"})
    assert b"\x1b[?1000h" not in painted_by({"TERM": "xterm-256color"}, "--no-mouse")


def test_suspended_and_continued_it_is_painted_whole():
    with PtyConsole(LOG, env={**PLAIN, "TERM": "xterm-256color"}) as console:
        console.until(WORD, 30)
        console.press("\x1a")
        for _ in range(200):
            console.read(0.05)
            if Path(f"/proc/{console.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                break
        assert b"\x1b[?1049l" in console.painted[-400:]
        seen = len(console.painted)
        os.kill(console.process.pid, signal.SIGCONT)
        begun = time.monotonic()
        while b"quit" not in console.painted[seen:] and time.monotonic() - begun < 10:
            console.read(0.05)
        again = COLOUR.sub(b"", console.painted[seen:]).decode()
        for word in ("KV capacity limits concurrency", "GPU memory", "Server", "free after weights", "option", "quit"):
            assert word in again, again[-2000:]
        console.leave("q")
        console.check_restored()


def resize(console, columns, rows):
    fcntl.ioctl(console.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.kill(console.process.pid, signal.SIGWINCH)


def test_it_follows_every_size():
    with PtyConsole(LOG, env={**PLAIN, "TERM": "xterm-256color"}) as console:
        console.until(WORD, 30)
        for columns, rows, word in (
            (20, 5, "kvtui needs"),
            (60, 16, "KV capacity"),
            (5, 2, "needs"),
            (80, 24, "Formula"),
            (1, 1, ""),
            (200, 60, "free after weights"),
            (120, 40, "quit"),
        ):
            resize(console, columns, rows)
            console.until(word or "\x1b[", 10)
        console.leave("q")
        assert console.process.returncode == 0
        console.check_restored()


def test_inside_script(tmp_path):
    """A session that is recorded with script(1)."""
    program = ("script", "-q", "-e", "-c", f"{sys.executable} -m kvtui {LOG}", str(tmp_path / "typescript"))
    if subprocess.run(["which", "script"], capture_output=True).returncode:
        pytest.skip("script(1) is not installed")
    with PtyConsole(program=program, env={**PLAIN, "TERM": "xterm-256color"}) as console:
        console.until(WORD, 30)
        console.leave("q")
        assert console.process.returncode == 0
