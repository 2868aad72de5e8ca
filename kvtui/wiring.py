"""The only place that builds sources and joins them to the engine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

from kvtui.diagnose.earlier import looked_back
from kvtui.domain.accounting import NO_GEOMETRY, Given
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.process import Discovery, FoundServer
from kvtui.domain.reading import Known, Missing
from kvtui.domain.settings import DEFAULTS, Settings, Thresholds
from kvtui.domain.sizing.deployment import Deployment
from kvtui.engine.analyse import analyse
from kvtui.engine.clock import WallClock, local_offset, uptime
from kvtui.engine.feed import SourceFeed
from kvtui.engine.follower import LogLike
from kvtui.engine.live import LiveSource
from kvtui.engine.paced import Paced
from kvtui.engine.planning import Planned, PlanRequest, known_model, plan
from kvtui.parse.redact import redact, safe
from kvtui.ports import Source
from kvtui.present.target import is_address, shown
from kvtui.sources.discovery import discover
from kvtui.sources.errors import Unreadable
from kvtui.sources.logfile import LogSource
from kvtui.sources.model_folder import read_geometry
from kvtui.sources.opening import refuse_what_is_no_log

LOOK_S: Final = 2.6
"""Seconds that a report looks at a running server: two pages of metrics, and one try at each endpoint."""
LATE_S: Final = 0.1
"""Seconds after its sources that a console looks at what they have read: most have it by then."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to look at."""

    target: str | FoundServer
    """A log file, ``-``, the address of a server, or a server found on this machine."""
    model: Path | None = None
    """A config.json or a model folder."""
    boot: int | None = None
    """Start to show, 1 for the first; None: the newest."""
    api_key: str | None = None
    seconds: float | None = None
    """How long a report looks at a running server; None: ``LOOK_S``."""
    stdin: BinaryIO | None = None
    """What ``-`` reads, where it is not standard input."""
    log: str | None = None
    """The log of the server at an address, where it is not found by itself."""
    settings: Settings = DEFAULTS
    """The pace of what is read, and the thresholds of what is judged."""

    @property
    def shown(self) -> str:
        """The target as it may be shown: a URL's secrets removed, a path's folders left out."""
        return shown(self.target) if isinstance(self.target, str) else self.target.shown


def is_live(request: Request) -> bool:
    """True where a running server is asked, not a log read."""
    return isinstance(request.target, FoundServer) or is_address(request.target)


def servers_here() -> Discovery:
    """The SGLang servers of this machine, by their processes."""
    return discover()


def api_key(file: Path | None) -> str | None:
    """The server's API key: from a file, else from SGLANG_API_KEY; None where there is none.

    Raises sources.errors.Unreadable where the file cannot be read or is empty; the key itself is never in a message.
    """
    if file is None:
        return os.environ.get("SGLANG_API_KEY", "").strip() or None
    try:
        key = file.read_text(encoding="utf-8", errors="strict")[:4096].strip()
    except (OSError, ValueError):
        raise Unreadable(f"The key file {safe(str(file), 200)} cannot be read.") from None
    if not key or "\n" in key:
        raise Unreadable(f"The key file {safe(str(file), 200)} must hold one line: the key.")
    return key


def given_geometry(frame: Frame, model: Path | None) -> Given:
    """The user's configuration, else the server's own model folder where it is on this machine.

    Raises sources.errors.Unreadable where the user's file cannot be read; a folder of the log's that cannot is passed over.
    """
    if model is not None:
        return read_geometry(model)
    boot = frame.boot
    path = boot.text("model_path") if boot is not None else None
    if path and path.startswith("/"):
        return read_geometry(Path(path), optional=True)
    return NO_GEOMETRY


def _log_source(request: Request) -> LogSource:
    source = LogSource(str(request.target), WallClock(), every=request.settings.intervals.log, stdin=request.stdin)
    if request.boot is not None:
        source.choose(request.boot - 1)
    return source


