"""The only place that builds sources and joins them to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.domain.accounting import NO_GEOMETRY, Given
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.reading import Missing
from kvtui.domain.sizing.deployment import Deployment
from kvtui.engine.analyse import analyse
from kvtui.engine.clock import WallClock
from kvtui.engine.feed import SourceFeed
from kvtui.engine.planning import Planned, PlanRequest, known_model, plan
from kvtui.parse.redact import redact
from kvtui.sources.logfile import LogSource
from kvtui.sources.model_folder import read_geometry


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked to look at."""

    target: str
    model: Path | None = None
    """A config.json or a model folder."""
    boot: int | None = None
    """Start to show, 1 for the first; None: the newest."""


def shown_target(target: str) -> str:
    """The target as it may be shown: a URL's secrets removed, a path's folders left out."""
    if target == "-":
        return "standard input"
    return redact(target.rsplit("/", 1)[-1] or target)


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


def log_source(request: Request) -> LogSource:
    """The source behind a target.

    Raises sources.errors.Unreadable with one sentence where the target cannot be opened.
    """
    source = LogSource(request.target, WallClock())
    if request.boot is not None:
        source.choose(request.boot - 1)
    return source


def read_once(request: Request) -> Analysis:
    """Everything that can be read now, judged.

    Raises sources.errors.Unreadable.
    """
    source = log_source(request)
    frame = source.read_all()
    return analyse(frame, given_geometry(frame, request.model))


class _Analyser:
    """Keeps the geometry of the boot that is shown, so that a growing log does not read it again."""

    def __init__(self, model: Path | None) -> None:
        self._model = model
        self._path: str | None = None
        self._given: Given | None = None

    def __call__(self, frame: Frame) -> Analysis:
        path = frame.boot.text("model_path") if frame.boot is not None else None
        if self._given is None or path != self._path:
            self._path, self._given = path, given_geometry(frame, self._model)
        return analyse(frame, self._given)


def open_feed(request: Request) -> SourceFeed:
    """A feed for the console.

    Raises sources.errors.Unreadable.
    """
    if request.model is not None:
        read_geometry(request.model)
    return SourceFeed(log_source(request), WallClock(), _Analyser(request.model))


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


__all__ = ["Request", "open_feed", "planned", "read_once", "shown_target"]
