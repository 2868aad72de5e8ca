"""Finding a model of the table by its name, in any spelling, or by its class."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from kvtui.domain.geometry import Geometry
from kvtui.domain.models import deepseek, glm, google_openai, llama, qwen, western
from kvtui.domain.models.architectures import is_draft
from kvtui.domain.models.shape import Row

_ROWS: Final[tuple[Row, ...]] = (
    *deepseek.MODELS,
    *qwen.MODELS,
    *llama.MODELS,
    *glm.MODELS,
    *google_openai.MODELS,
    *western.MODELS,
)
MODELS: Final[tuple[Geometry, ...]] = tuple(row.geometry for row in _ROWS)
"""Every geometry of the table."""

_MAX_NAME: Final = 1000
_MAX_PARTS: Final = 5
"""How many folders of a path, from its end, may name the model."""


@dataclass(frozen=True, slots=True)
class Match:
    """A geometry of the table, and what it was found by."""

    geometry: Geometry
    basis: Literal["name", "architecture"]


_ONE_SIZE: Final = {
    "DeepseekV3ForCausalLM": "DeepSeek-V3",
    "DeepseekV32ForCausalLM": "DeepSeek-V3.2",
    "Glm4MoeLiteForCausalLM": "GLM-4.7-Flash",
    "KimiK25ForConditionalGeneration": "Kimi-K2.5",
    "KimiK3ForConditionalGeneration": "Kimi-K3",
    "KimiLinearForCausalLM": "Kimi-Linear-48B-A3B",
    "Llama4ForConditionalGeneration": "Llama-4-Scout",
    "MiMoV2FlashForCausalLM": "MiMo-V2-Flash",
    "MiniCPMSALAForCausalLM": "MiniCPM-SALA",
    "MiniMaxM2ForCausalLM": "MiniMax-M2",
    "MistralLarge3ForCausalLM": "Mistral-Large-3-675B",
    "Qwen3NextForCausalLM": "Qwen3-Next-80B-A3B",
    "Step3VLForConditionalGeneration": "Step3",
    "Step3p5ForCausalLM": "Step-3.5-Flash",
}
"""Classes whose well-known checkpoints all have one cache shape, and a model that has it."""

_EQUAL_CLASSES: Final = (
    frozenset({"MistralForCausalLM", "Mistral3ForConditionalGeneration", "Ministral3ForCausalLM", "PixtralForConditionalGeneration"}),
    frozenset({"Grok1ForCausalLM", "Grok1ModelForCausalLM"}),
    frozenset({"ChatGLMModel", "GlmForCausalLM"}),
)
"""Classes that run each other's checkpoints."""

_ENDINGS: Final = re.compile(r"(?:ForCausalLM|ForConditionalGeneration)$")

_STRUCTURAL: Final = re.compile(
    r"""
    \d+(?:\.\d+)?b | \d{2,}m | a\d+(?:\.\d+)?b | \d+x\d+b | e\d+b     # another size
    | eagle\d* | eagle3?head | draft\w* | nextn | mtp\d* | medusa | dflash\w* | dspark | speculator\w* | assistant
    | distill\w* | pruned? | reap | mini | tiny | small | lite | nano | micro | flash | pro | max | air | plus | large | medium
    | vl | omni | multimodal | vision | audio | asr | tts | ocr | embedding\w* | embed | reranker | reward | rm
    | guard\w* | next | math | coder
    | scout | maverick | super | ultra | lightning | linear | zero | deep
    """,
    re.VERBOSE,
)
"""Words beside a known name that make it another model."""

_HUB_PREFIX: Final = re.compile(r"^(?:models|model)--(?:[^/]*--)?")
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}")
_VERSION_CUT: Final = re.compile(r"\d(?:\.\d+)?")
"""A lone digit right after a name, as in K2-9 for K2.9: another version."""


@dataclass(frozen=True, slots=True)
class _Key:
    tokens: tuple[str, ...]
    row: Row


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[^a-z0-9.]+", text.lower()) if word.strip("."))


