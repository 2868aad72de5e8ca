"""Which geometry, and so which cell, belongs to a boot.

In this order: a configuration the user gave or a model folder; the built-in table by name; the
table by class and measured size; the log alone. A geometry that the log's own KV size contradicts
is dropped, with a note.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from kvtui.domain.account import CellBasis
from kvtui.domain.boot import Boot
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.identity import architecture, kv_dtype, model_name
from kvtui.domain.measured_cell import CellInterval, measured_cell, whole_heads
from kvtui.domain.memory_facts import target_pools
from kvtui.domain.models import MODELS, candidates, find_model
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.release import Release
from kvtui.domain.sizing.config import Cell, SizingError


class Pricer(Protocol):
    """The cell of a geometry with a KV dtype on this deployment, drafts not counted."""

    def __call__(self, geometry: Geometry, dtype: str | None) -> Cell:
        """Raises SizingError where the geometry is not modelled."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """The geometry and the cell taken for a boot."""

    geometry: Geometry | None
    source: str
    cell: Reading[float]
    basis: CellBasis
    formula: str
    dtype: Reading[str]
    interval: CellInterval | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Try:
    geometry: Geometry
    source: str
    named: bool
    """Named by the user or by the log: taken without a size to check it against."""


def as_served(boot: Boot, geometry: Geometry) -> Geometry:
    """The geometry with images on where the server was told so: some classes are served as text by default."""
    if boot.switch("enable_multimodal") and geometry.vision_layers is not None:
        return replace(geometry, multimodal=True)
    return geometry


def _tries(boot: Boot, given: Geometry | None, given_source: str) -> list[_Try]:
    tries = [_Try(given, given_source, named=True)] if given is not None else []
    name, kind = model_name(boot), architecture(boot)
    known_name = name.value if isinstance(name, Known) else None
    known_class = kind.value if isinstance(kind, Known) else None
    match = find_model(known_name, known_class)
    if match is not None:
        tries.append(_Try(match.geometry, f"built-in table, by {match.basis}", named=True))
    elif known_class is not None:
        tries += [
            _Try(geometry, f"built-in table, by class {known_class} and pool size", named=False) for geometry in candidates(known_class)
        ]
    elif any(pool.latent for pool in target_pools(boot)):
        source = "built-in table, by the latent pool's size"
        tries += [_Try(geometry, source, named=False) for geometry in MODELS if geometry.attention is Attention.MLA]
    return [replace(attempt, geometry=as_served(boot, attempt.geometry)) for attempt in tries]


def _dtypes(boot: Boot, release: Release | None, geometry: Geometry) -> list[tuple[str | None, Reading[str]]]:
    """KV dtypes to try: the stated one; where it is only assumed, fp8 as well."""
    stated = kv_dtype(boot, release, geometry)
    if not isinstance(stated, Known):
        return [(None, stated)]
    options: list[tuple[str | None, Reading[str]]] = [(stated.value, stated)]
    asked = boot.setting("kv_cache_dtype")
    certain = any(p.dtype for p in target_pools(boot)) or (asked is not None and asked.value not in (None, "auto"))
    if not certain and stated.value not in {"fp8_e4m3", "fp8_e5m2", "fp4"}:
        options.append(("fp8_e4m3", Known("fp8_e4m3", None, Where("formula", "worked out from the pool's size"))))
    return options


def choose_cell(
    boot: Boot, release: Release | None, price: Pricer, *, page: int | None, given: Geometry | None, given_source: str
) -> Choice:
    """The geometry and cell of a boot; ``Missing`` cell where nothing bounds it."""
    interval = measured_cell(boot, page)
    notes: list[str] = []
    if isinstance(boot.sizing.cell_bytes, Known):
        return _printed(boot, release, boot.sizing.cell_bytes, given)
    fitting: list[Choice] = []
    for attempt in _tries(boot, given, given_source):
        choice = _check(boot, release, attempt, interval, price, notes)
        if choice is None:
            continue
        if attempt.named:
            return replace(choice, notes=(*notes, *choice.notes))
        fitting.append(choice)
    if fitting and len({c.cell.value for c in fitting if isinstance(c.cell, Known)}) == 1:
        return _shared(fitting, tuple(notes))
    return _measured(boot, release, interval, tuple(notes))


def _printed(boot: Boot, release: Release | None, cell: Known[float], given: Geometry | None) -> Choice:
    """The server's own figure: no geometry can be better; one is only named for the model's kind."""
    geometry = given or next((attempt.geometry for attempt in _tries(boot, None, "") if attempt.named), None)
    return Choice(geometry, "the log prints the cell", cell, "printed", "", kv_dtype(boot, release, geometry), None)


def _check(
    boot: Boot, release: Release | None, attempt: _Try, interval: CellInterval | None, price: Pricer, notes: list[str]
) -> Choice | None:
    """A choice where the geometry fits the log; None, with a note for a named one, where it does not."""
    prices = []
    for dtype, reading in _dtypes(boot, release, attempt.geometry):
        try:
            cell = price(attempt.geometry, dtype)
        except SizingError as error:
            if attempt.named:
                notes.append(f"{attempt.geometry.name}: not modelled here: {error.message} The server's own numbers are used.")
            return (
                Choice(attempt.geometry, attempt.source, Missing(error.message), "unknown", "", reading, interval)
                if attempt.named
                else None
            )
        prices.append(cell)
        if interval is None or interval.holds(cell.bytes):
            if interval is None and not attempt.named:
                return None
            unsure = (f"{attempt.geometry.name}: {attempt.geometry.note}",) if not attempt.geometry.sure and attempt.geometry.note else ()
            cell_reading = Known(cell.bytes, None, Where("table", f"{attempt.geometry.name}: {cell.formula}"))
            return Choice(attempt.geometry, attempt.source, cell_reading, "geometry", cell.formula, reading, interval, unsure)
    if attempt.named and interval is not None:
        allowed = f"{interval.low:,.0f} to {interval.high:,.0f}"
        notes.append(
            f"The geometry of {attempt.geometry.name} ({attempt.source}) gives {prices[0].bytes:,.0f} B a token, but the log's KV size "
            f"allows only {allowed}: it is not used."
        )
    return None


def _unpriced(
    boot: Boot, release: Release | None, attempt: _Try, interval: CellInterval | None, notes: list[str], error: SizingError
) -> Choice:
    """A named model that the arithmetic does not cover: its identity, with the cell as the log bounds it."""
    notes.append(f"{attempt.geometry.name} is not modelled here: {error.message} The server's own numbers are used.")
    return replace(_measured(boot, release, interval, ()), geometry=attempt.geometry, source=attempt.source)


def _shared(fitting: list[Choice], notes: tuple[str, ...]) -> Choice:
    """Several models of one class with the same cell: the cell is certain, the model is not."""
    first = fitting[0]
    names = sorted({c.geometry.name for c in fitting if c.geometry is not None})
    if len(names) == 1:
        return replace(first, notes=(*notes, *first.notes))
    source = f"built-in table: the pool's size fits {', '.join(names[:4])}{' and others' if len(names) > 4 else ''}, all with this cell"
    return replace(first, geometry=None, source=source, notes=notes)


def _measured(boot: Boot, release: Release | None, interval: CellInterval | None, notes: tuple[str, ...]) -> Choice:
    """The log alone."""
    dtype = kv_dtype(boot, release, None)
    if interval is None:
        reason = "no known model, and no KV size to measure it by"
        return Choice(None, "the log does not name a known model", Missing(reason), "unknown", "", dtype, None, notes)
    line = interval.where.line
    latent = any(pool.latent for pool in target_pools(boot))
    exact = whole_heads(interval, dtype.value) if isinstance(dtype, Known) and not latent else None
    if exact is not None:
        where = Where("log", "KV size / tokens, the only whole number of heads in its rounding", line)
        return Choice(None, "the log's own KV size and tokens", Known(float(exact), None, where), "pool size", "", dtype, interval, notes)
    where = Where("log", f"KV size / tokens, between {interval.low:,.0f} and {interval.high:,.0f}", line)
    return Choice(None, "the log's own KV size and tokens", Known(interval.mid, None, where), "pool size", "", dtype, interval, notes)
