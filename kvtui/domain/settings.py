"""What a person may set, as data: each setting once, with its type, default, range, unit and meaning.

The configuration file's reader, ``kvtui config`` and the README's table are all made from the fields below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final, Literal

Kind = Literal["number", "count", "switch", "text", "file", "address"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a person must know of one setting, beside its name and its default."""

    kind: Kind
    help: str
    low: float | None = None
    high: float | None = None
    unit: str = ""
    """What a number counts, as it stands behind it."""
    example: str = ""
    """A value in TOML, for a setting that has no default."""
    unset: str = ""
    """What holds where it is not set, for a setting that has no default."""
    variable: str = ""
    """The environment variable that sets it too."""

    @property
    def range(self) -> str:
        """``1 to 5 s``; empty where any value goes."""
        if self.low is None or self.high is None:
            return ""
        return f"{self.low:g} to {self.high:g}{f' {self.unit}' if self.unit else ''}"


def _number(low: float, high: float, unit: str, text: str) -> dict[str, Told]:
    return {"told": Told("number", text, low, high, unit)}


def _told(kind: Kind, text: str, **more: Any) -> dict[str, Told]:  # noqa: ANN401 (the fields of Told)
    return {"told": Told(kind, text, **more)}


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between two readings of a running server (DESIGN.md section 5: one page a second, ``/server_info`` once a minute)."""

    # The watch for frozen values takes what has not moved for 6 s as still (domain/motion.py): pages must come more often.
    metrics: float = field(default=1.0, metadata=_number(1, 5, "s", "time between two pages of /metrics; beside a followed log at least 2"))
    loads: float = field(
        default=5.0,
        metadata=_number(
            1, 5, "s", "time between two /v1/loads beside /metrics, from SGLang 0.5.15 on; older ones are asked once a minute"
        ),
    )
    server_info: float = field(default=60.0, metadata=_number(60, 3600, "s", "time between two /server_info, which wait for the scheduler"))
    gpu: float = field(default=2.0, metadata=_number(1, 10, "s", "time between two readings of the GPU driver"))
    host: float = field(default=2.0, metadata=_number(1, 30, "s", "time between two readings of CPU, memory and processes"))
    log: float = field(default=1.0, metadata=_number(0.5, 10, "s", "time between two looks at a log that grows"))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From when on the rules speak (facts/diagnoses.md); the rest of their numbers belongs to SGLang and is not moved."""

    usage_full: float = field(
        default=0.9,
        metadata=_number(
            0.5,
            0.999,
            "of the pool",
            "KV usage, at its 95th percentile, from which on the pool counts as full; admission may show it below that",
        ),
    )
    queue_share: float = field(
        default=0.5,
        metadata=_number(0.05, 1, "of the samples", "samples with waiting requests from which on the server counts as queueing"),
    )
    prefill_share: float = field(
        default=0.4,
        metadata=_number(
            0.1, 0.95, "of the time", "time in prefill from which on prefill is what limits; full chunks beside a queue show it below that"
        ),
    )
    cache_hit_low: float = field(
        default=0.05, metadata=_number(0, 0.8, "of the prompt tokens", "cache hits below which prompts count as not reused (hicache)")
    )
    retractions_per_min: float = field(
        default=1.0, metadata=_number(0.05, 100, "a minute", "retractions above which they are a limit, not an accident")
    )
    dp_ratio: float = field(
        default=1.3, metadata=_number(1.05, 10, "times the mean", "the busiest data-parallel rank's tokens from which on ranks are uneven")
    )
    foreign_memory_gib: float = field(
        default=0.5, metadata=_number(0.05, 100, "GiB", "memory of another process on a GPU of the server from which on it is named")
    )
    persistence_s: float = field(
        default=15.0,
        metadata=_number(
            15, 600, "s", "how long a change of verdict on a running server must last before it is shown; the first one is shown at once"
        ),
    )


USUAL: Final = Thresholds()


@dataclass(frozen=True, slots=True)
class Target:
    """A server or a log that is opened by a name; at least one of ``url`` and ``log`` is set."""

    url: str | None = field(
        default=None, metadata=_told("address", "address of the server", example='"http://gpu7:30000"', unset="the log alone")
    )
    log: str | None = field(
        default=None, metadata=_told("file", "its log", example='"/var/log/sglang.log"', unset="found by itself, on this machine")
    )
    api_key_file: str | None = field(
        default=None, metadata=_told("file", "file that holds its API key", example='"~/.keys/prod"', unset="the variable SGLANG_API_KEY")
    )
    model: str | None = field(
        default=None, metadata=_told("file", "its config.json, or the folder of it", example='"/models/qwen"', unset="as the log tells it")
    )

    @property
    def opens(self) -> str:
        """What is typed to open it without its name."""
        return self.url or self.log or ""


@dataclass(frozen=True, slots=True)
class Settings:
    """All that is set; what is None follows the terminal."""

    palette: str | None = field(
        default=None,
        metadata=_told("text", "palette, as for --theme", example='"light"', unset="what the terminal can show", variable="KVTUI_THEME"),
    )
    ascii: bool | None = field(
        default=None,
        metadata=_told("switch", "only ASCII signs", example="true", unset="what the terminal can show", variable="KVTUI_ASCII"),
    )
    mouse: bool = field(
        default=True,
        metadata=_told(
            "switch", "clicks and scrolling; false leaves the mouse to the terminal, as --no-mouse does", variable="KVTUI_MOUSE"
        ),
    )
    width: int | None = field(
        default=None,
        metadata=_told(
            "count", "columns of a text report", low=40, high=400, unit="columns", example="100", unset="the terminal's, up to 140"
        ),
    )
    intervals: Intervals = Intervals()
    thresholds: Thresholds = Thresholds()
    targets: Mapping[str, Target] = field(default_factory=lambda: MappingProxyType({}))
    """By name."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """Keys by the command's id, where they are not the command's own."""


DEFAULTS: Final = Settings()
TABLES: Final[Mapping[str, type]] = MappingProxyType({"intervals": Intervals, "thresholds": Thresholds})
"""Tables with a fixed set of names."""
OPEN_TABLES: Final = ("targets", "keys")
"""Tables whose names are a person's own, or a command's."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting."""

    table: str
    """Empty: it stands at the top of the file."""
    name: str
    default: object
    told: Told

    @property
    def path(self) -> str:
        """``thresholds.usage_full``."""
        return f"{self.table}.{self.name}" if self.table else self.name


def entries_of(made: type, table: str = "") -> Iterator[Entry]:
    """The settings that are fields of a class."""
    for one in fields(made):
        if "told" in one.metadata:
            yield Entry(table, one.name, one.default, one.metadata["told"])


def every_entry() -> tuple[Entry, ...]:
    """All settings but targets and keys, in the order of the file."""
    tables = [entry for name, made in TABLES.items() for entry in entries_of(made, name)]
    return (*entries_of(Settings), *tables)
