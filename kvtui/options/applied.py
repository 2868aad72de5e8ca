"""Marked levers and a what-if as settings of a server: what the demo restarts with. A real server is never changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from kvtui.domain.boot import Scalar
from kvtui.domain.estimate import Estimate
from kvtui.domain.frame import Analysis
from kvtui.options.context import finite


def changes_of(analysis: Analysis, estimates: Sequence[Estimate], marked: Collection[str], fraction: float | None) -> dict[str, Scalar]:
    """Names of server arguments with their new values; None takes one back.

    ``fraction``: the what-if's, which wins over a lever's. Empty where nothing is marked and the fraction is today's.
    """
    found: dict[str, Scalar] = {}
    for estimate in estimates:
        if estimate.id in marked and estimate.applies:
            found.update(_of_lever(analysis, estimate))
    if fraction is not None:
        found["mem_fraction_static"] = fraction
    return found


def _of_lever(analysis: Analysis, estimate: Estimate) -> Iterator[tuple[str, Scalar]]:
    change = estimate.change
    if estimate.id == "client-concurrency":
        load = analysis.workload
        waiting = finite(load.queued) if load is not None else None
        running = finite(load.running) if load is not None else None
        if running is not None:
            yield "clients", max(1, round((running + (waiting or 0.0)) * change.running_factor))
    elif estimate.id == "cap-max-new-tokens" and change.max_new_tokens is not None:
        yield "max_new_tokens", change.max_new_tokens
    elif estimate.id == "free-other-processes":
        yield "free_other_processes", True
    elif estimate.id == "drop-draft":
        yield "speculative_algorithm", None
    else:
        for flag in estimate.flags:
            yield from _of_flag(flag)


def _of_flag(flag: str) -> Iterator[tuple[str, Scalar]]:
    """``--name value``, ``--name``, or ``remove --name``; what is no flag of the server as its own name, for the demo to refuse."""
    if flag.startswith("remove "):
        yield from ((_name(word), None) for word in flag.split()[1:] if word.startswith("--"))
        return
    name, _, value = flag.partition(" ")
    yield _name(name), _value(value.strip())


def _name(word: str) -> str:
    return word.partition("=")[0].removeprefix("--").rstrip(",.").replace("-", "_")


def _value(text: str) -> Scalar:
    if not text:
        return True
    if re.fullmatch(r"-?[0-9]{1,12}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{0,6}\.[0-9]{1,6}", text) else text
