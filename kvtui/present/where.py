"""Where each number of the account comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kvtui.domain.account import Account
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import gb_to_gib
from kvtui.present.figures import cell_text, fraction, gib, tokens
from kvtui.present.line import BLANK, Line, Span, cells, clean, clip_line, pad, pad_left, wrap
from kvtui.present.readings import N, finite, origin, reason
from kvtui.present.state import ViewState

UNKNOWN: Final = "unknown"
GAP: Final = 2
"""Blank columns between two columns."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One number and where it comes from."""

    name: str
    figure: str
    """Empty where there is none."""
    said: str
    """Its origin, or why it is missing."""


def where(state: ViewState, width: int) -> tuple[Line, ...]:
    """Every figure of the account with its origin, or why it is missing."""
    account = state.analysis.account
    lines: list[Line] = []
    rows = _rows(account)
    name, figure = max(cells(told.name) for told in rows) + GAP, max(cells(told.figure or UNKNOWN) for told in rows)
    for told in rows:
        parts = wrap(told.said, max(10, width - name - figure - GAP)) or ("",)
        shown = Span(pad_left(told.figure or UNKNOWN, figure) + " " * GAP, "text" if told.figure else "note")
        lines.append((Span(pad(told.name, name), "label"), shown, Span(parts[0], "dim")))
        lines += [(Span(" " * (name + figure + GAP)), Span(part, "dim")) for part in parts[1:]]
    identity = account.identity
    lines += [BLANK, (Span(pad("geometry", name), "label"), Span(clean(identity.geometry_source)))]
    for label, words in (("version", identity.version), ("model", identity.model), ("KV dtype", identity.kv_dtype)):
        value = clean(words.value, 200) if isinstance(words, Known) else UNKNOWN
        lines.append((Span(pad(label, name), "label"), Span(value), Span(f"  {origin(words)}", "dim")))
    return tuple(clip_line(line, width) for line in lines)


def _origin(name: str, reading: Known[N] | Missing, write: Callable[[N], str]) -> Origin:
    value = finite(reading)
    return Origin(name, "", reason(reading)) if value is None else Origin(name, write(value), origin(reading))


def _gib(value: float) -> str:
    return f"{gib(value)} GiB"


def _rows(account: Account) -> tuple[Origin, ...]:
    return (
        _origin("mem_fraction_static", account.fraction, fraction),
        _origin("free before weights", account.pre_gib, _gib),
        _origin("free after weights", account.post_gib, _gib),
        _origin("slack", account.slack_gib, _gib),
        _origin("taken off besides", account.extras_gib, _gib),
        _origin("rest for the pool", account.rest_gib, _gib),
        _origin("bytes a token", account.cell_bytes, lambda value: f"{cell_text(value)} B"),
        _origin("tokens predicted", account.tokens_predicted, tokens),
        _origin("tokens reported", account.tokens_reported, tokens),
        _origin("KV pool", account.kv_gib, _gib),
        _origin("sliding window pool", account.swa_tokens, tokens),
        _origin("state slots", account.state_slots, tokens),
        _origin("cap on tokens", account.cap_tokens, tokens),
        _origin("cap on running", account.running_cap, tokens),
        _origin("context length", account.context_len, tokens),
        _origin("weights", account.weights_gib, _gib),
        _origin("draft weights", account.draft_weights_gib, _gib),
        _origin("draft pool", account.draft_kv_gib, _gib),
        _origin("CUDA graphs", account.graphs_gib, _gib),
        _origin("CUDA context, NCCL", account.context_gib, _gib),
        _origin("request table", account.req_to_token_gib, _gib),
        _origin("headroom", account.headroom_gib, _gib),
        _origin("HiCache on the host", account.host_gb, lambda value: _gib(gb_to_gib(value))),
    )
