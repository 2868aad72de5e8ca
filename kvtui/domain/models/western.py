"""Mistral, xAI, Microsoft, Cohere, IBM, Liquid, TII and LG."""

from __future__ import annotations

from typing import Final

from kvtui.domain.models.shape import K, Row, every, gqa, hybrid, latent, others, sliding
from kvtui.domain.models.states import mamba2_state, short_conv_state

_MISTRAL: Final = "MistralForCausalLM"
_MISTRAL3: Final = "Mistral3ForConditionalGeneration"
_MIXTRAL: Final = "MixtralForCausalLM"
_COHERE: Final = "CohereForCausalLM"
_COHERE2: Final = "Cohere2ForCausalLM"
_GRANITE_H: Final = "GraniteMoeHybridForCausalLM"
_LFM2: Final = "Lfm2ForCausalLM"
_UNSEEN: Final = "not checked against the published configuration"


def _lfm2(
    name: str,
    architecture: str = _LFM2,
    *,
    hidden: int,
    layers: int = 16,
    full: tuple[int, ...] = (2, 5, 8, 10, 12, 14),
    size: float,
    active: float | None = None,
    experts: tuple[int, int] | None = None,
    also: tuple[str, ...] = (),
) -> Row:
    row = gqa(
        name,
        architecture,
        layers=layers,
        kv=8,
        dim=64,
        hidden=hidden,
        vocab=65536,
        context=128000,
        size=size,
        active=active,
        experts=experts,
        also=also,
    )
    return hybrid(row, full=full, state=short_conv_state(others(layers, full), hidden=hidden, kernel=3))


def _granite(
    name: str, *, kv: int, dim: int = 128, hidden: int, heads: int, size: float, active: float, experts: tuple[int, int] | None = None
) -> Row:
    full = (5, 15, 25, 35)
    state = mamba2_state(others(40, full), intermediate=heads * 64, groups=1, heads=heads, head_dim=64, state=128, kernel=4)
    row = gqa(
        name,
        _GRANITE_H,
        layers=40,
        kv=kv,
        dim=dim,
        hidden=hidden,
        vocab=100352,
        context=128 * K,
        size=size,
        active=active,
        experts=experts,
        unsure=_UNSEEN,
    )
    return hybrid(row, full=full, state=state)


def _falcon_h1_7b() -> Row:
    layers = tuple(range(44))
    state = mamba2_state(layers, intermediate=3072, groups=1, heads=24, head_dim=128, state=256, kernel=4)
    row = gqa("Falcon-H1-7B", "FalconH1ForCausalLM", layers=44, kv=2, hidden=3072, vocab=130048, context=256 * K, size=7.6)
    return hybrid(row, full=layers, state=state)


def _command(name: str, size: float, *, layers: int, hidden: int) -> Row:
    row = gqa(name, _COHERE2, layers=layers, kv=8, hidden=hidden, vocab=256000, context=128 * K, size=size, unsure=_UNSEEN)
    return sliding(row, full=every(4, layers), window=4096)


MISTRAL: Final[tuple[Row, ...]] = (
    gqa("Mistral-7B", _MISTRAL, layers=32, kv=8, hidden=4096, vocab=32768, context=32 * K, size=7.25),
    gqa("Mistral-Nemo", _MISTRAL, layers=40, kv=8, hidden=5120, vocab=131072, size=12.2, also=("Mistral-Nemo-12B",)),
    gqa(
        "Mistral-Small-22B",
        _MISTRAL,
        layers=56,
        kv=8,
        hidden=6144,
        vocab=32768,
        context=32 * K,
        size=22.2,
        also=("Codestral-22B", "Mistral-Small-Instruct-2409"),
    ),
    gqa("Mistral-Small-24B", _MISTRAL, layers=40, kv=8, hidden=5120, vocab=131072, context=32 * K, size=23.6),
    gqa(
        "Mistral-Small-3.1-24B",
        _MISTRAL3,
        layers=40,
        kv=8,
        hidden=5120,
        vocab=131072,
        context=128 * K,
        size=24,
        vision=(24, 1024),
        also=("Mistral-Small-3.2-24B",),
    ),
    gqa("Devstral-Small", _MISTRAL, layers=40, kv=8, hidden=5120, vocab=131072, context=128 * K, size=23.6, also=("Magistral-Small",)),
    gqa(
        "Mistral-Large-2",
        _MISTRAL,
        layers=88,
        kv=8,
        hidden=12288,
        vocab=32768,
        context=128 * K,
        size=123,
        also=("Mistral-Large-Instruct-2407", "Mistral-Large-Instruct-2411"),
    ),
    latent(
        gqa(
            "Mistral-Large-3-675B",
            "MistralLarge3ForCausalLM",
            layers=61,
            kv=128,
            hidden=7168,
            vocab=131072,
            context=256 * K,
            size=675,
            active=41,
            experts=(128, 4),
            also=("Mistral-Large-3",),
            unsure=_UNSEEN,
        )
    ),
    gqa("Ministral-8B", _MISTRAL, layers=36, kv=8, hidden=4096, vocab=131072, context=32 * K, size=8.0, unsure=_UNSEEN),
    gqa("Mixtral-8x7B", _MIXTRAL, layers=32, kv=8, hidden=4096, vocab=32000, context=32 * K, size=46.7, active=12.9, experts=(8, 2)),
    gqa("Mixtral-8x22B", _MIXTRAL, layers=56, kv=8, hidden=6144, vocab=32000, context=64 * K, size=141, active=39, experts=(8, 2)),
)

