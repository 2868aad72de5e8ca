"""What the server's JSON endpoints say: ``/server_info``, ``/v1/loads``, ``/model_info`` (facts/observability.md 2.4).

Times are seconds since the epoch on the console's clock unless they are called stamps, which are the server's.
Sizes are GiB, of the target model and of the answering rank only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kvtui.domain.boot import Setting
from kvtui.domain.reading import Missing, Reading
from kvtui.domain.release import Release, parse_release
from kvtui.domain.scrape import UNTOLD


@dataclass(frozen=True, slots=True)
class InternalState:
    """One data-parallel rank's reply; replies come in any order and do not name their rank."""

    index: int
    running_cap: Reading[int] = UNTOLD
    """Effective ``max_running_requests`` of one rank: the real limit (0.5.9 and later)."""
    weight_gib: Reading[float] = UNTOLD
    kv_gib: Reading[float] = UNTOLD
    graph_gib: Reading[float] = UNTOLD
    """All phases together where they are told apart (0.5.18 and later), else the target's decode graphs."""
    graph_phases_gib: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    pool_tokens: Reading[int] = UNTOLD
    pool_tokens_swa: Reading[int] = UNTOLD
    startup_free_gib: Reading[float] = UNTOLD
    gen_tput: Reading[float] = UNTOLD
    """Of the last decode interval, which may be long ago."""
    accept_len: Reading[float] = UNTOLD
    """Mean since the start, where a draft is used."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """One answer of ``/server_info``."""

    at: float
    version: Reading[str] = UNTOLD
    settings: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    """Server arguments as the server resolved them, secrets replaced."""
    pool_tokens: Reading[int] = UNTOLD
    """``max_total_num_tokens`` of one data-parallel rank."""
    max_request_tokens: Reading[int] = UNTOLD
    """Longest prompt the server takes."""
    launch_command: str | None = None
    """What was typed, secrets removed (0.5.23 and later)."""
    states: tuple[InternalState, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def release(self) -> Release | None:
        """The release, or None where the version is missing or no number."""
        return None if isinstance(self.version, Missing) else parse_release(self.version.value)


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One data-parallel rank in ``/v1/loads``."""

    dp: int
    stamp: float | None = None
    """When the rank wrote it, on the server's clock (0.5.15 and later)."""
    running: Reading[float] = UNTOLD
    waiting: Reading[float] = UNTOLD
    """All queues together; on PD servers more than the queue gauge."""
    used_tokens: Reading[float] = UNTOLD
    total_tokens: Reading[float] = UNTOLD
    """Used tokens and those that queued requests will need."""
    waiting_uncached_tokens: Reading[float] = UNTOLD
    """Prompt tokens that queued requests still have to compute."""
    pool_tokens: Reading[float] = UNTOLD
    running_cap: Reading[float] = UNTOLD
    usage: Reading[float] = UNTOLD
    gen_tput: Reading[float] = UNTOLD
    cache_hit_rate: Reading[float] = UNTOLD
    accept_len: Reading[float] = UNTOLD
    weight_gib: Reading[float] = UNTOLD
    kv_gib: Reading[float] = UNTOLD
    graph_gib: Reading[float] = UNTOLD
    queues: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    """Requests a queue: waiting, grammar, paused, retracted, and those of PD."""
    mode: str = ""
    """``prefill`` or ``decode`` on PD servers."""
    prefill_tokens_total: Reading[float] = UNTOLD
    """Prompt tokens computed since the start (0.5.15 and later)."""
    prefill_busy_s_total: Reading[float] = UNTOLD
    """Seconds spent in prefill since the start (0.5.15 and later)."""


@dataclass(frozen=True, slots=True)
class Loads:
    """One answer of ``/v1/loads``."""

    at: float
    version: str = ""
    accelerator: str = ""
    rows: tuple[LoadRow, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def newest_stamp(self) -> float | None:
        """The newest of the ranks' stamps, or None where they carry none."""
        return max((row.stamp for row in self.rows if row.stamp is not None), default=None)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One answer of ``/model_info``."""

    at: float
    model: str = ""
    """Path or name it was loaded from, made safe."""
    served_name: str = ""
    architectures: tuple[str, ...] = ()
    model_type: str = ""
    generates: bool | None = None
    """False: an embedding or reward model."""
    mode: str = ""
    """PD role, where told."""
