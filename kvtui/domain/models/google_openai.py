"""OpenAI's gpt-oss and Google's Gemma."""

from __future__ import annotations

from typing import Final

from kvtui.domain.models.shape import K, Row, every, gqa, sliding

_OSS: Final = "GptOssForCausalLM"
_G2: Final = "Gemma2ForCausalLM"
_G3: Final = "Gemma3ForConditionalGeneration"
_G4: Final = "Gemma4ForConditionalGeneration"
_UNSEEN: Final = "not checked against the published configuration"
_SIGLIP: Final = (27, 1152)


def _oss(name: str, *, layers: int, experts: int, size: float, active: float) -> Row:
    row = gqa(
        name,
        _OSS,
        layers=layers,
        kv=8,
        dim=64,
        hidden=2880,
        vocab=201088,
        context=128 * K,
        size=size,
        active=active,
        experts=(experts, 4),
    )
    return sliding(row, full=every(2, layers), window=128)


def _gemma2(name: str, size: float, *, layers: int, kv: int, dim: int, hidden: int) -> Row:
    row = gqa(name, _G2, layers=layers, kv=kv, dim=dim, hidden=hidden, vocab=256000, context=8 * K, size=size)
    return sliding(row, full=every(2, layers), window=4096)


def _gemma3(name: str, size: float, *, layers: int, kv: int, dim: int = 256, hidden: int) -> Row:
    # Its rope factor of 8 multiplies the declared 128 K in SGLang's reading.
    row = gqa(name, _G3, layers=layers, kv=kv, dim=dim, hidden=hidden, vocab=262208, context=1024 * K, size=size, vision=_SIGLIP)
    return sliding(row, full=every(6, layers), window=1024)


def _gemma4(
    name: str,
    architecture: str = _G4,
    *,
    layers: int,
    step: int = 6,
    kv: int,
    swa_kv: int,
    hidden: int,
    window: int = 1024,
    context: int = 256 * K,
    size: float,
    active: float | None = None,
    experts: tuple[int, int] | None = None,
    vision: tuple[int, int] = _SIGLIP,
    unsure: str = "",
) -> Row:
    """Full layers of 512 wide heads, sliding ones of 256; layers that share K and V have room in the pool all the same."""
    row = gqa(
        name,
        architecture,
        layers=layers,
        kv=kv,
        dim=512,
        hidden=hidden,
        vocab=262144,
        context=context,
        size=size,
        active=active,
        experts=experts,
        vision=vision,
        unsure=unsure,
    )
    return sliding(row, full=every(step, layers), window=window, kv=swa_kv, dim=256)


MODELS: Final[tuple[Row, ...]] = (
    _oss("gpt-oss-20b", layers=24, experts=32, size=20.9, active=3.6),
    _oss("gpt-oss-120b", layers=36, experts=128, size=116.8, active=5.1),
    _gemma2("Gemma-2-2B", 2.6, layers=26, kv=4, dim=256, hidden=2304),
    _gemma2("Gemma-2-9B", 9.2, layers=42, kv=8, dim=256, hidden=3584),
    _gemma2("Gemma-2-27B", 27.2, layers=46, kv=16, dim=128, hidden=4608),
    sliding(
        gqa("Gemma-3-1B", "Gemma3ForCausalLM", layers=26, kv=1, dim=256, hidden=1152, vocab=262144, context=32 * K, size=1.0),
        full=every(6, 26),
        window=512,
    ),
    _gemma3("Gemma-3-4B", 4.3, layers=34, kv=4, hidden=2560),
    _gemma3("Gemma-3-12B", 12.2, layers=48, kv=8, hidden=3840),
    _gemma3("Gemma-3-27B", 27.4, layers=62, kv=16, dim=128, hidden=5376),
    _gemma4("Gemma-4-26B-A4B", layers=30, kv=2, swa_kv=8, hidden=2816, size=26, active=4, experts=(128, 8)),
    _gemma4("Gemma-4-31B", layers=60, kv=4, swa_kv=16, hidden=5376, size=31),
    _gemma4("Gemma-4-12B", "Gemma4UnifiedForConditionalGeneration", layers=48, kv=1, swa_kv=8, hidden=3840, size=12, unsure=_UNSEEN),
    _gemma4(
        "Gemma-4-E2B",
        layers=35,
        step=5,
        kv=1,
        swa_kv=1,
        hidden=1536,
        window=512,
        context=128 * K,
        size=5.1,
        active=2.3,
        vision=(16, 768),
        unsure=_UNSEEN,
    ),
    _gemma4(
        "Gemma-4-E4B",
        layers=42,
        kv=2,
        swa_kv=2,
        hidden=2560,
        window=512,
        context=128 * K,
        size=8.0,
        active=4.5,
        vision=(16, 768),
        unsure=_UNSEEN,
    ),
)
