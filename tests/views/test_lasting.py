"""A terminal that is gone holds up nobody who writes on it."""

import errno
import threading

from textual.drivers._writer_thread import MAX_QUEUED_WRITES, WriterThread

from kvtui.app import KvtuiApp
from kvtui.views.lasting import Lasting, LastingDriver


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
