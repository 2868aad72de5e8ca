"""What a person may change in the demo, checked, as another situation of the same server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.scenarios import Box, Situation, start_of
from kvtui.scenarios.start import step_times, twin_server
from kvtui.twin import Demand, Lengths

CLIENT_CHANGES: Final = ("clients", "max_new_tokens")
"""What clients do: it needs no restart in life, and gets new clients here."""
MACHINE_CHANGES: Final = ("free_other_processes",)
_EFFECTIVE: Final = frozenset(
    (
        "mem_fraction_static", "kv_cache_dtype", "max_running_requests", "max_total_tokens", "chunked_prefill_size", "max_prefill_tokens",
        "schedule_conservativeness", "page_size", "swa_full_tokens_ratio", "context_length", "cuda_graph_max_bs", "disable_cuda_graph",
        "disable_radix_cache", "disable_overlap_schedule", "cpu_offload_gb", "enable_hierarchical_cache", "hicache_ratio", "hicache_size",
        "decode_log_interval",
    )
)  # fmt: skip
"""Arguments whose effect is simulated; an argument that would do nothing here is refused."""
_KV_DTYPES: Final = ("auto", "bfloat16", "fp8_e4m3", "fp8_e5m2")
_ALIASES: Final = {"cuda_graph_max_bs_decode": "cuda_graph_max_bs", "max_model_len": "context_length", "max_tokens": "max_new_tokens"}
_SPECULATIVE: Final = "speculative_"
_MOST: Final = 1 << 30


def _name(flag: str) -> str:
    name = flag[:80].removeprefix("--").replace("-", "_")
    return _ALIASES.get(name, name)


def changed(situation: Situation, changes: Mapping[str, Scalar]) -> tuple[Situation, dict[str, str]]:
    """The situation after the changes, and those that were left out with a sentence each; names as ``ServerArgs`` has them, or as flags.

    Raises ValueError, with one sentence, where nothing is left (a name that the demo does not know, a value of the wrong
    kind), or for settings that no server takes together.
    """
    left: dict[str, str] = {}
    after = situation
    for key, value in changes.items():
        try:
            after = _with(after, _name(key), value)
        except ValueError as error:  # noqa: PERF203 (a handful of changes)
            left[key] = str(error)
    if left and len(left) == len(changes):
        raise ValueError(next(iter(left.values())))
    # A restart ends what had gone wrong with the process before; what its start itself prints, it prints again.
    lines = tuple(line for line in after.decor.lines if line.after_s < 0)
    decor = replace(after.decor, freeze_s=None, refuse_s=None, crash="", lines=lines)
    after = replace(after, decor=decor)
    _check(after)
    return after, left


def _with(situation: Situation, name: str, value: Scalar) -> Situation:
    """One change; raises ValueError."""
    if name in CLIENT_CHANGES:
        return replace(situation, demands=tuple(_asked(demand, name, value) for demand in situation.demands))
    if name in MACHINE_CHANGES:
        return replace(situation, box=replace(situation.box, foreign=MappingProxyType({}))) if value is True else situation
    return replace(situation, box=_with_flag(situation.box, name, value))


def _with_flag(box: Box, name: str, value: Scalar) -> Box:
    if name.startswith(_SPECULATIVE):
        return _with_draft(box, name, value)
    if name not in _EFFECTIVE:
        raise ValueError(f"The demo does not simulate {name[:60]}.")
    return box.with_flags(**{name: _checked(name, value, box.settings()[name])})


def _with_draft(box: Box, name: str, value: Scalar) -> Box:
    """Drop the draft, or let it propose fewer tokens: then the gain shrinks with the chances."""
    draft = box.draft
    if name == "speculative_algorithm" and value in (None, "", False):
        return replace(box, draft=None)
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if draft is None or not 1 <= number <= 64:
        raise ValueError("The demo can drop a draft, or change its steps and tokens (1 to 64).")
    if name == "speculative_num_steps":
        return replace(box, draft=replace(draft, steps=number))
    if name == "speculative_num_draft_tokens":
        kept = min(1.0, number / draft.tokens)
        return replace(box, draft=replace(draft, tokens=number, accept_len=1 + (draft.accept_len - 1) * kept))
    raise ValueError(f"The demo does not simulate {name[:60]}.")


def _checked(name: str, value: Scalar, today: Scalar) -> Scalar:
    """The value of a flag, of the kind that it has today; None takes the flag back."""
    if value is None:
        return None
    if isinstance(today, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} is on or off.")  # noqa: TRY004 - one kind of error for the caller
        return value
    if isinstance(today, str):
        if value not in _KV_DTYPES:
            raise ValueError(f"{name} is one of {', '.join(_KV_DTYPES)} here.")
        return value
    return _number(name, value, whole=not isinstance(today, float))


def _number(name: str, value: Scalar, *, whole: bool) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or abs(value) > _MOST:
        raise ValueError(f"{name} is a number.")
    if name == "mem_fraction_static" and not 0 < value < 1:
        raise ValueError("mem_fraction_static is a number between 0 and 1.")
    if whole and not float(value).is_integer():
        raise ValueError(f"{name} is a whole number.")
    return int(value) if whole else float(value)


def _asked(demand: Demand, name: str, value: Scalar) -> Demand:
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if not 1 <= number <= 100_000:
        raise ValueError(f"{name} is a number from 1 to 100,000.")
    if demand.shape is None:
        raise ValueError("This demo plays a fixed list of requests: its clients cannot be changed.")
    if name == "max_new_tokens":
        return replace(demand, shape=replace(demand.shape, max_new=Lengths(number), max_new_cuts=True))
    if not demand.clients:
        raise ValueError("Requests of this demo come by themselves: there are no clients to be counted.")
    return replace(demand, clients=number, ramp_s=min(demand.ramp_s, 20.0 / number))


def _check(situation: Situation) -> None:
    """Raise ValueError now, not in the middle of a start."""
    start = start_of(situation.box)
    step_times(situation.box, situation.times)
    if not start.failed:
        try:
            twin_server(situation.box, start)
        except ValueError as error:
            raise ValueError(f"No server takes these settings together: {error}.") from None
