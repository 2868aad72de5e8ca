"""Llama and NVIDIA's Nemotron."""

from __future__ import annotations

from typing import Final

from kvtui.domain.models.shape import K, Row, every, gqa, hybrid, marked, sliding
from kvtui.domain.models.states import mamba2_state

_LLAMA: Final = "LlamaForCausalLM"
_LLAMA4: Final = "Llama4ForConditionalGeneration"
_UNSEEN: Final = "not checked against the published configuration"


def _three(name: str, size: float, *, layers: int, kv: int = 8, dim: int = 128, hidden: int, also: tuple[str, ...] = ()) -> Row:
    context = 8 * K if name.startswith("Llama-3-") else 128 * K
    return gqa(name, _LLAMA, layers=layers, kv=kv, dim=dim, hidden=hidden, vocab=128256, context=context, size=size, also=also)


def _two(name: str, size: float, *, layers: int, kv: int, hidden: int, mha: bool) -> Row:
    return gqa(name, _LLAMA, layers=layers, kv=kv, hidden=hidden, vocab=32000, context=4 * K, size=size, mha=mha)


def _four(name: str, size: float, *, context: int, experts: int, also: tuple[str, ...]) -> Row:
    """Three layers attend within chunks of 8192 tokens, each fourth to everything."""
    row = gqa(
        name,
        _LLAMA4,
        layers=48,
        kv=8,
        hidden=5120,
        vocab=202048,
        context=context,
        size=size,
        active=17,
        experts=(experts, 1),
        vision=(34, 1408),
        also=also,
    )
    return sliding(row, full=every(4, 48), window=8192)


def _nemotron(
    name: str,
    pattern: str,
    *,
    kv: int,
    hidden: int,
    heads: int,
    head_dim: int,
    state: int = 128,
    context: int,
    size: float,
    active: float | None = None,
    experts: tuple[int, int] | None = None,
    nextn: int | None = None,
    unsure: str = "",
) -> Row:
    """Nemotron-H: ``M`` Mamba-2, ``*`` attention, ``-`` and ``E`` layers that keep nothing."""
    row = gqa(
        name,
        "NemotronHForCausalLM",
        layers=len(pattern),
        kv=kv,
        hidden=hidden,
        vocab=131072,
        context=context,
        size=size,
        active=active,
        experts=experts,
        nextn=nextn,
        unsure=unsure,
    )
    mixer = mamba2_state(
        marked(pattern, "M"), intermediate=heads * head_dim, groups=8, heads=heads, head_dim=head_dim, state=state, kernel=4
    )
    return hybrid(row, full=marked(pattern, "*"), state=mixer)


_H_8B: Final = "M-M-M-M*-" + "M-M-M-M-M*-" * 3 + "M-M-M-M-M-"
_H_56B: Final = "M-M-M-M*-" + "M-M-M-M-M*-" * 9 + "M-M-M-M-M-"
_NANO_9B: Final = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
_NANO_30B: Final = "MEMEM*E" + "MEMEM*E" * 4 + "MEMEMEM*EMEMEMEME"
_SUPER: Final = "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"
_ULTRA: Final = "MEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"

MODELS: Final[tuple[Row, ...]] = (
    _two("Llama-2-7B", 6.7, layers=32, kv=32, hidden=4096, mha=True),
    _two("Llama-2-13B", 13.0, layers=40, kv=40, hidden=5120, mha=True),
    _two("Llama-2-70B", 69.0, layers=80, kv=8, hidden=8192, mha=False),
    _three("Llama-3-8B", 8.03, layers=32, hidden=4096),
    _three("Llama-3-70B", 70.6, layers=80, hidden=8192),
    _three("Llama-3.1-8B", 8.03, layers=32, hidden=4096),
    _three("Llama-3.1-70B", 70.6, layers=80, hidden=8192, also=("Llama-3.3-70B", "Llama-3.1-Nemotron-70B")),
    _three("Llama-3.1-405B", 406, layers=126, hidden=16384),
    _three("Llama-3.2-1B", 1.24, layers=16, dim=64, hidden=2048),
    _three("Llama-3.2-3B", 3.21, layers=28, hidden=3072),
    _four("Llama-4-Scout", 109, context=10240 * K, experts=16, also=("Llama-4-Scout-17B-16E",)),
    _four("Llama-4-Maverick", 400, context=1024 * K, experts=128, also=("Llama-4-Maverick-17B-128E",)),
    gqa(
        "Llama-3.3-Nemotron-Super-49B",
        "DeciLMForCausalLM",
        # Some of its layers do not attend; the pool is made for all of them.
        layers=80,
        kv=8,
        hidden=8192,
        vocab=128256,
        context=128 * K,
        size=49.9,
    ),
    _nemotron("Nemotron-H-8B", _H_8B, kv=8, hidden=4096, heads=128, head_dim=64, context=8 * K, size=8.1, unsure=_UNSEEN),
    _nemotron("Nemotron-H-56B", _H_56B, kv=8, hidden=8192, heads=256, head_dim=64, state=256, context=8 * K, size=56.3),
    _nemotron("Nemotron-Nano-9B-v2", _NANO_9B, kv=8, hidden=4480, heads=128, head_dim=80, context=128 * K, size=8.9),
    _nemotron(
        "Nemotron-3-Nano-30B-A3B",
        _NANO_30B,
        kv=2,
        hidden=2688,
        heads=64,
        head_dim=64,
        context=256 * K,
        size=31.6,
        active=3.6,
        experts=(128, 6),
    ),
    _nemotron(
        "Nemotron-3.5-Lightning-30B-A3B",
        _NANO_30B,
        kv=2,
        hidden=2688,
        heads=64,
        head_dim=64,
        context=1024 * K,
        size=31.6,
        active=3.6,
        experts=(128, 6),
        nextn=1,
    ),
    _nemotron(
        "Nemotron-3-Super-120B-A12B",
        _SUPER,
        kv=2,
        hidden=4096,
        heads=128,
        head_dim=64,
        context=256 * K,
        size=120,
        active=12,
        experts=(512, 22),
        nextn=1,
    ),
    _nemotron(
        "Nemotron-3-Ultra-550B-A55B",
        _ULTRA,
        kv=2,
        hidden=8192,
        heads=256,
        head_dim=64,
        context=256 * K,
        size=550,
        active=55,
        experts=(512, 22),
        nextn=1,
    ),
)
