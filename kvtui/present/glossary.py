"""What every word on the screen means, in two sentences: the only place where a word is explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kvtui.present.glossary_answers import OPTIONS, VERDICTS
from kvtui.present.line import BLANK, Line, Span, plain, wrap


@dataclass(frozen=True, slots=True)
class Entry:
    """One word. ``signs``: how the panes write it; the word itself where that is the same."""

    word: str
    text: str
    signs: tuple[str, ...] = ()


WORDS: Final = (
    Entry(
        "free before weights",
        (
            "Free GPU memory after CUDA and NCCL are up, before the weights load: the lowest of all ranks. It is not the "
            "card's size, and another process on one card lowers it for all."
        ),
    ),
    Entry(
        "free after weights",
        (
            "Free GPU memory just before the KV pool is made: the lowest of all ranks. What the weights left, from which the "
            "slack is still taken off."
        ),
    ),
    Entry(
        "fraction",
        (
            "mem_fraction_static, the share of free-before-weights that weights and pool may take together. Every 0.01 moves "
            "the same number of bytes, whatever the pool is."
        ),
        ("mem_fraction_static",),
    ),
    Entry(
        "slack",
        (
            "Free before weights × (1 − fraction): what the formula leaves for everything but weights and pool. CUDA graphs, "
            "request tables and activations come out of it."
        ),
    ),
    Entry(
        "rest",
        (
            "Free after weights less the slack: what becomes the KV pool. It is a small remainder of large numbers, so a "
            "little more fraction makes a lot more of it."
        ),
        ("rest = ",),
    ),
    Entry(
        "bytes a token",
        (
            "KV bytes of one token on one GPU, also called the cell. MLA keeps it whole on every rank; other attention "
            "divides it by tensor parallelism."
        ),
        ("bytes a token",),
    ),
    Entry(
        "pool",
        (
            "max_total_num_tokens, the tokens that fit: rest ÷ bytes a token, cut to whole pages. All running requests and "
            "the cached prefixes share it."
        ),
        ("server reports",),
    ),
    Entry(
        "tokens predicted",
        (
            "The pool as the formula gives it from the numbers above. It may differ from the server's own by what the log's "
            "rounding allows; more than that is explained below it."
        ),
    ),
    Entry("difference", "Predicted less reported pool. A difference that rounding cannot explain names its likely causes."),
    Entry(
        "headroom",
        ("Free GPU memory once the server is up, for activations of long prompts. Under 3 GiB it is tight, under 2 GiB too thin."),
        ("headroom left", "headroom"),
    ),
    Entry(
        "running",
        (
            "Requests that decode now, over all data-parallel ranks. The band beside it is where admission can hold it, the "
            "cap is the most that may run."
        ),
        ("running",),
    ),
    Entry(
        "queued",
        (
            "Requests that wait to be admitted; the head of the queue is never skipped. Zero in most samples means that the "
            "clients are the limit."
        ),
    ),
    Entry(
        "usage",
        (
            "Share of the pool that running requests hold; cached prefixes do not count. It stays below 100% because room is"
            " kept for answers under way."
        ),
        ("KV usage",),
    ),
    Entry(
        "generate",
        (
            "Tokens the server generates a second, all streams together, stalls included. One line of the log is one tick, "
            "not the throughput of a run."
        ),
    ),
    Entry("prefill", "Prompt tokens computed a second, cached ones left out. A prefill goes before decode whenever one can be formed."),
    Entry(
        "cache hit",
        (
            "Share of prompt tokens that were found in the prefix cache. It is computed from sums, because the server's own "
            "gauge is overwritten with zero in many releases."
        ),
    ),
    Entry(
        "retracted",
        (
            "Requests put back because the pool ran full while decoding; they lose their KV and are computed again. Once a "
            "minute is acceptable, several times a minute is thrashing."
        ),
    ),
    Entry(
        "first token",
        "Time from arrival to the first token, as the server's histogram has it. A long queue shows here first.",
        ("1st token",),
    ),
    Entry("per token", "Time between two tokens of one stream. It grows with the batch, so it is the price of more running requests."),
    Entry("in queue", "Time a request waits before it is admitted. Little's law links it with queue and throughput."),
    Entry(
        "accept length",
        (
            "Tokens a request gains in one step with speculation, the plain one included: 1.0 means that nothing was "
            "accepted. Compare it with how much longer the step is."
        ),
        ("accept",),
    ),
    Entry("sliding-window pool", "A second, smaller pool for layers that see only a window. Admission needs room in both.", ("SWA use",)),
    Entry(
        "state slots",
        "Slots for the states of linear-attention layers, a pool of its own. When they are full, free KV does not help.",
        ("state use", "states"),
    ),
    Entry(
        "cap",
        ("The most requests that may run, effective max_running_requests of one rank. A draft sets it to 48 where nobody does."),
        (" cap ",),
    ),
    Entry(
        "admission band",
        (
            "How many requests of this size can run, by the scheduler's own rule. It is a band, because what clients ask for "
            "and the reservation are not all in the log."
        ),
        ("admits", "ceiling"),
    ),
    Entry(
        "reservation",
        (
            "new_token_ratio, the share of not yet generated tokens that admission holds back. It starts at 0.7 and falls to "
            "a tenth over 600 steps; idle gaps and retractions move it."
        ),
    ),
    Entry("fits", "Requests of the observed mean size that the pool holds. Reservation is left out, so fewer than that run."),
    Entry(
        "CUDA context",
        ("What the driver and NCCL take before anything is loaded. It is why free-before-weights is less than the card's size."),
    ),
    Entry("weights", "The model's weights on this GPU. They stay as they are at any fraction.", ("weights",)),
    Entry("KV used", "The part of the pool that running requests hold. Cached prefixes count as free: they can be evicted at once."),
    Entry("KV free", "The part of the pool that nobody holds. Part of it may be promised to answers under way."),
    Entry(
        "draft",
        ("Weights and KV of a draft model. Up to 0.5.12 they come out of the slack, from 0.5.15 on they are priced before the pool."),
    ),
    Entry("graphs", "Memory of captured CUDA graphs. A smaller largest batch takes less, and steps above it run without a graph."),
    Entry(
        "other",
        (
            "What is taken and cannot be told apart: activations, workspaces, allocator reserve. It is shown as it is, never "
            "spread over the rest."
        ),
    ),
    Entry(
        "other processes",
        "Memory of processes that are not the server's. On one card it lowers the pool of all ranks at the next start.",
        ("processes",),
    ),
)

_MOST: Final = 12
"""Entries that one key shows."""


def in_rows(rows: Sequence[Line]) -> tuple[Entry, ...]:
    """Words that stand in the rows of a pane, in the order of the rows."""
    found: dict[str, Entry] = {}
    for row in rows:
        text = plain(row)
        for entry in WORDS:
            if any(sign in text for sign in entry.signs or (entry.word,)):
                found.setdefault(entry.word, entry)
    return tuple(found.values())[:_MOST]


def of_option(option: str) -> tuple[Entry, ...]:
    """The lever of that id."""
    return (Entry(*OPTIONS[option]),) if option in OPTIONS else ()


def of_verdicts(verdicts: Iterable[str]) -> tuple[Entry, ...]:
    """The verdicts of those ids."""
    return tuple(Entry(*VERDICTS[verdict]) for verdict in verdicts if verdict in VERDICTS)


def entry_lines(entries: Sequence[Entry], width: int) -> tuple[Line, ...]:
    """Each word and its two sentences."""
    if not entries:
        return ((Span("Nothing here has a word of its own. F1 shows the keys."),),)
    lines: list[Line] = []
    for entry in entries:
        lines += [(Span(entry.word, "strong"),), *((Span(f"  {part}"),) for part in wrap(entry.text, max(10, width - 2))), BLANK]
    return tuple(lines[:-1])
