"""Answers of ``/v1/loads`` as rows of a ``SampleStore``: what is left where the server runs without --enable-metrics."""

from __future__ import annotations

from typing import Final

from kvtui.domain.answers import LoadRow, Loads
from kvtui.domain.reading import Known
from kvtui.domain.samples import DECODE

_COLUMNS: Final = (
    ("running", "running"),
    ("queued", "waiting"),
    ("tokens", "used_tokens"),
    ("usage", "usage"),
    ("gen_tput", "gen_tput"),
    ("accept_len", "accept_len"),
)


def load_rows_between(before: Loads | None, after: Loads) -> tuple[dict[str, float], ...]:
    """A row for each data-parallel rank that wrote anew since the answer before; empty where none did."""
    old = {} if before is None else {row.dp: row for row in before.rows}
    return tuple(_values(row, old.get(row.dp), after.at) for row in after.rows if _is_new(row, old.get(row.dp)))


def _is_new(row: LoadRow, old: LoadRow | None) -> bool:
    if not isinstance(row.running, Known):
        return False
    return old is None or _told(row) != _told(old)


def _told(row: LoadRow) -> list[float | None]:
    found = [getattr(row, name) for _, name in _COLUMNS]
    return [reading.value if isinstance(reading, Known) else None for reading in found]


def _values(row: LoadRow, old: LoadRow | None, at: float) -> dict[str, float]:
    values = {"at": at, "kind": DECODE, "dp": float(row.dp), "pp": 0.0}
    values.update({column: reading.value for column, name in _COLUMNS if isinstance(reading := getattr(row, name), Known)})
    if old is not None and isinstance(old.gen_tput, Known) and old.gen_tput.value == values.get("gen_tput"):
        # A prefill pass wrote the row: the throughput belongs to an earlier batch.
        del values["gen_tput"]
    return values
