"""What changed in SGLang's sizing, and with which release. Every row was run or read in that release's code."""

from __future__ import annotations

from typing import Final, Literal

from kvtui.domain.release import Table

WHOLE_BYTES: Final[Table[bool]] = Table("rounding of the budget", (("0.4.6", False), ("0.5.9", True)))
"""True: the budget becomes whole bytes before it is divided by the cell."""

POOL_FIRST: Final[Table[bool]] = Table("order of alignment and cap", (("0.4.6", False), ("0.5.12", True)))
"""True: pools are split and aligned first and the cap is applied to full-attention tokens; False: the cap comes first."""

V_WIDTH: Final[Table[bool]] = Table("width of V", (("0.4.6", False), ("0.5.9", True)))
"""False: V is priced as wide as K."""

LATENT_PIPELINE: Final[Table[bool]] = Table("MLA under pipeline parallelism", (("0.4.6", False), ("0.5.3", True)))
"""False: MLA refuses more than one pipeline stage."""

INDEXER: Final[Table[bool]] = Table("DSA models", (("0.4.6", False), ("0.5.3", True)))

SCALED_ROWS: Final[Table[bool]] = Table("fp8 rows of DSA", (("0.4.6", False), ("0.5.18", True)))
"""True: an fp8 latent row is priced with its scales and a bf16 rope part, as it is stored."""

ELIDED_INDEX: Final[Table[Literal["never", "without hicache", "always"]]] = Table(
    "shared indexer layers", (("0.4.6", "never"), ("0.5.18", "without hicache"), ("0.5.23", "always"))
)
"""When layers that reuse another layer's top-k cost no indexer key."""

PACKED_FP4: Final[Table[Literal["refused", "scales", "scales and workspace", "unknown"]]] = Table(
    "fp4 K and V", (("0.4.6", "refused"), ("0.5.6", "scales"), ("0.5.18", "scales and workspace"), ("0.5.21", "unknown"))
)
"""fp4 pools of K and V; latents are priced with scales from 0.5.6 on."""

INFLATED: Final[Table[Literal["any", "eagle", "no"]]] = Table(
    "room for draft tokens", (("0.4.6", "any"), ("0.5.3", "eagle"), ("0.5.9", "no"))
)
"""Which speculative algorithms add tokens to the pool that the budget does not cover."""

DRAFT: Final[Table[Literal["not priced", "joint", "added"]]] = Table(
    "the draft's share of a cell", (("0.4.6", "not priced"), ("0.5.15", "joint"), ("0.5.23", "added"))
)
"""``joint``: the cell is scaled by all layers over the target's, rounded once; ``added``: the draft's part is rounded by itself."""

DRAFT_INDEXER_APART: Final[Table[bool]] = Table("the draft of DSA models", (("0.4.6", False), ("0.5.18", True)))
"""True: a draft's latent and its indexer keys are priced apart."""

DFLASH: Final[Table[Literal["not priced", "by layers", "by its own cell"]]] = Table(
    "DFLASH drafts", (("0.4.6", "not priced"), ("0.5.12", "by layers"), ("0.5.18", "by its own cell"))
)
"""``by its own cell`` where the draft's cell is known, by layers otherwise."""

SWA_SPLIT: Final[Table[Literal["none", "layers", "bytes, full unaligned", "bytes", "ratio"]]] = Table(
    "split of sliding-window pools",
    (("0.4.6", "none"), ("0.4.10", "layers"), ("0.5.9", "bytes, full unaligned"), ("0.5.10", "bytes"), ("0.5.12", "ratio")),
)
"""By layer count, by bytes (the window's pool from the full pool before or after its alignment), or priced into the cell."""

SWA_BY_REQUESTS: Final[Table[Literal["no", "any chunk", "positive chunk"]]] = Table(
    "sliding-window pool by requests", (("0.4.6", "no"), ("0.5.15", "any chunk"), ("0.5.23", "positive chunk"))
)
"""Whether a radix-less server with a set ``max_running_requests`` sizes the window's pool by its requests."""

SWA_FLOOR: Final[Table[bool]] = Table("smallest sliding-window pool", (("0.4.6", False), ("0.5.18", True)))
"""True: a pool that cannot hold one window and one page is refused."""

SWA_DRAFT: Final[Table[bool]] = Table("sliding-window layers of drafts", (("0.4.6", False), ("0.5.21", True)))
"""True: a draft's sliding-window layers are priced as such."""

SWA_EXTRA_LAYER: Final[Table[bool]] = Table("layers of a pipeline stage", (("0.4.6", False), ("0.5.9", True), ("0.5.21", False)))
"""True: a stage of a sliding-window model counts the next stage's first layer too."""

MULTIMODAL_MIB: Final[Table[int]] = Table("multimodal reserve", (("0.4.6", 0), ("0.5.18", 100)))
"""MiB taken off for the multimodal cache."""

FEATURE_MIB: Final[Table[int]] = Table("feature transport reserve", (("0.4.6", 0), ("0.5.18", 1024)))
"""MiB taken off besides, where features travel by CUDA IPC."""

REST_CHECKED: Final[Table[bool]] = Table("check of the rest", (("0.4.6", False), ("0.5.15", True)))
"""True: a rest of 0 or less, or a state pool without slots, is refused before anything is divided."""

STATE: Final[Table[Literal["none", "drafts multiply", "drafts first", "joint", "joint, padded"]]] = Table(
    "the state pool",
    (("0.4.6", "none"), ("0.5.3", "drafts multiply"), ("0.5.9", "drafts first"), ("0.5.15", "joint"), ("0.5.18", "joint, padded")),
)
"""How states and the intermediate states of speculative decoding share the budget."""

STATE_STAGES: Final[Table[bool]] = Table("hybrids under pipeline parallelism", (("0.4.6", False), ("0.5.9", True)))
"""False: every stage is priced with all full-attention layers."""

EXTRA_BUFFER: Final[Table[Literal["none", "by speculation", "by overlap"]]] = Table(
    "extra state buffers", (("0.4.6", "none"), ("0.5.9", "by speculation"), ("0.5.10", "by overlap"))
)
"""What decides the extra slots a request may hold."""

REQUESTS: Final[Table[Literal["table first", "estimate caps", "pool caps", "pool caps, one at least"]]] = Table(
    "request slots", (("0.4.6", "table first"), ("0.5.10", "estimate caps"), ("0.5.15", "pool caps"), ("0.5.23", "pool caps, one at least"))
)
"""``table first``: the table has as many rows as asked, the scheduler caps later; else how a set number is cut."""

DSV4: Final[Table[Literal["none", "by token", "by token and request", "unknown"]]] = Table(
    "DeepSeek-V4", (("0.4.6", "none"), ("0.5.12", "by token"), ("0.5.15", "by token and request"), ("0.5.21", "unknown"))
)
"""Whether the 128-fold compression's state is priced by token or by request."""
