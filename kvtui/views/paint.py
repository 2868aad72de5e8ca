"""From the presenters' styled text to Textual's: tones become variables of the palette."""

from __future__ import annotations

from typing import Final

from textual.content import Content

from kvtui.present.line import Line, Tone

STYLES: Final[dict[Tone, str]] = {
    "text": "",
    "dim": "$tone-dim",
    "strong": "bold",
    "label": "$tone-label",
    "good": "$severity-good",
    "note": "$severity-note",
    "warn": "$severity-warning",
    "bad": "bold $severity-critical",
    "key": "bold $tone-key",
    "changed": "bold $tone-changed",
    "mark": "reverse",
    "weights": "$kv-weights",
    "kv-used": "$kv-pool-used",
    "kv-free": "$kv-pool",
    "draft": "$kv-draft",
    "state": "$kv-state",
    "graphs": "$kv-graphs",
    "context": "$kv-context",
    "other": "$kv-other",
    "processes": "$kv-processes",
    "free": "$kv-free",
    "unknown": "$kv-unknown",
}
"""Textual style of each tone; every ``$name`` is defined in each palette of ``themes/``."""


def content(line: Line) -> Content:
    """One line; never read as markup."""
    return Content.assemble(*((span.text, STYLES[span.tone]) for span in line if span.text))


def block(lines: tuple[Line, ...]) -> Content:
    """Lines one below the other."""
    return Content("\n").join(content(line) for line in lines)
