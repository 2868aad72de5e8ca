"""One file a rule; importing this package registers them all."""

from __future__ import annotations

from kvtui.diagnose.rules import (
    client,
    cuda_graph,
    dp_imbalance,
    head_of_line,
    headroom,
    healthy,
    host_pressure,
    kv_capacity,
    leftover_flags,
    not_enough_data,
    prefill,
    prefix_miss,
    reservation,
    retraction,
    running_cap,
    server_stuck,
    speculation,
    startup_failure,
    sub_pool,
)

__all__ = [
    "client",
    "cuda_graph",
    "dp_imbalance",
    "head_of_line",
    "headroom",
    "healthy",
    "host_pressure",
    "kv_capacity",
    "leftover_flags",
    "not_enough_data",
    "prefill",
    "prefix_miss",
    "reservation",
    "retraction",
    "running_cap",
    "server_stuck",
    "speculation",
    "startup_failure",
    "sub_pool",
]
