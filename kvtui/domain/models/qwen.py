"""Qwen and QwQ."""

from __future__ import annotations

from typing import Final

from kvtui.domain.models.shape import K, Row, every, gqa, hybrid, others
from kvtui.domain.models.states import gdn_state

_Q2: Final = "Qwen2ForCausalLM"
_Q25VL: Final = "Qwen2_5_VLForConditionalGeneration"
_Q3: Final = "Qwen3ForCausalLM"
_Q3MOE: Final = "Qwen3MoeForCausalLM"
_Q3VL: Final = "Qwen3VLForConditionalGeneration"
_Q3VLMOE: Final = "Qwen3VLMoeForConditionalGeneration"
_Q35: Final = "Qwen3_5ForConditionalGeneration"
_Q35MOE: Final = "Qwen3_5MoeForConditionalGeneration"
_NEXT: Final = "Qwen3NextForCausalLM"

_SMALL: Final = 151936
_LARGE: Final = 152064
_Q35_VOCAB: Final = 248320
# These vision parts name a depth that the automatic fraction does not read; it takes 24.
_Q25_VISION: Final = (24, 1280)
_Q3_VISION: Final = (24, 1152)
_Q3_SMALL_VISION: Final = (24, 1024)
_UNSEEN: Final = "not checked against the published configuration"


def _two(size: str, billions: float, *, layers: int, kv: int, dim: int = 128, hidden: int, vocab: int = _LARGE) -> Row:
    """Qwen2.5 and its kin of the same size: Qwen2's and the Coder and Math models differ only in context."""
    kin = (f"Qwen2.5-Coder-{size}", f"Qwen2.5-Math-{size}") + ((f"Qwen2-{size}",) if size in {"0.5B", "1.5B", "7B", "72B"} else ())
    return gqa(f"Qwen2.5-{size}", _Q2, layers=layers, kv=kv, dim=dim, hidden=hidden, vocab=vocab, context=32 * K, size=billions, also=kin)


def _three(name: str, billions: float, *, layers: int, hidden: int, also: tuple[str, ...] = ()) -> Row:
    return gqa(name, _Q3, layers=layers, kv=8, hidden=hidden, vocab=_SMALL, context=40 * K, size=billions, also=also)


def _moe(name: str, sizes: tuple[float, float], *, layers: int, kv: int, hidden: int, experts: int, context: int) -> Row:
    return gqa(
        name,
        _Q3MOE,
        layers=layers,
        kv=kv,
        hidden=hidden,
        vocab=_SMALL,
        context=context,
        size=sizes[0],
        active=sizes[1],
        experts=(experts, 8),
    )


def _vl(name: str, *, layers: int, kv: int, hidden: int, size: float, vision: tuple[int, int] = _Q3_VISION) -> Row:
    return gqa(name, _Q3VL, layers=layers, kv=kv, hidden=hidden, vocab=_SMALL, context=256 * K, size=size, nextn=None, vision=vision)


def _linear(
    name: str,
    architecture: str,
    *,
    layers: int,
    kv: int,
    hidden: int,
    value_heads: int,
    size: float,
    active: float | None = None,
    experts: tuple[int, int] | None = None,
    vision: tuple[int, int] | None = _Q3_VISION,
    also: tuple[str, ...] = (),
    unsure: str = "",
) -> Row:
    """Gated DeltaNet with full attention in each fourth layer."""
    full = every(4, layers)
    row = gqa(
        name,
        architecture,
        layers=layers,
        kv=kv,
        dim=256,
        hidden=hidden,
        vocab=_Q35_VOCAB if vision else _SMALL,
        context=256 * K,
        size=size,
        active=active,
        experts=experts,
        nextn=1,
        vision=vision,
        also=also,
        unsure=unsure,
    )
    return hybrid(row, full=full, state=gdn_state(others(layers, full), key_heads=16, value_heads=value_heads))


