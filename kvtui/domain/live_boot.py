"""One start as a running server tells it: from its endpoints and its command line, or laid over what the log says.

Order of belief for a setting: ``/server_info``, the log, the command line (facts/observability.md 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from kvtui.domain.answers import InternalState, ModelInfo, ServerInfo
from kvtui.domain.boot import Boot, FinalLine, PoolAllocation, RankMemory, Setting, WeightLoad
from kvtui.domain.geometry import Attention
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.models import attention_of
from kvtui.domain.process import FoundServer
from kvtui.domain.rank import MAIN, Rank
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.scrape import Scrape

_INFO: Final = Where("http", "/server_info")
_METRICS: Final = Where("http", "/metrics")
_NO_LOG: Final = Missing("only the log of the start tells it, and none is read")
_LATENT: Final = {Attention.MLA, Attention.DSA}
_DECIMALS: Final = 0.005
"""Half a unit in the last place of a size that ``/server_info`` gives, GiB."""


def boot_of(http: HttpReading | None, found: FoundServer | None) -> Boot | None:
    """The running server as one boot; None where nothing has answered and no process was found."""
    bare = _without_memory(http, found)
    return None if bare is None else replace(bare, ranks=_ranks(http, *_answers(http)))


def _answers(http: HttpReading | None) -> tuple[ServerInfo | None, Scrape | None]:
    info = http.server_info if http is not None and isinstance(http.server_info, ServerInfo) else None
    return info, http.scrape if http is not None and isinstance(http.scrape, Scrape) else None


def _without_memory(http: HttpReading | None, found: FoundServer | None) -> Boot | None:
    info, scrape = _answers(http)
    if info is None and scrape is None and found is None:
        return None
    version: Reading[str] = info.version if info is not None else Missing("the server did not say")
    return Boot(
        index=0,
        first_line=0,
        last_line=0,
        begun_at=None,
        ended_at=None,
        state="up" if info is not None or scrape is not None else "starting",
        version=version,
        settings=_settings(info, found),
        ranks=(),
        launch_command=_command(info, found),
        notes=info.notes if info is not None else (),
    )


def overlay(boot: Boot, http: HttpReading | None, found: FoundServer | None) -> Boot:
    """The log's boot with what the running server says laid over it; the log's memory lines stay."""
    live = _without_memory(http, found)
    if live is None:
        return boot
    asked = {name: setting for name, setting in live.settings.items() if setting.origin != "command line"}
    typed = {name: setting for name, setting in live.settings.items() if setting.origin == "command line"}
    ranks = boot.ranks
    # Looked at only where the log has no last line of the start: this runs each second.
    if boot.final is None:
        told = _ranks(http, *_answers(http))
        ranks = (*ranks, *told) if any(rank.final is not None for rank in told) else ranks
    return replace(
        boot,
        version=boot.version if isinstance(boot.version, Known) else live.version,
        settings=MappingProxyType({**typed, **boot.settings, **asked}),
        launch_command=live.launch_command or boot.launch_command,
        ranks=ranks,
        state="up" if boot.state == "starting" and live.state == "up" else boot.state,
    )


class Said:
    """What the running server said of each start, kept past its end: the next one answers for itself alone."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, float | None], Boot] = {}

    def over(self, boots: tuple[Boot, ...], http: HttpReading | None, found: FoundServer | None) -> tuple[Boot, ...]:
        """The log's boots, the newest with what is said now laid over it, earlier ones with what was said while they ran."""
        if not boots:
            return boots
        *earlier, newest = boots
        there = {_start(boot) for boot in boots}
        self._last = {start: boot for start, boot in self._last.items() if start in there}
        if http is not None and isinstance(http.server_info, ServerInfo):
            laid = self._last[_start(newest)] = overlay(newest, http, found)
        else:
            laid = overlay(self._kept(newest), http, found)
        return (*map(self._kept, earlier), laid)

    def _kept(self, boot: Boot) -> Boot:
        last = self._last.get(_start(boot))
        if last is None:
            return boot
        return replace(
            boot,
            version=boot.version if isinstance(boot.version, Known) else last.version,
            settings=last.settings,
            launch_command=last.launch_command,
            ranks=boot.ranks if boot.final is not None else last.ranks,
        )


def _start(boot: Boot) -> tuple[int, float | None]:
    """Which start of a log it is: its number changes where older ones are let go."""
    return boot.first_line, boot.begun_at


def same_server(boot: Boot, http: HttpReading | None) -> bool:
    """False where the log's pool and the running server's differ: the log is another start's, or another server's."""
    if boot.final is None or http is None:
        return True
    live = _pool(
        http.server_info if isinstance(http.server_info, ServerInfo) else None, http.scrape if isinstance(http.scrape, Scrape) else None
    )
    return live is None or live == boot.final.max_total_num_tokens