def open_source(request: Request) -> Source:
    """The source behind a target.

    Raises sources.errors.Unreadable with one sentence where the target cannot be used, now or ever.
    """
    if is_live(request):
        return _live_source(request)
    if request.target != "-" and not Path(str(request.target)).exists():
        # The console would wait for a file that never comes.
        raise Unreadable(f"There is no file {safe(str(request.target), 200)}.")
    refuse_what_is_no_log(str(request.target))
    return LiveSource(WallClock(), log=_log_source(request), local_offset=local_offset())


def _live_source(request: Request) -> LiveSource:
    """A running server: its endpoints, and where it runs here its log, the GPUs and the host."""
    from kvtui.sources.found import FoundSource
    from kvtui.sources.gpus import GpuSource
    from kvtui.sources.host import HostSource
    from kvtui.sources.sglang import SglangSource

    clock, pace = WallClock(), request.settings.intervals
    found = request.target if isinstance(request.target, FoundServer) else _found_at(str(request.target))
    # A server bound to one of the machine's addresses does not answer on another: a port alone leaves the address to its command line.
    named = isinstance(request.target, str) and not request.target.startswith(":")
    address = found.url if found is not None and not named else _full(str(request.target))
    if address is None:
        raise Unreadable("The server's port is not known: give its address, such as http://127.0.0.1:30000.")
    try:
        http = SglangSource(address, clock, api_key=request.api_key, intervals=pace)
    except ValueError as error:
        raise Unreadable(f"{redact(address)} cannot be asked: {error}") from None
    log, notes = _log_of(request, found, clock)
    host = HostSource(clock, _pids(found), every=pace.host) if found is not None else None
    return LiveSource(
        clock,
        log=log,
        http=http,
        gpus=GpuSource(clock, every=pace.gpu) if found is not None else None,
        host=host,
        found=found,
        finder=FoundSource(found, lambda now: host.watch(_pids(now))) if found is not None and host is not None else None,
        local_offset=local_offset(),
        uptime=uptime,
        notes=(*notes, *(found.notes if found is not None else ())),
        relog=None if request.log is not None else _Relog(clock, log, pace.log),
    )


class _Relog:
    """The log of a server that was started anew: a file is read on by the source that read the one before, so that its starts stay."""

    def __init__(self, clock: WallClock, log: LogLike | None, every: float) -> None:
        self._clock, self._log, self._every = clock, log, every

    def __call__(self, found: FoundServer) -> LogLike | None:
        if found.log.kind == "file" and isinstance(self._log, LogSource):
            self._log.follow(found.log.name)
        else:
            self._log = _found_log(found, self._clock, self._every)
        return self._log


def _pids(found: FoundServer) -> list[int]:
    return [process.pid for process in found.processes]


def _full(target: str) -> str:
    return f"http://127.0.0.1{target}" if target.startswith(":") else target


def _found_at(target: str) -> FoundServer | None:
    """The server of this machine that listens at an address; None where the address is another machine's."""
    try:
        parts = urlsplit(_full(target))
        asked = parts.port
    except ValueError:
        raise Unreadable(f"{shown(target)} cannot be read as an address: write it as http://host:port, with a port up to 65535.") from None
    if (parts.hostname or "") not in {"127.0.0.1", "localhost", "::1", "0.0.0.0", socket.gethostname()}:  # noqa: S104 (what a user may type)
        return None
    port = asked or (443 if parts.scheme == "https" else 80)
    return next((s for s in servers_here().servers if isinstance(s.port, Known) and s.port.value == port), None)


def _log_of(request: Request, found: FoundServer | None, clock: WallClock) -> tuple[LogLike | None, tuple[str, ...]]:
    """The log of a live server: as told by the user, else where the processes write it."""
    if request.log is not None:
        return LogSource(request.log, clock, every=request.settings.intervals.log), ()
    if found is None:
        return None, ()
    return _found_log(found, clock, request.settings.intervals.log), ((found.log.note,) if found.log.note else ())


def _found_log(found: FoundServer, clock: WallClock, every: float) -> LogLike | None:
    """Where the processes write their log, looked at ``every`` so many seconds; None where that cannot be read."""
    from kvtui.sources.streamlog import StreamLogSource
    from kvtui.sources.streams import ProgramStream

    target = found.log
    if target.kind == "file":
        return LogSource(target.name, clock, every=every)
    if target.kind in {"journal", "docker", "podman", "kubernetes"}:
        return StreamLogSource(ProgramStream(target, clock), clock, every=every)
    return None


