"""What the class of a model tells about its KV cache, as data.

Class names are those of SGLang 0.4.6 to 0.5.23 (``models/`` of each wheel): the ``architectures``
entry of a checkpoint, or ``type=`` of the "Load weight end" line.
"""

from __future__ import annotations

import re
from typing import Final

from kvtui.domain.geometry import Attention
from kvtui.domain.release import Release, Table

_MLA: Final = """
DeepseekV2ForCausalLM DeepseekV3ForCausalLM DeepseekV3ForCausalLMNextN DeepseekVL2ForCausalLM DotsVLMForCausalLM
Eagle3DeepseekV2ForCausalLM Glm4MoeLiteForCausalLM Glm4MoeLiteForCausalLMNextN KimiK25ForConditionalGeneration
KimiVLForConditionalGeneration LongcatFlashForCausalLM LongcatFlashForCausalLMNextN MiniCPM3ForCausalLM
MistralLarge3ForCausalLM MistralLarge3ForCausalLMEagle SarvamMLAForCausalLM
"""
_DSA: Final = "DeepseekV32ForCausalLM GlmMoeDsaForCausalLM GlmMoeDsaForCausalLMNextN"
_DSV4: Final = "DeepseekV4ForCausalLM DeepseekV4ForCausalLMNextN DeepseekV4ForCausalLMDSpark"
_SWA: Final = """
AfmoeForCausalLM Cohere2ForCausalLM Cohere2MoeForCausalLM Cohere2VisionForConditionalGeneration DiffusionGemmaForBlockDiffusion
ExaoneMoEForCausalLM ExaoneMoeForCausalLM Gemma2ForCausalLM Gemma2ForSequenceClassification Gemma3ForCausalLM
Gemma3ForConditionalGeneration Gemma3nForCausalLM Gemma3nForConditionalGeneration Gemma4ForCausalLM
Gemma4ForConditionalGeneration Gemma4UnifiedForConditionalGeneration GptOssForCausalLM GraniteMoeSWAForCausalLM
GraniteSWAForCausalLM InklingForConditionalGeneration IQuestQ1ForCausalLM IQuestQ1MTP Llama4ForCausalLM
Llama4ForConditionalGeneration MellumForCausalLM MiMoV2FlashForCausalLM MiMoV2ForCausalLM MiMoV2MTP MuseGlimmerForCausalLM
MuseGlimmerForConditionalGeneration MuseSparkForConditionalGeneration Step3p5ForCausalLM Step3p5MTP
Step3p7ForConditionalGeneration UnlimitedOCRForCausalLM
"""
_HYBRID: Final = """
BailingMoeV2_5ForCausalLM BailingMoeV3ForCausalLM BailingMoeV3VLForConditionalGeneration FalconH1ForCausalLM
GigaChat35ForCausalLM Glm5NextForConditionalGeneration InternS2MobiusForConditionalGeneration
InternS2PreviewForConditionalGeneration JetNemotronForCausalLM JetVLMForConditionalGeneration KimiK3ForConditionalGeneration
KimiK3LinearForCausalLM KimiLinearForCausalLM Lfm2ForCausalLM Lfm2MoeForCausalLM Lfm2VlForConditionalGeneration
MiniCPMSALAForCausalLM NemotronHForCausalLM NemotronHPuzzleForCausalLM NemotronH_Nano_Omni_Reasoning_V3 NemotronH_Nano_VL_V2
NemotronH_Omni_Reasoning_V3 Qwen3NextForCausalLM Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration Qwen3_5MoeForCausalLM
Qwen3_5MoeForConditionalGeneration Qwen4ExpForConditionalGeneration ZayaForCausalLM
"""
# The MTP heads of hybrids run on full attention alone, so they are listed here.
_GQA: Final = """
ApertusForCausalLM ArceeForCausalLM BailingMoEForCausalLM BailingMoeForCausalLM BailingMoeV2ForCausalLM ChatGLMModel
CohereForCausalLM DbrxForCausalLM DeciLMForCausalLM DotsOCRForCausalLM Ernie4_5_ForCausalLM Ernie4_5_MoeForCausalLM
Ernie4_5_MoeForCausalLMMTP Ernie4_5_VLMoeForConditionalGeneration ExaoneForCausalLM Glm4ForCausalLM Glm4MoeForCausalLM
Glm4MoeForCausalLMNextN Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration GlmOcrForConditionalGeneration
GlmOcrForConditionalGenerationNextN GraniteForCausalLM GraniteMoeForCausalLM GraniteMoeSharedForCausalLM Grok1ForCausalLM
Grok1ModelForCausalLM HYV3ForCausalLM HYV3ForCausalLMNextN HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM
IQuestCoderForCausalLM InternLM2ForCausalLM InternLM3ForCausalLM InternS1ForConditionalGeneration
InternS1ProForConditionalGeneration LLaDA2MoeModelLM LlamaForCausalLM LlamaForCausalLMEagle LlamaForCausalLMEagle3
LlavaForConditionalGeneration MiMoForCausalLM MiMoMTP MiniCPMForCausalLM MiniMaxM2ForCausalLM Ministral3ForCausalLM
Mistral3ForConditionalGeneration MistralForCausalLM MistralForCausalLMEagle MixtralForCausalLM MllamaForConditionalGeneration
NemotronHForCausalLMMTP OlmoeForCausalLM Phi3ForCausalLM Phi4MMForCausalLM PhiMoEForCausalLM QuantMixtralForCausalLM
Qwen2ForCausalLM Qwen2ForCausalLMEagle Qwen2MoeForCausalLM Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration
Qwen3ForCausalLM Qwen3MoeForCausalLM Qwen3MoeForCausalLMMTP Qwen3NextForCausalLMMTP Qwen3OmniMoeForConditionalGeneration
Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration Qwen3_5ForCausalLMMTP SDARForCausalLM SDARMoeForCausalLM
SarvamMoEForCausalLM SolarForCausalLM Starcoder2ForCausalLM Step3VLForConditionalGeneration StepVLForConditionalGeneration
"""
_KINDS: Final = {
    name: kind
    for kind, names in (
        (Attention.MLA, _MLA),
        (Attention.DSA, _DSA),
        (Attention.DSV4, _DSV4),
        (Attention.SWA, _SWA),
        (Attention.MAMBA_HYBRID, _HYBRID),
        (Attention.GQA, _GQA),
    )
    for name in names.split()
}

