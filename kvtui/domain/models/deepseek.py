"""DeepSeek, Kimi and other models on their designs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kvtui.domain.geometry import Attention
from kvtui.domain.models.shape import K, Row, gqa, hybrid, indexed, latent, others
from kvtui.domain.models.states import kda_state

_V3: Final = "DeepseekV3ForCausalLM"
_V2: Final = "DeepseekV2ForCausalLM"
_K25: Final = "KimiK25ForConditionalGeneration"
_LLAMA: Final = "LlamaForCausalLM"
_QWEN: Final = "Qwen2ForCausalLM"


def _v3(name: str, architecture: str = _V3, *, also: tuple[str, ...] = ()) -> Row:
    return latent(
        gqa(
            name,
            architecture,
            layers=61,
            kv=128,
            hidden=7168,
            vocab=129280,
            context=160 * K,
            size=671,
            active=37,
            experts=(256, 8),
            nextn=1,
            also=also,
        )
    )


def _kimi(name: str, context: int, *, also: tuple[str, ...] = ()) -> Row:
    return latent(
        gqa(name, _V3, layers=61, kv=64, hidden=7168, vocab=163840, context=context, size=1000, active=32, experts=(384, 8), also=also)
    )


def _kimi_vision(name: str, *, also: tuple[str, ...] = ()) -> Row:
    plain = _kimi(name, 256 * K, also=also)
    seeing = replace(plain.geometry, architecture=_K25, multimodal=True, vision_layers=27, vision_hidden=1152)
    return Row(seeing, plain.names)


def _v4(name: str, *, layers: int, first: int, hidden: int, experts: int, size: float, active: float) -> Row:
    """Two layers of ratio ``first``, then 4 and 128 in turn, up to the last layer."""
    ratios = (first, first, *(4 if layer % 2 == 0 else 128 for layer in range(2, layers)))
    row = gqa(
        name,
        "DeepseekV4ForCausalLM",
        layers=layers,
        kv=1,
        dim=512,
        hidden=hidden,
        vocab=129280,
        context=1024 * K,
        size=size,
        active=active,
        experts=(experts, 6),
        nextn=1,
    )
    return Row(replace(row.geometry, attention=Attention.DSV4, qk_rope_head_dim=64, index_head_dim=128, window=128, compress_ratios=ratios))


_KDA_FULL_48B: Final = (3, 7, 11, 15, 19, 23, 26)
_KDA_FULL_K3: Final = (*range(3, 92, 4), 92)

_LITE: Final = "not checked against the published configuration"

MODELS: Final[tuple[Row, ...]] = (
    _v3("DeepSeek-V3", also=("DeepSeek-V3.1", "DeepSeekV3", "DeepSeekV3.1")),
    _v3("DeepSeek-R1", also=("DeepSeek-R1-Zero", "DeepSeek-R1T", "DeepSeek-R1T2", "DeepSeekR1")),
    indexed(_v3("DeepSeek-V3.2", "DeepseekV32ForCausalLM", also=("DeepSeekV3.2",))),
    _v4("DeepSeek-V4-Flash", layers=43, first=0, hidden=4096, experts=256, size=284, active=13),
    _v4("DeepSeek-V4-Pro", layers=61, first=128, hidden=7168, experts=384, size=1600, active=49),
    latent(
        gqa(
            "DeepSeek-V2",
            _V2,
            layers=60,
            kv=128,
            hidden=5120,
            vocab=102400,
            context=160 * K,
            size=236,
            active=21,
            experts=(160, 6),
            also=("DeepSeek-V2.5", "DeepSeek-V2-Chat", "DeepSeek-Coder-V2"),
        )
    ),
    latent(
        gqa(
            "DeepSeek-V2-Lite",
            _V2,
            layers=27,
            kv=16,
            hidden=2048,
            vocab=102400,
            context=160 * K,
            size=15.7,
            active=2.4,
            experts=(64, 6),
            also=("DeepSeek-Coder-V2-Lite",),
        )
    ),
    gqa("DeepSeek-R1-Distill-Qwen-1.5B", _QWEN, layers=28, kv=2, hidden=1536, vocab=151936, context=128 * K, size=1.78),
    gqa("DeepSeek-R1-Distill-Qwen-7B", _QWEN, layers=28, kv=4, hidden=3584, vocab=152064, context=128 * K, size=7.6),
    gqa("DeepSeek-R1-Distill-Qwen-14B", _QWEN, layers=48, kv=8, hidden=5120, vocab=152064, context=128 * K, size=14.8),
    gqa("DeepSeek-R1-Distill-Qwen-32B", _QWEN, layers=64, kv=8, hidden=5120, vocab=152064, context=128 * K, size=32.8),
    gqa("DeepSeek-R1-Distill-Llama-8B", _LLAMA, layers=32, kv=8, hidden=4096, vocab=128256, context=128 * K, size=8.03),
    gqa("DeepSeek-R1-Distill-Llama-70B", _LLAMA, layers=80, kv=8, hidden=8192, vocab=128256, context=128 * K, size=70.6),
    _kimi("Kimi-K2", 128 * K, also=("Kimi-K2-Instruct", "Kimi-K2-Base")),
    _kimi("Kimi-K2-Thinking", 256 * K, also=("Kimi-K2-Instruct-0905",)),
    _kimi_vision("Kimi-K2.5"),
    _kimi_vision("Kimi-K2.6", also=("Kimi-K2.7-Code",)),
    hybrid(
        latent(
            gqa(
                "Kimi-Linear-48B-A3B",
                "KimiLinearForCausalLM",
                layers=27,
                kv=32,
                hidden=2304,
                vocab=163840,
                context=1024 * K,
                size=49,
                active=3,
                experts=(256, 8),
            )
        ),
        full=_KDA_FULL_48B,
        state=kda_state(others(27, _KDA_FULL_48B), heads=32, head_dim=128, kernel=4),
    ),
    hybrid(
        latent(
            gqa(
                "Kimi-K3",
                "KimiK3ForConditionalGeneration",
                layers=93,
                kv=96,
                hidden=7168,
                vocab=163840,
                context=1024 * K,
                experts=(896, 16),
                vision=(27, 1024),
            )
        ),
        full=_KDA_FULL_K3,
        state=kda_state(others(93, _KDA_FULL_K3), heads=96, head_dim=128, kernel=4),
    ),
    latent(
        gqa(
            "Moonlight-16B-A3B",
            _V3,
            layers=27,
            kv=16,
            hidden=2048,
            vocab=163840,
            context=8 * K,
            size=16,
            active=3,
            experts=(64, 6),
            unsure=_LITE,
        )
    ),
    latent(
        gqa(
            "Kimi-VL-A3B",
            "KimiVLForConditionalGeneration",
            layers=27,
            kv=16,
            hidden=2048,
            vocab=163840,
            context=128 * K,
            size=16,
            active=3,
            experts=(64, 6),
            vision=(27, 1152),
            unsure=_LITE,
        )
    ),
    latent(
        gqa(
            "LongCat-Flash",
            "LongcatFlashForCausalLM",
            # 28 layers, each of which attends twice.
            layers=56,
            kv=64,
            hidden=6144,
            vocab=131072,
            context=128 * K,
            size=560,
            active=27,
            experts=(512, 12),
            also=("LongCat-Flash-Chat", "LongCat-Flash-Thinking"),
            unsure=_LITE,
        )
    ),
)