MODELS: Final[tuple[Row, ...]] = (
    _two("0.5B", 0.49, layers=24, kv=2, dim=64, hidden=896, vocab=_SMALL),
    _two("1.5B", 1.54, layers=28, kv=2, hidden=1536, vocab=_SMALL),
    _two("3B", 3.09, layers=36, kv=2, hidden=2048, vocab=_SMALL),
    _two("7B", 7.61, layers=28, kv=4, hidden=3584),
    _two("14B", 14.7, layers=48, kv=8, hidden=5120),
    _two("32B", 32.5, layers=64, kv=8, hidden=5120),
    _two("72B", 72.7, layers=80, kv=8, hidden=8192),
    gqa("QwQ-32B", _Q2, layers=64, kv=8, hidden=5120, vocab=_LARGE, size=32.5),
    gqa("Qwen2.5-VL-3B", _Q25VL, layers=36, kv=2, hidden=2048, vocab=_SMALL, context=128000, size=3.75, vision=_Q25_VISION),
    gqa("Qwen2.5-VL-7B", _Q25VL, layers=28, kv=4, hidden=3584, vocab=_LARGE, context=128000, size=8.29, vision=_Q25_VISION),
    gqa("Qwen2.5-VL-32B", _Q25VL, layers=64, kv=8, hidden=5120, vocab=_LARGE, context=128000, size=33.5, vision=_Q25_VISION),
    gqa("Qwen2.5-VL-72B", _Q25VL, layers=80, kv=8, hidden=8192, vocab=_LARGE, context=128000, size=73.4, vision=_Q25_VISION),
    _three("Qwen3-0.6B", 0.6, layers=28, hidden=1024),
    _three("Qwen3-1.7B", 1.7, layers=28, hidden=2048),
    _three("Qwen3-4B", 4.0, layers=36, hidden=2560),
    _three("Qwen3-8B", 8.2, layers=36, hidden=4096, also=("DeepSeek-R1-0528-Qwen3-8B",)),
    _three("Qwen3-14B", 14.8, layers=40, hidden=5120),
    _three("Qwen3-32B", 32.8, layers=64, hidden=5120),
    _moe("Qwen3-30B-A3B", (30.5, 3.3), layers=48, kv=4, hidden=2048, experts=128, context=40 * K),
    _moe("Qwen3-235B-A22B", (235, 22), layers=94, kv=4, hidden=4096, experts=128, context=40 * K),
    _moe("Qwen3-Coder-30B-A3B", (30.5, 3.3), layers=48, kv=4, hidden=2048, experts=128, context=256 * K),
    _moe("Qwen3-Coder-480B-A35B", (480, 35), layers=62, kv=8, hidden=6144, experts=160, context=256 * K),
    _vl("Qwen3-VL-2B", layers=28, kv=8, hidden=2048, size=2.1, vision=_Q3_SMALL_VISION),
    _vl("Qwen3-VL-4B", layers=36, kv=8, hidden=2560, size=4.4, vision=_Q3_SMALL_VISION),
    _vl("Qwen3-VL-8B", layers=36, kv=8, hidden=4096, size=8.8),
    _vl("Qwen3-VL-32B", layers=64, kv=8, hidden=5120, size=33.4),
    gqa(
        "Qwen3-VL-30B-A3B",
        _Q3VLMOE,
        layers=48,
        kv=4,
        hidden=2048,
        vocab=_SMALL,
        context=256 * K,
        size=31.1,
        active=3.3,
        experts=(128, 8),
        vision=_Q3_VISION,
    ),
    gqa(
        "Qwen3-VL-235B-A22B",
        _Q3VLMOE,
        layers=94,
        kv=4,
        hidden=4096,
        vocab=_SMALL,
        context=256 * K,
        size=236,
        active=22,
        experts=(128, 8),
        vision=_Q3_VISION,
    ),
    _linear(
        "Qwen3-Next-80B-A3B",
        _NEXT,
        layers=48,
        kv=2,
        hidden=2048,
        value_heads=32,
        size=80,
        active=3,
        experts=(512, 10),
        vision=None,
        also=("Qwen3-Next", "Qwen3-Coder-Next"),
    ),
    _linear("Qwen3.5-0.8B", _Q35, layers=24, kv=2, hidden=1024, value_heads=16, size=0.9, unsure=_UNSEEN),
    _linear("Qwen3.5-2B", _Q35, layers=24, kv=2, hidden=2048, value_heads=16, size=2.2, unsure=_UNSEEN),
    _linear("Qwen3.5-4B", _Q35, layers=32, kv=4, hidden=2560, value_heads=32, size=4.7, vision=(24, 1024)),
    _linear("Qwen3.5-9B", _Q35, layers=32, kv=4, hidden=4096, value_heads=32, size=9.4, unsure=_UNSEEN),
    _linear("Qwen3.5-27B", _Q35, layers=64, kv=4, hidden=5120, value_heads=48, size=27.8, also=("Qwen3.6-27B",)),
    _linear(
        "Qwen3.8-27B",
        _Q35,
        layers=64,
        kv=4,
        hidden=5120,
        value_heads=48,
        size=27.8,
        unsure="taken to be as Qwen3.5-27B, which a log's sizes agree with",
    ),
    _linear(
        "Qwen3.5-35B-A3B",
        _Q35MOE,
        layers=40,
        kv=2,
        hidden=2048,
        value_heads=32,
        size=36,
        active=3,
        experts=(256, 8),
        also=("Qwen3.6-35B-A3B",),
    ),
    _linear("Qwen3.5-122B-A10B", _Q35MOE, layers=48, kv=2, hidden=3072, value_heads=64, size=125, active=10, experts=(256, 8)),
    _linear("Qwen3.5-397B-A17B", _Q35MOE, layers=60, kv=2, hidden=4096, value_heads=64, size=403, active=17, experts=(512, 10)),
)