OTHERS: Final[tuple[Row, ...]] = (
    gqa("Grok-1", "Grok1ModelForCausalLM", layers=64, kv=8, hidden=6144, vocab=131072, context=8 * K, size=314, active=86, experts=(8, 2)),
    gqa(
        "Grok-2",
        "Grok1ForCausalLM",
        layers=64,
        kv=8,
        hidden=8192,
        vocab=131072,
        context=128 * K,
        size=270,
        active=115,
        experts=(8, 2),
        unsure=_UNSEEN,
    ),
    gqa(
        "Phi-4",
        "Phi3ForCausalLM",
        layers=40,
        kv=10,
        hidden=5120,
        vocab=100352,
        context=16 * K,
        size=14.7,
        also=("Phi-4-Reasoning", "Phi-4-Reasoning-Plus"),
    ),
    gqa("Phi-4-mini", "Phi3ForCausalLM", layers=32, kv=8, hidden=3072, vocab=200064, context=128 * K, size=3.8),
    gqa(
        "Command-R-v01",
        _COHERE,
        layers=40,
        kv=64,
        hidden=8192,
        vocab=256000,
        context=128 * K,
        size=35,
        mha=True,
        unsure=_UNSEEN,
    ),
    gqa("Command-R-08-2024", _COHERE, layers=40, kv=8, hidden=8192, vocab=256000, context=128 * K, size=32, unsure=_UNSEEN),
    gqa(
        "Command-R-Plus",
        _COHERE,
        layers=64,
        kv=8,
        hidden=12288,
        vocab=256000,
        context=128 * K,
        size=104,
        also=("Command-R-Plus-08-2024",),
        unsure=_UNSEEN,
    ),
    _command("Command-A-03-2025", 111, layers=64, hidden=12288),
    _command("Command-R7B-12-2024", 8.0, layers=32, hidden=4096),
    _lfm2("LFM2-350M", hidden=1024, size=0.35, also=("LFM2.5-350M",)),
    _lfm2("LFM2-700M", hidden=1536, size=0.74),
    _lfm2("LFM2-1.2B", hidden=2048, size=1.17, also=("LFM2.5-1.2B",)),
    _lfm2("LFM2-2.6B", hidden=2048, layers=30, full=(2, 5, 9, 13, 17, 21, 24, 27), size=2.57),
    _lfm2(
        "LFM2-8B-A1B",
        "Lfm2MoeForCausalLM",
        hidden=2048,
        layers=24,
        full=(2, 6, 10, 14, 18, 21),
        size=8.3,
        active=1.5,
        experts=(32, 4),
        also=("LFM2.5-8B-A1B",),
    ),
    _falcon_h1_7b(),
    _granite("Granite-4.0-H-Small", kv=8, hidden=4096, heads=128, size=32, active=9, experts=(72, 10)),
    _granite("Granite-4.0-H-Tiny", kv=4, hidden=1536, heads=48, size=7, active=1, experts=(64, 6)),
    gqa("Granite-4.0-Micro", _GRANITE_H, layers=40, kv=8, dim=64, hidden=2560, vocab=100352, context=128 * K, size=3, unsure=_UNSEEN),
    gqa("Granite-3.3-8B", "GraniteForCausalLM", layers=40, kv=8, hidden=4096, vocab=49159, context=128 * K, size=8.2, unsure=_UNSEEN),
    sliding(
        gqa("EXAONE-4.0-32B", "Exaone4ForCausalLM", layers=64, kv=8, hidden=5120, vocab=102400, context=128 * K, size=32, unsure=_UNSEEN),
        full=every(4, 64),
        window=4096,
    ),
)

MODELS: Final[tuple[Row, ...]] = (*MISTRAL, *OTHERS)
