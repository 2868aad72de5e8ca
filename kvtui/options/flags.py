"""The exact text of a flag, by release: what SGLang renamed is data."""

from __future__ import annotations

from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.release import Release, Table

GRAPH_BATCH: Final = Table(
    "the flag for the largest captured batch",
    (("0.4.6", "--cuda-graph-max-bs"), ("0.5.15", "--cuda-graph-max-bs-decode")),
)
"""facts/diagnoses.md V2 and section 2: the name split at 0.5.15."""

FP4: Final = Table(
    "the 4-bit KV dtype",
    (("0.4.6", ""), ("0.5.6", "fp4_e2m1"), ("0.5.18", "nvfp4")),
)
"""Empty: there is none. 0.5.18 and later also take fp4_mx_block16 (its ``kv_cache_dtype`` choices)."""

DCP: Final = Table(
    "the flag for decode context parallelism",
    (("0.4.6", ""), ("0.5.15", "--dcp-size")),
)

ALL_REDUCE: Final = Table(
    "environment of the all-reduce over PCIe",
    (("0.4.6", ()), ("0.5.21", ("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE=1",))),
)
"""Off by default where it exists (``environ.py`` of 0.5.21 and 0.5.23; absent in 0.5.18)."""

MICRO_BATCH: Final = Table(
    "the internal-state key of the running cap",
    (("0.4.6", "max_micro_batch_size"), ("0.4.10", "pp_max_micro_batch_size")),
)
"""The one running cap that moves without a restart (facts/diagnoses.md 2)."""


def fraction_text(fraction: float) -> str:
    """``0.90``, ``0.915``: as people write it, three places at most."""
    text = f"{fraction:.3f}"
    return text.removesuffix("0")


def fraction_flag(fraction: float) -> str:
    """``--mem-fraction-static 0.90``."""
    return f"--mem-fraction-static {fraction_text(fraction)}"


def graph_batch_flag(release: Release | None, batch: int) -> str:
    """The flag that captures CUDA graphs up to ``batch`` requests."""
    return f"{GRAPH_BATCH.at(release)} {batch}"


def micro_batch_call(release: Release | None, batch: int) -> str:
    """The request body a person may post to ``/set_internal_state`` to lower the running cap without a restart."""
    return f'POST /set_internal_state {{"server_args": {{"{MICRO_BATCH.at(release)}": {batch}}}}}'


def flag_of(name: str, value: Scalar = True) -> str:
    """The command-line form of a ServerArgs name: ``cpu_offload_gb`` is ``--cpu-offload-gb``."""
    flag = f"--{name.replace('_', '-')}"
    return flag if value is True else f"{flag} {value}"
