"""The help screen's words: the keys, and what the words on the screen mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kvtui.present.line import BLANK, Line, Span, pad, wrap

WORDS: Final = (
    (
        "free before weights",
        "free GPU memory after CUDA and NCCL are up, before the weights load; the lowest of all ranks. It is not the card's size.",
    ),
    ("free after weights", "free GPU memory just before the KV pool is made; the lowest of all ranks."),
    ("fraction", "mem_fraction_static. The formula leaves free-before-weights × (1 − fraction) for everything but weights and pool."),
    ("rest", "free after weights − free before weights × (1 − fraction): what becomes the KV pool."),
    ("bytes a token", "KV bytes of one token on one GPU, also called the cell."),
    ("pool", "max_total_num_tokens: the tokens that fit, rest ÷ bytes a token, cut to whole pages."),
    ("fits", "requests of the observed mean size that the pool holds."),
    ("headroom", "free GPU memory once the server is up, for activations. Under 3 GiB is tight, under 2 GiB too thin."),
    ("usage", "share of the pool that running requests hold; cached prefixes do not count."),
    ("retraction", "the pool ran full while decoding: requests were put back and lose their KV."),
)
MARKS: Final = (
    ("✓ ▲ ✖", "good, doubtful, bad; beside a verdict, how sure it is: ✖ high, ▲ medium, ? low."),
    ("◌ –", "not enough data yet; not judged or not applicable."),
    ("● ■ ◌ ✖", "a source is live, ended, waiting, failed."),
    ("◆", "an option is marked for the plan."),
)
ABOUT: Final = (
    "kvtui reads and computes; it never changes the server. Every size is GiB (2^30 bytes), also where SGLang prints GB. "
    "To select text with the mouse, hold Shift. Copying uses OSC 52; in tmux it needs: set -g set-clipboard on."
)


def help_lines(keys: Iterable[tuple[str, tuple[tuple[str, str, str], ...]]], width: int) -> tuple[Line, ...]:
    """The whole page.

    ``keys``: sections of (keys, title, help), as the commands define them.
    """
    lines: list[Line] = [(Span(part),) for part in wrap(ABOUT, width)]
    for section, commands in keys:
        lines += [BLANK, (Span(section, "strong"),)]
        for key, title, text in commands:
            lines += _entry(key, f"{title}: {text}" if text else title, width, 18)
    for section, rows in (("Words", WORDS), ("Signs", MARKS)):
        lines += [BLANK, (Span(section, "strong"),)]
        for name, text in rows:
            lines += _entry(name, text, width, 22)
    return tuple(lines)


def _entry(name: str, text: str, width: int, column: int) -> list[Line]:
    parts = wrap(text, max(10, width - column - 2)) or ("",)
    first: Line = (Span("  "), Span(pad(name, column), "key"), Span(parts[0]))
    return [first, *((Span(" " * (column + 2)), Span(part)) for part in parts[1:])]
