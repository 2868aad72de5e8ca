"""GLM, MiniMax, Step, MiMo and other Chinese families without one of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.models.shape import K, Row, gqa, hybrid, indexed, latent, others, sliding
from kvtui.domain.models.states import lightning_state

_GLM4: Final = "Glm4ForCausalLM"
_MOE: Final = "Glm4MoeForCausalLM"
_DSA: Final = "GlmMoeDsaForCausalLM"
_M2: Final = "MiniMaxM2ForCausalLM"
_UNSEEN: Final = "not checked against the published configuration"


def _big(name: str, context: int, *, also: tuple[str, ...] = ()) -> Row:
    return gqa(
        name,
        _MOE,
        layers=92,
        kv=8,
        hidden=5120,
        vocab=151552,
        context=context,
        size=355,
        active=32,
        experts=(160, 8),
        nextn=1,
        also=also,
    )


def _air(name: str, architecture: str, context: int, *, also: tuple[str, ...] = (), vision: tuple[int, int] | None = None) -> Row:
    return gqa(
        name,
        architecture,
        layers=46,
        kv=8,
        hidden=4096,
        vocab=151552,
        context=context,
        size=106,
        active=12,
        experts=(128, 8),
        nextn=1,
        vision=vision,
        also=also,
        unsure=_UNSEEN,
    )


def _five(name: str, context: int, *, own: int | None = None, also: tuple[str, ...] = ()) -> Row:
    row = gqa(
        name,
        _DSA,
        layers=78,
        kv=64,
        hidden=6144,
        vocab=154880,
        context=context,
        size=744,
        active=40,
        experts=(256, 8),
        nextn=1,
        also=also,
    )
    return indexed(latent(row, nope=192, v_dim=256), own=own)


def _mimo_v2_flash() -> Row:
    """Keys of 192 and values of 128 elements a head, in full and in sliding layers."""
    row = gqa(
        "MiMo-V2-Flash",
        "MiMoV2FlashForCausalLM",
        layers=48,
        kv=4,
        dim=192,
        hidden=4096,
        vocab=152576,
        context=256 * K,
        size=309,
        active=15,
        experts=(256, 8),
        nextn=1,
    )
    return Row(replace(row.geometry, v_head_dim=128))


_MIMO_FULL: Final = (0, *range(5, 48, 6))
_SALA_FULL: Final = (0, 9, 16, 17, 22, 29, 30, 31)

MODELS: Final[tuple[Row, ...]] = (
    gqa("GLM-4-9B-0414", _GLM4, layers=40, kv=2, hidden=4096, vocab=151552, context=32 * K, size=9.4, also=("GLM-Z1-9B-0414",)),
    gqa(
        "GLM-4-32B-0414",
        _GLM4,
        layers=61,
        kv=2,
        hidden=6144,
        vocab=151552,
        context=32 * K,
        size=32.6,
        also=("GLM-Z1-32B-0414",),
        unsure=_UNSEEN,
    ),
    gqa("GLM-4-9B-Chat", "ChatGLMModel", layers=40, kv=2, hidden=4096, vocab=151552, context=128 * K, size=9.4, also=("GLM-4-9B",)),
    _big("GLM-4.5", 128 * K),
    _big("GLM-4.6", 198 * K),
    _big("GLM-4.7", 198 * K),
    _air("GLM-4.5-Air", _MOE, 128 * K),
    _air("GLM-4.5V", "Glm4vMoeForConditionalGeneration", 64 * K, vision=(24, 1536)),
    _air("GLM-4.6V", "Glm4vMoeForConditionalGeneration", 128 * K, vision=(24, 1536)),
    latent(
        gqa(
            "GLM-4.7-Flash",
            "Glm4MoeLiteForCausalLM",
            layers=47,
            kv=20,
            hidden=2048,
            vocab=154880,
            context=198 * K,
            size=31,
            active=3,
            experts=(64, 4),
            nextn=1,
        ),
        nope=192,
        v_dim=256,
    ),
    _five("GLM-5", 198 * K, also=("GLM-5.1",)),
    # Each fourth layer, and the first three, have an indexer of their own.
    _five("GLM-5.2", 1024 * K, own=21, also=("GLM-5.3",)),
    gqa(
        "MiniMax-M2",
        _M2,
        layers=62,
        kv=8,
        hidden=3072,
        vocab=200064,
        context=192 * K,
        size=229,
        active=10,
        experts=(256, 8),
        also=("MiniMax-M2.1", "MiniMax-M2.5"),
    ),
    gqa("MiniMax-M2.7", _M2, layers=62, kv=8, hidden=3072, vocab=200064, context=200 * K, size=229, active=10, experts=(256, 8)),
    sliding(
        gqa(
            "Step-3.5-Flash",
            "Step3p5ForCausalLM",
            layers=45,
            kv=8,
            hidden=4096,
            vocab=128896,
            context=256 * K,
            size=196,
            active=11,
            experts=(288, 8),
            nextn=3,
            unsure="its layers are taken from Step-3.7-Flash, which shares the design",
        ),
        full=tuple(range(0, 45, 4)),
        window=512,
    ),
    gqa(
        "Step3",
        "Step3VLForConditionalGeneration",
        layers=61,
        kv=1,
        dim=256,
        hidden=7168,
        vocab=128815,
        context=64 * K,
        size=321,
        active=38,
        experts=(48, 3),
        vision=(63, 1792),
        unsure=_UNSEEN,
    ),
    sliding(
        _mimo_v2_flash(),
        full=_MIMO_FULL,
        window=128,
        kv=8,
        dim=192,
        v_dim=128,
    ),
    gqa("MiMo-7B", "MiMoForCausalLM", layers=36, kv=8, hidden=4096, vocab=151680, context=32 * K, size=7.8, nextn=1),
    gqa(
        "Hunyuan-A13B",
        "HunYuanMoEV1ForCausalLM",
        layers=32,
        kv=8,
        hidden=4096,
        vocab=128167,
        context=32 * K,
        size=80,
        active=13,
        experts=(64, 8),
        unsure=_UNSEEN,
    ),
    gqa(
        "ERNIE-4.5-21B-A3B",
        "Ernie4_5_MoeForCausalLM",
        layers=28,
        kv=4,
        hidden=2560,
        vocab=103424,
        context=128 * K,
        size=21,
        active=3,
        experts=(64, 6),
        nextn=1,
        unsure=_UNSEEN,
    ),
    gqa(
        "ERNIE-4.5-300B-A47B",
        "Ernie4_5_MoeForCausalLM",
        layers=54,
        kv=8,
        hidden=8192,
        vocab=103424,
        context=128 * K,
        size=300,
        active=47,
        experts=(64, 8),
        unsure=_UNSEEN,
    ),
    gqa("ERNIE-4.5-0.3B", "Ernie4_5_ForCausalLM", layers=18, kv=2, hidden=1024, vocab=103424, context=128 * K, size=0.36, unsure=_UNSEEN),
    gqa(
        "Seed-OSS-36B",
        "SeedOssForCausalLM",
        layers=64,
        kv=8,
        hidden=5120,
        vocab=155136,
        context=512 * K,
        size=36.2,
        unsure=_UNSEEN,
    ),
    gqa("InternLM2.5-7B", "InternLM2ForCausalLM", layers=32, kv=8, hidden=4096, vocab=92544, size=7.7, unsure=_UNSEEN),
    gqa("InternLM2.5-20B", "InternLM2ForCausalLM", layers=48, kv=8, hidden=6144, vocab=92544, size=19.9, unsure=_UNSEEN),
    gqa("InternLM3-8B", "InternLM3ForCausalLM", layers=48, kv=2, hidden=4096, vocab=128512, context=32 * K, size=8.8, unsure=_UNSEEN),
    hybrid(
        gqa("MiniCPM-SALA", "MiniCPMSALAForCausalLM", layers=32, kv=2, hidden=4096, vocab=73448, context=512 * K, size=9.5),
        full=_SALA_FULL,
        state=lightning_state(others(32, _SALA_FULL), heads=32, head_dim=128),
    ),
)