def _settings(info: ServerInfo | None, found: FoundServer | None) -> Mapping[str, Setting]:
    typed = {}
    if found is not None:
        where = Where("host", "command line of the main process")
        typed = {name: Setting(name, value, "command line", where) for name, value in found.settings.items()}
    return MappingProxyType({**typed, **(info.settings if info is not None else {})})


def _command(info: ServerInfo | None, found: FoundServer | None) -> str | None:
    if info is not None and info.launch_command:
        return info.launch_command
    return found.command.value if found is not None and isinstance(found.command, Known) else None


def _whole(reading: Reading[float] | Reading[int] | None) -> int | None:
    return int(reading.value) if isinstance(reading, Known) and 0 < reading.value < 1 << 50 else None


def _pool(info: ServerInfo | None, scrape: Scrape | None) -> int | None:
    """Tokens of one data-parallel rank's pool."""
    told = _whole(info.pool_tokens) if info is not None else None
    if told is None and scrape is not None:
        told = next((size for row in scrape.stage_rows() if (size := _whole(row.pool_tokens)) is not None), None)
    return told


def _ranks(http: HttpReading | None, info: ServerInfo | None, scrape: Scrape | None) -> tuple[RankMemory, ...]:
    """One memory a data-parallel rank that replied: replies do not name their rank, and their sizes hardly differ."""
    states = info.states if info is not None and info.states else (InternalState(0),)
    named = len(states) > 1
    return tuple(_memory(http, info, scrape, state, Rank(dp=number) if named else MAIN) for number, state in enumerate(states))


def _memory(http: HttpReading | None, info: ServerInfo | None, scrape: Scrape | None, state: InternalState, rank: Rank) -> RankMemory:
    architecture = _architecture(http)
    pool = _pool(info, scrape)
    loads: tuple[WeightLoad, ...] = ()
    weight = _first(state.weight_gib, *(gpu.weight_gib for gpu in (scrape.gpus if scrape is not None else ())))
    if architecture or isinstance(weight, Known):
        loads = (WeightLoad(begin_gib=_NO_LOG, end_gib=_NO_LOG, usage_gib=weight, type=architecture),)
    return RankMemory(
        rank=rank,
        init_usage_gib=_NO_LOG,
        loads=loads,
        pools=_pools(state, scrape, pool, architecture),
        final=_final(http, info, scrape, state, pool),
    )


def _first(*readings: Reading[float]) -> Reading[float]:
    return next((r for r in readings if isinstance(r, Known)), readings[0])


def _architecture(http: HttpReading | None) -> str | None:
    model = http.model if http is not None else None
    return model.architectures[0] if isinstance(model, ModelInfo) and model.architectures else None


def _pools(state: InternalState, scrape: Scrape | None, pool: int | None, architecture: str | None) -> tuple[PoolAllocation, ...]:
    """The KV pool's size, where told; its layout follows from the class, so an unknown class gives none."""
    size = _first(state.kv_gib, *(gpu.kv_gib for gpu in (scrape.gpus if scrape is not None else ())))
    kind = attention_of(architecture) if architecture else None
    if not isinstance(size, Known) or size.value <= 0 or pool is None or kind is None or kind in {Attention.SWA, Attention.DSV4}:
        return ()
    return (PoolAllocation("kv", pool, size.value, _DECIMALS, latent=kind in _LATENT, dtype=None, draft=False, where=size.where),)


def _final(
    http: HttpReading | None, info: ServerInfo | None, scrape: Scrape | None, state: InternalState, pool: int | None
) -> FinalLine | None:
    if pool is None:
        return None
    rows = scrape.stage_rows() if scrape is not None else ()
    gpus = scrape.gpus if scrape is not None else ()
    free = [gpu.startup_free_gib.value for gpu in gpus if isinstance(gpu.startup_free_gib, Known)]
    if not free and isinstance(state.startup_free_gib, Known):
        free = [state.startup_free_gib.value]
    settings = info.settings if info is not None else {}

    def number(name: str) -> int | None:
        setting = settings.get(name)
        value = setting.value if setting is not None else None
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1 << 50 else None

    context = next((size for row in rows if (size := _whole(row.context_len)) is not None), None)
    return FinalLine(
        max_total_num_tokens=pool,
        chunked_prefill_size=number("chunked_prefill_size"),
        max_prefill_tokens=number("max_prefill_tokens"),
        max_running_requests=_whole(state.running_cap) or number("max_running_requests"),
        context_len=context or number("context_length"),
        available_gib=min(free) if free else None,
        at=http.now if http is not None else None,
        where=_INFO if info is not None and isinstance(info.pool_tokens, Known) else _METRICS,
    )