MLA_CLASSES: Final = frozenset((_MLA + _DSA).split()) | {"PixtralForConditionalGeneration"}
"""Classes that SGLang serves with MLA; Pixtral's only where its configuration has a ``kv_lora_rank``."""

DSA_CLASSES: Final = frozenset(
    (
        _DSA + " DeepseekV3ForCausalLM DeepseekV3ForCausalLMNextN MistralLarge3ForCausalLM PixtralForConditionalGeneration"
        " LongcatFlashForCausalLM LongcatFlashForCausalLMNextN"
    ).split()
)
"""Classes that run with an indexer where the configuration has an ``index_topk`` (0.5.23 is_deepseek_dsa)."""

NOT_MODELLED: Final = {
    "Dots3NoteForCausalLM": "its sliding layers keep latents of another width",
    "FalconMambaForCausalLM": "it has no attention layers",
    "GigaChat35ForCausalLM": "its mixed linear and latent layers were not checked",
    "Glm5NextForConditionalGeneration": "an indexer beside linear layers was not checked",
    "HYV4ForCausalLM": "its attention was not checked",
    "InklingForConditionalGeneration": "its sliding layers keep a convolution state as well",
    "Mamba2ForCausalLM": "it has no attention layers",
    "MambaForCausalLM": "it has no attention layers",
    "MiniMaxM3ForCausalLM": "its sparse layers keep index keys beside K and V",
    "MiniMaxM3SparseForCausalLM": "its sparse layers keep index keys beside K and V",
    "MiniMaxM3SparseForConditionalGeneration": "its sparse layers keep index keys beside K and V",
    "MuseSparkForConditionalGeneration": "its pool is sized after the graphs are captured",
    "Qwen4ExpForConditionalGeneration": "its short convolutions and n-gram state were not checked",
    "ZayaForCausalLM": "part of its convolution state is kept whole on each rank",
}
"""Classes whose cache the arithmetic does not cover, and why."""