def read_once(request: Request) -> Analysis:
    """Everything that can be read now, judged.

    Raises sources.errors.Unreadable.
    """
    thresholds = request.settings.thresholds
    if request.seconds is None:
        # One look wants two pages soon, whatever the pace of a console that stays.
        request = replace(request, settings=replace(request.settings, intervals=DEFAULTS.intervals))
    frame = asyncio.run(_look(_live_source(request), request.seconds)) if is_live(request) else _log_source(request).read_all()
    return looked_back(analyse(frame, given_geometry(frame, request.model), thresholds))


async def _look(source: LiveSource, seconds: float | None) -> Frame:
    """One look at a running server: two pages where they come in time, or all that comes in ``seconds``.

    Raises Unreadable where nothing answered.
    """
    try:
        frame = await source.settle(LOOK_S) if seconds is None else await source.watch(seconds)
    finally:
        await source.close()
    if not frame.boots or (frame.http is not None and not frame.http.answered and not frame.counts.lines):
        reasons = dict.fromkeys(health.reason for health in frame.sources if health.state == "failed" and health.reason)
        silent = f"No answer in {seconds or LOOK_S:.0f} seconds: the server hangs or is very slow; --seconds 20 waits longer."
        raise Unreadable("Nothing could be read. " + (" ".join(reasons) or silent))
    return frame


class _Analyser:
    """Keeps the geometry of the boot that is shown, so that a growing log does not read it again."""

    def __init__(self, model: Path | None, thresholds: Thresholds) -> None:
        self._model, self._thresholds = model, thresholds
        self._path: str | None = None
        self._given: Given | None = None

    def __call__(self, frame: Frame) -> Analysis:
        path = frame.boot.text("model_path") if frame.boot is not None else None
        if self._given is None or path != self._path:
            self._path, self._given = path, given_geometry(frame, self._model)
        return analyse(frame, self._given, self._thresholds)


def open_feed(request: Request) -> SourceFeed:
    """A feed for the console.

    Raises sources.errors.Unreadable.
    """
    if request.model is not None:
        read_geometry(request.model)
    thresholds = request.settings.thresholds
    judge = Paced(_Analyser(request.model, thresholds))
    return SourceFeed(open_source(request), WallClock(late=LATE_S), judge.judge, hold_s=thresholds.persistence_s, at_once=judge.waiting)


def planned(model: str, options: Mapping[str, Any]) -> Planned:
    """A plan for a model file, a model folder or a well-known name.

    ``options`` are the verb's, by their parameter names. Raises ValueError with one sentence, or sources.errors.Unreadable.
    """
    path = Path(model)
    if path.exists():
        geometry = read_geometry(path).geometry
    else:
        found = known_model(model)
        if isinstance(found, Missing):
            raise ValueError(f"{found.reason}. Give the model's config.json instead.")
        geometry = found.value
    if geometry is None:
        raise ValueError(f"{model} holds no model configuration.")
    deployment = Deployment(
        release=None,
        tp=options["tp"],
        pp=options["pp"],
        dp=options["dp"],
        dp_attention=options["dp_attention"],
        pre=options["pre"],
        post=options["post"],
        fraction=options["fraction"],
        kv_dtype=options["kv_cache_dtype"],
        page_size=options["page_size"],
        max_total_tokens=options["max_total_tokens"],
        max_running_requests=options["max_running_requests"],
        context_len=options["context_length"],
        spec=options["speculative_algorithm"],
        swa_ratio=options["swa_full_tokens_ratio"],
        mamba_ratio=options["mamba_full_memory_ratio"],
        disable_radix=options["disable_radix_cache"],
    )
    return plan(geometry, PlanRequest(deployment, options["sglang"], weights=options["weights"], gpu_mib=options["gpu_memory"]))


__all__ = ["Request", "api_key", "is_address", "open_feed", "planned", "read_once", "servers_here"]
