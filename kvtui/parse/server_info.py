"""``/server_info`` and ``/model_info`` (facts/observability.md 2.4), all releases from 0.4.6 on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kvtui.domain.answers import InternalState, ModelInfo, ServerInfo
from kvtui.domain.boot import Setting
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.json_body import listed, mapping, number, reading, scalar, text, whole
from kvtui.parse.redact import REMOVED, is_secret_name, safe

_WHERE: Final = "/server_info"
_FIELD_LIMIT: Final = 2_000
_NO_SETTINGS: Final = frozenset(
    (
        "status",
        "max_total_num_tokens",
        "max_req_input_len",
        "internal_states",
        "version",
        "startup_time",
        "kv_events",
        "launch_command",
        "frontend",
        "hicache_object_layout",
        "scheduler_pids",
        "memory_usage",
        "last_gen_throughput",
        "avg_spec_accept_length",
        "load",
        "step_time_dict",
        "env_vars",
    )
)
"""Keys that stand beside the server's arguments."""


def read_server_info(document: Mapping[str, object], at: float) -> ServerInfo | Missing:
    """An answer as ``ServerInfo``; Missing where it is no server's. Never raises.

    The balancer that comes with prefill-decode set-ups answers the same path with other servers' states: it is
    recognised and left alone.
    """
    if "prefill" in document and "decode" in document and "model_path" not in document:
        return Missing("a load balancer answers, not a server: point kvtui at the prefill and decode servers themselves")
    if not {"model_path", "internal_states", "max_total_num_tokens"} & document.keys():
        return Missing("the answer holds none of SGLang's server arguments: this is another program")
    version = text(document, "version", 60)
    notes = []
    states = listed(document.get("internal_states"))
    readable = [state for state in states if isinstance(state, dict)]
    if len(readable) < len(states):
        notes.append(f"{len(states) - len(readable)} internal states cannot be read.")
    command = document.get("launch_command")
    return ServerInfo(
        at=at,
        version=Known(version, at, Where("http", f"{_WHERE} version")) if version else Missing("/server_info names no version"),
        settings=MappingProxyType(_settings(document)),
        pool_tokens=whole(document, "max_total_num_tokens", at, _WHERE),
        max_request_tokens=whole(document, "max_req_input_len", at, _WHERE),
        launch_command=safe(command, 8_000) if isinstance(command, str) and command else None,
        states=tuple(_state(index, state, at) for index, state in enumerate(readable)),
        notes=tuple(notes),
    )


def _settings(document: Mapping[str, object]) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for key, value in list(document.items())[:_FIELD_LIMIT]:
        if key in _NO_SETTINGS or len(key) > 100 or not key.isidentifier():
            continue
        secret = is_secret_name(key) and value not in (None, "", False)
        found[key] = Setting(key, REMOVED if secret else scalar(value), "server_info", Where("http", f"{_WHERE} {key}"))
    return found


def _state(index: int, state: Mapping[str, object], at: float) -> InternalState:
    memory = mapping(state.get("memory_usage"))
    where = f"{_WHERE} internal_states[{index}]"
    graph, phases = _graph(memory, at, where)
    return InternalState(
        index=index,
        running_cap=whole(state, "effective_max_running_requests_per_dp", at, where),
        weight_gib=reading(memory, "weight", at, where),
        kv_gib=reading(memory, "kvcache", at, where),
        graph_gib=graph,
        graph_phases_gib=MappingProxyType(phases),
        pool_tokens=whole(memory, "token_capacity", at, where),
        pool_tokens_swa=whole(memory, "token_capacity_swa", at, where),
        startup_free_gib=reading(memory, "startup_available", at, where),
        gen_tput=reading(state, "last_gen_throughput", at, where),
        accept_len=reading(state, "avg_spec_accept_length", at, where),
    )


def _graph(memory: Mapping[str, object], at: float, where: str) -> tuple[Reading[float], dict[str, float]]:
    """``cuda_graph`` in 0.4.10, ``graph`` as a number up to 0.5.15, by phase from 0.5.18 on."""
    key = "graph" if "graph" in memory else "cuda_graph"
    found = memory.get(key)
    if not isinstance(found, dict):
        return reading(memory, key, at, where), {}
    sizes = {safe(str(phase), 40): size for phase, value in list(found.items())[:40] if (size := number(value)) is not None and size >= 0}
    if not sizes:
        return Missing(f"{where} tells no size of its graphs"), {}
    return Known(math.fsum(sizes.values()), at, Where("http", f"{where} {key}, all phases")), sizes


def read_model_info(document: Mapping[str, object], at: float) -> ModelInfo | Missing:
    """An answer of ``/model_info``; Missing where it is no server's. Never raises."""
    if "model_path" not in document:
        return Missing("the answer names no model_path: this is another program")
    generates = document.get("is_generation")
    return ModelInfo(
        at=at,
        model=text(document, "model_path", 300),
        served_name=text(document, "served_model_name", 300),
        architectures=tuple(safe(name, 100) for name in listed(document.get("architectures"))[:8] if isinstance(name, str)),
        model_type=text(document, "model_type", 100),
        generates=generates if isinstance(generates, bool) else None,
        mode=text(document, "disaggregation_mode", 40).replace("null", ""),
    )
