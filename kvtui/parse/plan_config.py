"""One configuration of the calculator: a JSON object, checked, as a ``SizingConfig``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn, cast

from kvtui.domain.release import parse_release
from kvtui.domain.sizing import ELEMENT_BYTES, Layout, SizingConfig

_LONGEST_LINE: Final = 1 << 20
"""Characters of one configuration; the longest real ones have a few thousand."""
_LARGEST: Final = 1 << 50
"""No size, count or length of a server comes near."""
_MOST_LAYERS: Final = 10_000
_DTYPES: Final = {
    "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float8_e4m3fn": "fp8_e4m3", "fp8": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2", "fp4_e2m1": "fp4",
}  # fmt: skip
_LAYOUTS: Final = {"mha": "mha", "gqa": "mha", "mla": "mla", "nsa": "nsa", "dsa": "nsa", "dsv4": "dsv4"}

Reader = Callable[[str, object], object]


def parse_plan(line: str) -> SizingConfig:
    """A configuration from one line of JSON.

    Raises ValueError with one sentence that says what is wrong.
    """
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"The configuration is longer than {_LONGEST_LINE:,} characters.")
    try:
        found = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("The configuration is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"The configuration is not JSON: {str(error)[:120]}.") from None
    if not isinstance(found, dict):
        raise ValueError("The configuration must be a JSON object.")  # noqa: TRY004 - one kind of error for the caller
    return plan_config(found)


def plan_config(values: Mapping[str, object]) -> SizingConfig:
    """A configuration from decoded JSON; a null stands for an absent key.

    Raises ValueError with one sentence that says what is wrong.
    """
    given = {key: value for key, value in values.items() if value is not None and isinstance(key, str)}
    layout = _choice("type", given.get("type", "mha"), _LAYOUTS)
    fields: dict[str, Any] = {}
    for key, (name, read) in _KEYS.items():
        if key in given:
            fields[name] = read(key, given[key])
    if "layers" not in fields:
        raise ValueError("num_hidden_layers is missing.")
    version = _text("sglang_version", given.get("sglang_version", ""))
    release = parse_release(version)
    notes = []
    if version and release is None:
        notes.append(f"The version {version[:40]!r} is not a release.")
    ignored = sorted(set(given) - set(_KEYS) - _OTHER_KEYS)
    if ignored:
        notes.append("Keys that are not known were ignored: " + ", ".join(key[:40] for key in ignored[:8]) + ".")
    config = SizingConfig(release=release, layout=cast("Layout", layout), **fields)
    if layout == "mha" and config.kv_heads % config.attn_tp and config.attn_tp % config.kv_heads:
        notes.append(f"{config.kv_heads} KV heads cannot be spread over {config.attn_tp} GPUs: SGLang refuses to start.")
    backend = given.get("nsa_backend")
    return _completed(replace(config, raw_rows=backend == "trtllm", notes=tuple(notes)), given)


def _completed(config: SizingConfig, given: Mapping[str, object]) -> SizingConfig:
    """Defaults that hang on other keys, and contradictions."""
    if "v_head_dim" not in given:
        config = replace(config, v_head_dim=config.head_dim)
    if config.hybrid_swa:
        config = replace(
            config, swa_head_dim=config.swa_head_dim or config.head_dim, swa_v_head_dim=config.swa_v_head_dim or config.v_head_dim
        )
    if config.layout == "dsv4" and "swa_ratio" not in given:
        config = replace(config, swa_ratio=0.1)
    needed = {
        "mha": ("head_dim", "kv_heads"),
        "mla": ("kv_lora_rank",),
        "nsa": ("kv_lora_rank", "index_head_dim"),
        "dsv4": ("compress_ratios",),
    }
    missing = [key for key in needed[config.layout] if key not in given]
    if missing:
        raise ValueError(f"{' and '.join(missing)} must be given for {config.layout}.")
    if len(config.stage) == 0 or config.stage.start < 0 or config.stage.stop > config.layers:
        raise ValueError("start and end must enclose at least one of the layers.")
    return config


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _shown(value: object) -> str:
    return repr(value)[:40]


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} must be text, not {_shown(value)}.")  # noqa: TRY004 - one kind of error for the caller
    return value


def _choice(key: str, value: object, choices: Mapping[str, str]) -> str:
    text = _text(key, value)
    if text not in choices:
        raise ValueError(f"{key} must be one of {', '.join(choices)}, not {_shown(text)}.")
    return choices[text]


def _dtype(key: str, value: object) -> str:
    return _choice(key, value, {**{name: name for name in ELEMENT_BYTES}, **_DTYPES})


def _whole(least: int, most: int = _LARGEST) -> Reader:
    """A reader of whole numbers in a range."""

    def read(key: str, value: object) -> int:
        number = value
        if isinstance(number, float) and math.isfinite(number) and number == int(number):
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"{key} must be a whole number, not {_shown(value)}.")  # noqa: TRY004 - one kind of error for the caller
        if not least <= number <= most:
            raise ValueError(f"{key} must be {least} to {most:,}, not {str(number)[:40]}.")
        return number

    return read


def _number(least: float, most: float) -> Reader:
    """A reader of numbers in a range."""

    def read(key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{key} must be a number, not {_shown(value)}.")  # noqa: TRY004 - one kind of error for the caller
        if not least <= value <= most:
            raise ValueError(f"{key} must be {least:g} to {most:g}, not {_shown(value)}.")
        return float(value)

    return read


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false, not {_shown(value)}.")  # noqa: TRY004 - one kind of error for the caller
    return value


def _ids(key: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > _MOST_LAYERS:
        raise ValueError(f"{key} must be a list of layer numbers.")
    read = _whole(0, _MOST_LAYERS)
    return tuple(cast("int", read(key, entry)) for entry in value)


_COUNT: Final = _whole(0)
_KEYS: Final[Mapping[str, tuple[str, Reader]]] = {
    "pre": ("pre", _number(0, 1 << 20)),
    "post": ("post", _number(0, 1 << 20)),
    "mem_fraction": ("fraction", _number(0, 1)),
    "kv_dtype": ("kv_dtype", _dtype),
    "page_size": ("page_size", _whole(1, 1 << 20)),
    "attn_tp": ("attn_tp", _whole(1, 1 << 20)),
    "kv_heads": ("kv_heads", _whole(1, 1 << 20)),
    "num_hidden_layers": ("layers", _whole(1, _MOST_LAYERS)),
    "head_dim": ("head_dim", _whole(1, 1 << 20)),
    "v_head_dim": ("v_head_dim", _whole(1, 1 << 20)),
    "kv_lora_rank": ("kv_lora_rank", _whole(1, 1 << 20)),
    "qk_rope_head_dim": ("qk_rope_head_dim", _whole(0, 1 << 20)),
    "qk_nope_head_dim": ("qk_nope_head_dim", _whole(0, 1 << 20)),
    "index_head_dim": ("index_head_dim", _whole(0, 1 << 20)),
    "index_layers": ("index_layers", _whole(0, _MOST_LAYERS)),
    "hicache": ("hicache", _switch),
    "context_len": ("context_len", _whole(1)),
    "max_total_tokens": ("max_total_tokens", _COUNT),
    "max_running_requests": ("max_running_requests", _COUNT),
    "dp_size": ("dp_size", _whole(1, 1 << 20)),
    "start": ("start", _whole(0, _MOST_LAYERS)),
    "end": ("end", _whole(0, _MOST_LAYERS)),
    "pp_size": ("pp_size", _whole(1, _MOST_LAYERS)),
    "is_multimodal": ("multimodal", _switch),
    "feature_cache": ("feature_cache", _switch),
    "spec": ("spec", _text),
    "steps": ("steps", _whole(0, 1 << 20)),
    "topk": ("topk", _whole(0, 1 << 20)),
    "draft_tokens": ("draft_tokens", _whole(0, 1 << 20)),
    "paged_branches": ("paged_branches", _switch),
    "draft_layers": ("draft_layers", _whole(0, _MOST_LAYERS)),
    "draft_swa_layers": ("draft_swa_layers", _whole(0, _MOST_LAYERS)),
    "draft_cell": ("draft_cell", _COUNT),
    "is_hybrid_swa": ("hybrid_swa", _switch),
    "full_ids": ("full_ids", _ids),
    "swa_ids": ("swa_ids", _ids),
    "swa_head_dim": ("swa_head_dim", _whole(1, 1 << 20)),
    "swa_v_head_dim": ("swa_v_head_dim", _whole(1, 1 << 20)),
    "swa_kv_heads": ("swa_kv_heads", _whole(1, 1 << 20)),
    "window": ("window", _whole(1)),
    "swa_ratio": ("swa_ratio", _number(0, 1000)),
    "disable_radix": ("disable_radix", _switch),
    "mamba_per_req": ("mamba_per_req", _COUNT),
    "mamba_ids": ("mamba_ids", _ids),
    "mamba_ratio": ("mamba_ratio", _number(0, 1000)),
    "max_mamba": ("max_mamba", _COUNT),
    "extra_buffer": ("extra_buffer", _switch),
    "lazy_buffer": ("lazy_buffer", _switch),
    "no_overlap": ("no_overlap", _switch),
    "gdn": ("gdn", _switch),
    "chunk": ("chunk", _whole(-1)),
    "compress_ratios": ("compress_ratios", _ids),
}
"""Keys of the JSON object, the fields they fill, and how they are read."""
_OTHER_KEYS: Final = {"type", "sglang_version", "nsa_backend"}
