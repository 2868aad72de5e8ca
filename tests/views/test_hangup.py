"""A closed terminal is told from one that is there and from what is none."""

import os
import pty

from kvtui.views.hangup import gone


def test_a_closed_terminal_is_gone_and_an_open_one_is_not():
    ours, theirs = pty.openpty()
    assert not gone(theirs)
    os.close(ours)
    assert gone(theirs)
    os.close(theirs)


def test_what_is_no_terminal_is_not_gone():
    reading, writing = os.pipe()
    assert not gone(reading)
    os.close(reading)
    os.close(writing)