def _tokens(word: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", word)


def _key(name: str, row: Row) -> _Key:
    return _Key(tuple(token for word in _words(name) for token in _tokens(word)), row)


_KEYS: Final = sorted(
    (_key(name, row) for row in _ROWS for name in (row.geometry.name, *row.names)), key=lambda key: len(key.tokens), reverse=True
)


def _match_words(words: tuple[str, ...]) -> Row | None:
    """The row of the longest name found in the words, if no other word makes it another model."""
    spread = [(token, index) for index, word in enumerate(words) for token in _tokens(word)]
    flat = tuple(token for token, _ in spread)
    for key in _KEYS:
        size = len(key.tokens)
        for start in range(len(flat) - size + 1):
            if flat[start : start + size] == key.tokens and _whole(spread, start, start + size):
                rest = words[: spread[start][1]], words[spread[start + size - 1][1] + 1 :]
                return None if _another(*rest) else key.row
    return None


def _whole(spread: list[tuple[str, int]], start: int, end: int) -> bool:
    """Whether the tokens are whole words: K2 is not part of K2.5."""
    return (start == 0 or spread[start - 1][1] != spread[start][1]) and (end == len(spread) or spread[end][1] != spread[end - 1][1])


def _another(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether words around a name say that it is a different model."""
    cut = bool(after) and _VERSION_CUT.fullmatch(after[0]) is not None
    return cut or any(_STRUCTURAL.fullmatch(word) for word in (*before, *after))


def _parts(name: str) -> list[str]:
    """Folders of a path or repository id that may name the model, the last one first."""
    parts = [part.strip() for part in re.split(r"[\\/]+", name[:_MAX_NAME]) if part.strip()]
    kept = [_HUB_PREFIX.sub("", part) for part in parts if part.lower() != "snapshots" and not _REVISION.fullmatch(part.lower())]
    return kept[::-1][:_MAX_PARTS]


def _by_name(name: str) -> Row | None:
    parts = _parts(name)
    for index, part in enumerate(parts):
        words = _words(part)
        row = _match_words(words)
        if row is not None:
            return row
        if any(_STRUCTURAL.fullmatch(word) for word in words):
            # A folder that names a size alone, as in llama3/8b, belongs to the one above it; one that
            # names another model or a draft ends the search.
            return _match_words((*_words(parts[index + 1]), *words)) if index + 1 < len(parts) else None
    return None


def _agrees(architecture: str, geometry: Geometry) -> bool:
    """Whether a class runs the geometry's checkpoint."""
    pair = {architecture, geometry.architecture}
    return _ENDINGS.sub("", architecture) == _ENDINGS.sub("", geometry.architecture) or any(pair <= equal for equal in _EQUAL_CLASSES)


def find_model(name: str | None, architecture: str | None) -> Match | None:
    """The table's model for a name and a class.

    ``name``: a path or repository id in any spelling; quantisation, dates and words of fine-tuning
    are passed over, and the most specific name wins. ``architecture``: the class that the server
    loaded; where it contradicts the named model the answer is None. Without a known name, a class
    whose well-known checkpoints all have one shape is enough.
    """
    if architecture is not None and is_draft(architecture):
        return None
    row = _by_name(name) if name else None
    if row is not None:
        # Transformers' own classes run any checkpoint.
        agreed = architecture is None or architecture.startswith("Transformers") or _agrees(architecture, row.geometry)
        return Match(row.geometry, "name") if agreed else None
    return _by_class(architecture) if architecture is not None else None


def _by_class(architecture: str) -> Match | None:
    known = _ONE_SIZE.get(architecture)
    geometry = next((found for found in MODELS if found.name == known), None)
    if geometry is None:
        return None
    note = f"taken for {geometry.name} by its class {architecture} alone"
    return Match(replace(geometry, sure=False, note=note), "architecture")


def candidates(architecture: str) -> tuple[Geometry, ...]:
    """Every model of the table that the class can run, for a caller with a measured pool to choose from."""
    if is_draft(architecture):
        return ()
    return tuple(geometry for geometry in MODELS if _agrees(architecture, geometry))
