"""One start of a server, as its log tells it: settings, memory lines a rank, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Union

from kvtui.domain.rank import Rank
from kvtui.domain.reading import Known, Missing, Reading, Where

Scalar = Union[str, int, float, bool, None, tuple["Scalar", ...]]
SettingOrigin = Literal["server_args", "command line", "forced", "log", "server_info"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One server argument under its ServerArgs name (``tp_size``, not ``--tp``)."""

    name: str
    value: Scalar
    origin: SettingOrigin
    where: Where


@dataclass(frozen=True, slots=True)
class WeightLoad:
    """A pair of "Load weight begin" and "Load weight end" lines. GiB."""

    begin_gib: Reading[float]
    """Free memory before."""
    end_gib: Reading[float]
    """Free memory after."""
    usage_gib: Reading[float]
    """``mem usage`` of the end line."""
    type: str | None = None
    """Class of the model loaded."""
    dtype: str | None = None
    """Model dtype, without ``torch.`` (0.5.9 and before)."""
    quant: str | None = None
    """The free text some versions print about quantisation."""
    draft: bool = False
    """A draft model's load."""


@dataclass(frozen=True, slots=True)
class PoolAllocation:
    """One "KV Cache is allocated" line. GiB; tokens are slots without the dummy page."""

    kind: Literal["kv", "full", "swa"]
    tokens: int | None
    size_gib: float | None
    """K and V together, or the MLA pool."""
    decimals_gib: float
    """Half a unit in the last place of each printed size, added up: how far ``size_gib`` may be off."""
    latent: bool
    """True where the line prints one "KV size" (MLA); False for K and V sizes."""
    dtype: str | None
    draft: bool
    where: Where


@dataclass(frozen=True, slots=True)
class StatePool:
    """The "Mamba Cache is allocated" line. GiB."""

    slots: int | None
    conv_gib: float
    ssm_gib: float
    intermediate_gib: float
    where: Where

    @property
    def size_gib(self) -> float:
        """All states of the target model together."""
        return self.conv_gib + self.ssm_gib + self.intermediate_gib


@dataclass(frozen=True, slots=True)
class SwaSplit:
    """Tokens of the full-attention and of the sliding-window pool."""

    full_tokens: int
    swa_tokens: int
    where: Where


@dataclass(frozen=True, slots=True)
class GraphCapture:
    """One capture of CUDA graphs, begin and end lines together. GiB."""

    label: str
    """``decode``, ``draft``, ``draft extend``, ``target verify``, ``target prefill``, ..."""
    begin_gib: Reading[float]
    end_gib: Reading[float]
    usage_gib: Reading[float]
    batch_sizes: tuple[int, ...] = ()
    draft: bool = False


@dataclass(frozen=True, slots=True)
class FinalLine:
    """The ``max_total_num_tokens=`` line that ends a start-up."""

    max_total_num_tokens: int
    chunked_prefill_size: int | None
    max_prefill_tokens: int | None
    max_running_requests: int | None
    context_len: int | None
    available_gib: float | None
    """``available_gpu_mem`` (or ``available_cpu_mem``): the headroom at the end of the start, GiB."""
    at: float | None
    where: Where


@dataclass(frozen=True, slots=True)
class HostPool:
    """HiCache's host allocation of one rank. Decimal GB, as printed."""

    size_gb: float
    tokens: int | None
    where: Where


@dataclass(frozen=True, slots=True)
class RankMemory:
    """What one rank printed about memory while it started."""

    rank: Rank
    init_usage_gib: Reading[float]
    """CUDA context, NCCL: "Init torch distributed ends. mem usage"."""
    loads: tuple[WeightLoad, ...] = ()
    pools: tuple[PoolAllocation, ...] = ()
    pool_ends_gib: tuple[Known[float], ...] = ()
    """"Memory pool end" lines in order: the target's, then the draft's."""
    state: StatePool | None = None
    swa: SwaSplit | None = None
    captures: tuple[GraphCapture, ...] = ()
    host_pools: tuple[HostPool, ...] = ()
    final: FinalLine | None = None


@dataclass(frozen=True, slots=True)
class SizingLines:
    """Figures that some versions or debug builds print about the sizing itself. GiB."""

    rest_gib: Reading[float]
    """``rest_memory`` or ``available_bytes``."""
    pre_gib: Reading[float]
    """``total_gpu_memory`` of a profiling line: memory before the weights."""
    post_gib: Reading[float]
    cell_bytes: Reading[float]
    """``bytes_per_full_token``; may be a fraction."""
    multimodal_reserve_gib: Reading[float]


NO_SIZING_LINES = SizingLines(
    rest_gib=Missing("the log prints no rest_memory"),
    pre_gib=Missing("the log prints no profiling line"),
    post_gib=Missing("the log prints no profiling line"),
    cell_bytes=Missing("the log prints no bytes per token"),
    multimodal_reserve_gib=Missing("the log prints no multimodal reserve"),
)

BootState = Literal["starting", "up", "failed", "ended"]


@dataclass(frozen=True, slots=True)
class Boot:
    """One start of the server."""

    index: int
    """0 for the first start in the log."""
    first_line: int
    last_line: int
    begun_at: float | None
    ended_at: float | None
    """Stamp of the boot's last line."""
    state: BootState
    version: Reading[str]
    """As the log names it; where it does not, see ``version_hint``."""
    version_hint: tuple[str | None, str | None] = (None, None)
    """Oldest and newest release that the wording of the lines allows; None: open."""
    settings: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    ranks: tuple[RankMemory, ...] = ()
    sizing: SizingLines = NO_SIZING_LINES
    launch_command: str | None = None
    """The command line as found in the log, secrets removed."""
    notes: tuple[str, ...] = ()
    """What could not be read, or was read with a guess."""

    def setting(self, name: str) -> Setting | None:
        """The setting of that ServerArgs name, if the log shows it."""
        return self.settings.get(name)

    def number(self, name: str) -> float | None:
        """A setting as a number, or None when it is absent, unset or not a number."""
        found = self.settings.get(name)
        if found is None or isinstance(found.value, bool) or not isinstance(found.value, (int, float)):
            return None
        return found.value

    def text(self, name: str) -> str | None:
        """A setting as text, or None when it is absent or not text."""
        found = self.settings.get(name)
        return found.value if found is not None and isinstance(found.value, str) else None

    def switch(self, name: str) -> bool:
        """True where the log shows the setting and it is on."""
        found = self.settings.get(name)
        return found is not None and found.value is True

    @property
    def final(self) -> FinalLine | None:
        """The final line of the lowest rank that printed one; the ranks' pools are equal within TP."""
        return next((memory.final for memory in self.ranks if memory.final is not None), None)
