"""What a source says when it cannot be read."""

from __future__ import annotations

from kvtui.ports import RefusedError


class Unreadable(RefusedError):  # noqa: N818 - the message is a finished sentence for the person at the terminal
    """Nothing could be read; the message is one sentence that says what and why."""


class NeverALog(Unreadable):
    """Nor will it ever be: waiting for it is of no use."""


class NothingYet(Unreadable):
    """Nothing was written to it so far."""
