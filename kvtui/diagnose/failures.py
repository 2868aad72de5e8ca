"""Which way a start or a server failed, by its events."""

from __future__ import annotations

import re
from typing import Final, Literal

from kvtui.diagnose.context import Context
from kvtui.domain.events import Event
from kvtui.domain.reading import Missing

Failure = Literal[
    "fraction too low", "out of memory", "capture", "host memory", "killed", "state pool", "unbalanced", "nccl", "exception", "exit"
]

_FORWARD: Final = re.compile(r"forward_(extend|decode|batch|thread|idle)|event_loop|process_batch", re.IGNORECASE)
_HOST_KILL: Final = re.compile(r"oom-?killed|exit (code )?137|-9\b|oom killer", re.IGNORECASE)


def runtime_oom(context: Context) -> Event | None:
    """The first GPU out-of-memory after the start, or None.

    A log without its start tells by the failing function: a forward pass outside a capture is a running server's.
    """
    for event in context.events("out-of-memory"):
        if context.came_up:
            return event
        if _looks_started(context) and (_FORWARD.search(event.text) or _mentions_forward(context)):
            return event
    return None


def _looks_started(context: Context) -> bool:
    """True where nothing of a start-up is in the log, so that it cannot be the start that failed."""
    return context.boot is None or (not context.boot.ranks and not any(context.events("capture-failed", "not-enough-memory")))


def _mentions_forward(context: Context) -> bool:
    return any(_FORWARD.search(event.text) for event in context.events("exception", "program", "out-of-memory"))


def startup_failure_of(context: Context) -> tuple[Failure, Event | None] | None:
    """How the start failed, with the line that says so; None where it did not, or where the server had come up.

    The most telling event wins: a reason before its consequence.
    """
    if context.came_up or runtime_oom(context) is not None:
        return None
    kinds: tuple[tuple[tuple[str, ...], Failure], ...] = (
        (("not-enough-memory",), "fraction too low"),
        (("capture-failed",), "capture"),
        (("out-of-memory",), "out of memory"),
        (("host-memory",), "host memory"),
        (("state-too-small",), "state pool"),
        (("unbalanced",), "unbalanced"),
        (("killed",), "killed"),
        (("nccl",), "nccl"),
        (("exception",), "exception"),
        (("exit",), "exit"),
    )
    for names, failure in kinds:
        event = next((event for event in context.frame.events if event.kind in names), None)
        if event is None or (failure == "unbalanced" and not _ended(context)):
            continue
        if failure == "exception" and capturing(context):
            return "capture", event
        if failure == "out of memory" and capturing(context):
            return "capture", event
        return failure, event
    return ("exit", None) if context.boot is not None and context.boot.state == "failed" else None


def _ended(context: Context) -> bool:
    """True where the start is over; unbalanced memory is a warning in most releases and ends few starts."""
    return (context.boot is not None and context.boot.state == "failed") or any(context.events("exception", "exit"))


def capturing(context: Context) -> bool:
    """True where a capture of CUDA graphs began and did not end."""
    if context.boot is None:
        return False
    captures = [capture for memory in context.boot.ranks for capture in memory.captures]
    return any(isinstance(capture.end_gib, Missing) for capture in captures)


def killed_for_memory(context: Context) -> Event | None:
    """The line that says the operating system ended it, most likely for host memory; or None."""
    for event in context.events("killed", "exit"):
        if event.kind == "killed" or _HOST_KILL.search(event.text):
            return event
    return None
