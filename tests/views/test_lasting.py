"""A terminal that is gone holds up nobody who writes on it, and one on which nobody types wakes nobody."""

import errno
import fcntl
import os
import queue
import selectors
import struct
import termios
import threading
import tty

import pytest
from textual import constants
from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from kvtui.app import KvtuiApp
from kvtui.views.lasting import Bell, Lasting, LastingDriver


class Gone:
    """A terminal that was closed after some writes."""

    def __init__(self, lasts):
        self.lasts, self.written = lasts, []

    def write(self, text):
        if len(self.written) >= self.lasts:
            raise OSError(errno.EIO, "Input/output error")
        self.written.append(text)
        return len(text)

    def flush(self):
        if len(self.written) >= self.lasts:
            raise OSError(errno.EIO, "Input/output error")


def put(writer, count):
    """Write in a thread; True where it came to its end."""
    thread = threading.Thread(target=lambda: [writer.write("x") for _ in range(count)], daemon=True)
    thread.start()
    thread.join(10)
    return not thread.is_alive()


def test_the_writer_goes_on_when_its_terminal_is_gone():
    file = Gone(3)
    writer = WriterThread(Lasting(file))
    writer.start()
    assert put(writer, 5 * MAX_QUEUED_WRITES)
    assert file.written == ["x"] * 3
    writer.stop()
    assert not writer.is_alive()


def test_what_lasts_writes_and_flushes_as_the_file_does():
    file = Gone(100)
    lasting = Lasting(file)
    assert lasting.write("abc") == 3
    lasting.flush()
    assert (file.written, lasting.gone) == (["abc"], False)


def test_a_console_on_a_terminal_has_that_driver(monkeypatch):
    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    assert KvtuiApp.get_driver_class(KvtuiApp.__new__(KvtuiApp)) is LastingDriver


class Typist:
    """A driver on one end of a pseudo-terminal, and its thread."""

    def __init__(self):
        self.mine, theirs = os.openpty()
        tty.setraw(theirs)
        self.driver = LastingDriver.__new__(LastingDriver)
        self.driver.fileno, self.driver._debug, self.driver.exit_event = theirs, False, Bell()
        self.events = queue.Queue()
        self.driver.process_message = self.events.put
        self.thread = threading.Thread(target=self.driver.run_input_thread, daemon=True)
        self.thread.start()

    def types(self, text):
        """Type, and wait until it is read: what is typed next is another piece."""
        os.write(self.mine, text)
        waiting, left = threading.Event(), True
        while left:
            waiting.wait(0.005)
            left = struct.unpack("i", fcntl.ioctl(self.driver.fileno, termios.FIONREAD, b"\0" * 4))[0]

    def key(self):
        return self.events.get(timeout=10).key

    def leave(self):
        self.driver.exit_event.set()
        self.thread.join(10)
        assert not self.thread.is_alive()


@pytest.fixture
def waits(monkeypatch):
    """How long each look at the terminal may take; None: until something comes."""
    found = []
    plain = selectors.SelectSelector.select

    def select(selector, timeout=None):
        found.append(timeout)
        return plain(selector, timeout)

    monkeypatch.setattr(selectors.SelectSelector, "select", select)
    return found


def test_keys_are_read_whole_or_in_pieces():
    typist = Typist()
    typist.types(b"a")
    assert typist.key() == "a"
    typist.types(b"\xc3")
    typist.types(b"\xa4\x1b[A")
    assert [typist.key(), typist.key()] == ["ä", "up"]
    typist.types(b"\x1b")
    assert typist.key() == "escape", "one that stands alone is told although nothing follows"
    typist.leave()


def test_while_nobody_types_it_sleeps(waits):
    typist = Typist()
    typist.types(b"a")
    assert typist.key() == "a"
    deadline = threading.Event()
    while len(waits) < 2 or waits[-1] is not None:
        deadline.wait(0.01)
    ticks = [wait for wait in waits if wait is not None]
    assert sum(ticks) >= constants.ESCAPE_DELAY, "until no key can be half read"
    assert len(ticks) <= 20
    typist.leave()


def test_a_terminal_at_its_end_is_not_looked_at_for_ever(waits):
    ends = os.pipe()
    driver = LastingDriver.__new__(LastingDriver)
    driver.fileno, driver._debug, driver.exit_event = ends[0], False, Bell()
    os.close(ends[1])
    thread = threading.Thread(target=driver.run_input_thread, daemon=True)
    thread.start()
    deadline = threading.Event()
    while not waits or waits[-1] is not None or len(waits) < 2:
        deadline.wait(0.01)
    assert len(waits) < 30
    driver.exit_event.set()
    thread.join(10)
    assert not thread.is_alive()


def test_a_bell_can_be_rung_again_and_again():
    bell = Bell()
    for _ in range(3):
        for _ in range(70_000):
            bell.set()
        assert bell.is_set()
        bell.clear()
        assert not bell.is_set()
        assert not ready(bell.heard), "it would end every wait from now on"


def ready(fd):
    with selectors.SelectSelector() as selector:
        selector.register(fd, selectors.EVENT_READ)
        return bool(selector.select(0))