TEXT_ONLY_UNLESS_ASKED: Final = frozenset(
    {
        "Gemma3ForConditionalGeneration",
        "InklingForConditionalGeneration",
        "Llama4ForConditionalGeneration",
        "Step3VLForConditionalGeneration",
    }
)
"""Multimodal checkpoints that SGLang serves as text unless ``--enable-multimodal`` is given (0.5.23 ModelConfig)."""

_SWA_0_5_9: Final = frozenset(
    {
        "GptOssForCausalLM",
        "Llama4ForConditionalGeneration",
        "MiMoV2FlashForCausalLM",
        "MiMoV2MTP",
        "Step3p5ForCausalLM",
        "Step3p5MTP",
    }
)
_SWA_0_5_12: Final = _SWA_0_5_9 | {
    "DeepseekV4ForCausalLM",
    "DeepseekV4ForCausalLMNextN",
    "Gemma4ForCausalLM",
    "Gemma4ForConditionalGeneration",
    "LagunaForCausalLM",
    "MiMoV2ForCausalLM",
}
_SWA_0_5_15: Final = _SWA_0_5_12 | {
    "Gemma4UnifiedForConditionalGeneration",
    "Step3p7ForConditionalGeneration",
    "UnlimitedOCRForCausalLM",
}
_SWA_0_5_18: Final = _SWA_0_5_15 | {
    "DeepseekV4ForCausalLMDSpark",
    "InklingForConditionalGeneration",
    "InklingForConditionalGenerationMTP",
    "MellumForCausalLM",
    "MuseGlimmerForCausalLM",
    "MuseGlimmerForConditionalGeneration",
}
_SWA_0_5_21: Final = _SWA_0_5_18 | {
    "DiffusionGemmaForBlockDiffusion",
    "GraniteMoeSWAForCausalLM",
    "GraniteSWAForCausalLM",
    "IQuestQ1ForCausalLM",
    "IQuestQ1MTP",
    "MuseSparkForConditionalGeneration",
}
SWA_MEMORY: Final = Table(
    "which model classes keep a separate pool for their sliding-window layers",
    (
        ("0.4.6", frozenset[str]()),
        (
            # Only the model classes that told their window were split, Gemma 2 excepted.
            "0.4.10",
            frozenset({"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", "Gemma3nForCausalLM", "Gemma3nForConditionalGeneration"}),
        ),
        # From here on Gemma 2 and 3 and gpt-oss switch the split off; Llama 4 needs --hybrid-kvcache-ratio.
        ("0.5.3", frozenset[str]()),
        ("0.5.9", _SWA_0_5_9),
        ("0.5.12", _SWA_0_5_12),
        ("0.5.15", _SWA_0_5_15),
        ("0.5.18", _SWA_0_5_18),
        ("0.5.21", _SWA_0_5_21),
        ("0.5.23", _SWA_0_5_21 | {"BeamForCausalLM", "EmbeddingGemma2Model"}),
    ),
)
"""By release: ``is_hybrid_swa_model`` of configs/model_config.py, less what the release switches off itself."""


def swa_memory(architecture: str, release: Release | None) -> bool:
    """Whether a release gives the class's sliding-window layers a pool of their own by default.

    False: every layer is sized as full attention. Flags that change it (``--disable-hybrid-swa-memory``,
    HiCache with MiMo-V2 or Step-3.5, gpt-oss on the trtllm_mha backend in 0.5.9 and 0.5.10) are the caller's.
    """
    return architecture in SWA_MEMORY.at(release)


def attention_of(architecture: str) -> Attention | None:
    """The kind of attention, where the class alone fixes it; None for unknown and ambiguous classes."""
    return _KINDS.get(architecture)


_DRAFT: Final = re.compile(r"(?:NextN|MTP|EAGLE3?|Eagle3?|DSpark)$|^Eagle3|DFlash|DSpark|DraftModel|Assistant")


def is_draft(architecture: str) -> bool:
    """Whether the class is a draft model for speculative decoding."""
    return len(architecture) <= 200 and _DRAFT.search(architecture) is not None
