"""A program in a real pseudo-terminal: keys in, what it paints out, and how it leaves."""

# A terminal of its own must be taken between fork and exec; waits for a real process.
# ruff: noqa: PLW1509, TID251

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from process_state import alive

RESTORED = (b"\x1b[?1049l", b"\x1b[?25h")
"""Out of the alternate screen, and the cursor is shown again."""


class PtyConsole:
    """``kvtui`` in a terminal of 120 by 40."""

    def __init__(self, *words, env=None, program=(sys.executable, "-m", "kvtui"), size=(40, 120)):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        slave = self.slave

        def own_terminal():
            # Where the tests themselves run in the background of a shell, this signal is ignored, and that is inherited.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        environment = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        self.process = subprocess.Popen(
            [*program, *words], stdin=slave, stdout=slave, stderr=slave, env=environment, preexec_fn=own_terminal, close_fds=True
        )
        self.painted = b""

    def read(self, seconds=0.1):
        """What it has painted since."""
        end, got = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            try:
                part = os.read(self.master, 65_536)
            except OSError:
                break
            if not part:
                break
            got += part
        self.painted += got
        return got

    def until(self, word, seconds=15):
        """Seconds until ``word`` has been painted after this call; fails after ``seconds``."""
        begun, seen = time.monotonic(), b""
        while time.monotonic() - begun < seconds:
            seen += self.read(0.02)
            if word.encode() in seen:
                return time.monotonic() - begun
        raise AssertionError(f"{word!r} was not painted in {seconds} s:\n{self.painted[-3000:]!r}")

    def press(self, keys):
        os.write(self.master, keys.encode())

    def family(self):
        """Pids of all that runs in its session."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.getsid(int(folder.name)) == self.process.pid and alive(int(folder.name)):
                    found.append(int(folder.name))
        return found

    def leave(self, how, seconds=10):
        """Leave by a key, a signal or ``hangup``; the seconds it took. Fails where it is still there after ``seconds``."""
        begun = time.monotonic()
        if how == "hangup":
            os.close(self.slave)
            os.close(self.master)
            self.master = self.slave = -1
        elif isinstance(how, signal.Signals):
            self.process.send_signal(how)
        else:
            self.press(how)
        while self.process.poll() is None and time.monotonic() - begun < seconds:
            if self.master >= 0:
                self.read(0.005)
            else:
                time.sleep(0.005)
        took = time.monotonic() - begun
        assert self.process.poll() is not None, f"still there {took:.1f} s after {how!r}"
        if self.master >= 0:
            self.read(0.05)
        return took

    def check_restored(self):
        """The terminal is as it was."""
        for code in RESTORED:
            assert code in self.painted[-4000:], self.painted[-400:]
        assert termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        for pid in self.family():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
