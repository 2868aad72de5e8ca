"""Which server a boot is: release, model, parallel sizes, kind of attention, KV dtype."""

from __future__ import annotations

import re
from typing import Final

from kvtui.domain.boot import Boot
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.memory_facts import target_pools, world
from kvtui.domain.models import attention_of
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.domain.release import MEASURED, Release, parse_release

_DTYPES: Final = {
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "half": "float16",
    "fp16": "float16",
    "float16": "float16",
    "fp8_e4m3": "fp8_e4m3",
    "float8_e4m3": "fp8_e4m3",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e4m3fnuz": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
    "float8_e5m2": "fp8_e5m2",
    "float8_e5m2fnuz": "fp8_e5m2",
    "float32": "float32",
    "fp4_e2m1": "fp4",
    "float4_e2m1fn_x2": "fp4",
    "nvfp4": "fp4",
}


def plain_dtype(text: str) -> str:
    """``torch.float8_e4m3fn`` as ``fp8_e4m3``: one name a dtype."""
    name = text.strip().lower().removeprefix("torch.")
    return _DTYPES.get(name, name)


def effective_release(boot: Boot) -> tuple[Release | None, str]:
    """The release whose rules apply, and a sentence when it was not printed.

    Without a printed version the newest measured release that the wording of the lines allows.
    """
    if isinstance(boot.version, Known):
        release = parse_release(boot.version.value)
        if release is not None:
            return release, ""
    low, high = (parse_release(text) if text else None for text in boot.version_hint)
    fits = [r for r in MEASURED if (low is None or r.base >= low.base) and (high is None or r.base <= high.base)]
    if low is None and high is None:
        return None, "The log does not name its SGLang release."
    chosen = fits[-1] if fits else (high or low)
    span = f"{low or 'older'} to {high or 'newest'}"
    return chosen, f"The log does not name its SGLang release; its wording is that of {span}: the rules of {chosen} are used."


def version_reading(boot: Boot) -> Reading[str]:
    """The printed version, or why there is none."""
    if isinstance(boot.version, Known):
        return boot.version
    low, high = boot.version_hint
    if low and high:
        return Missing(f"not printed; the wording is that of {low} to {high}")
    if low or high:
        return Missing(
            f"not printed; the wording is that of {low} or later" if low else f"not printed; the wording is that of {high} or earlier"
        )
    return boot.version


def model_name(boot: Boot) -> Reading[str]:
    """The model's name without its path."""
    for key in ("model_path", "served_model_name"):
        found = boot.setting(key)
        if found is not None and isinstance(found.value, str) and found.value.strip("/"):
            path = found.value.rstrip("/")
            hub = re.search(r"models--([^/]+?)--([^/]+)", path)
            return Known(hub[2] if hub else path.rsplit("/", 1)[-1], None, found.where)
    return Missing("the log names no model")


def architecture(boot: Boot) -> Reading[str]:
    """Class of the target model, from its weights line."""
    for memory in boot.ranks:
        for load in memory.loads:
            if load.type and not load.draft:
                where = load.end_gib.where if isinstance(load.end_gib, Known) else Where("log", "weight-end line")
                return Known(load.type, None, where)
    return Missing("no weights line names the model's class")


def parallel_size(boot: Boot, setting: str, part: str) -> Reading[int]:
    """A parallel size: the setting, else what the rank prefixes show.

    ``part`` is the Rank attribute. A prefix names a rank only when its size is above 1.
    """
    found = boot.setting(setting)
    if found is not None and isinstance(found.value, int) and not isinstance(found.value, bool) and 0 < found.value < 100_000:
        return Known(found.value, None, found.where)
    numbers = [number for memory in boot.ranks if (number := getattr(memory.rank, part)) is not None]
    if numbers and max(numbers) == 0:
        return Missing(f"above 1: a prefix names its {part.upper()} rank only then, and the log shows rank 0 alone")
    if numbers:
        return Known(max(numbers) + 1, None, Where("log", "rank prefixes"))
    if boot.ranks and boot.begun_at is not None:
        return Known(1, None, Where("log", f"no {part.upper()} rank in the prefixes"))
    return Missing("neither flags nor rank prefixes show it")


_DRAFT_ENDING: Final = re.compile(r"(?:NextN|MTP|Eagle3?|EAGLE3?)$")


def _classes(boot: Boot) -> list[tuple[str, Where]]:
    """The target's class; else what a draft's class says of the target it belongs to."""
    named = architecture(boot)
    if isinstance(named, Known):
        return [(named.value, named.where)]
    drafts = [load.type for memory in boot.ranks for load in memory.loads if load.type and load.draft]
    return [(_DRAFT_ENDING.sub("", name), Where("table", f"the target of {name}")) for name in drafts if "Llama" not in name]


def attention_kind(boot: Boot, geometry: Geometry | None, seen: Attention | None = None) -> Reading[Attention]:
    """The kind of attention: from the geometry, the class, the shape of the pool lines, or ``seen`` in the batch lines."""
    if geometry is not None:
        return Known(geometry.attention, None, Where("table", geometry.name))
    if isinstance(boot.sizing.cell_bytes, Known) and "dsv4" in boot.sizing.cell_bytes.where.detail.lower():
        return Known(Attention.DSV4, None, boot.sizing.cell_bytes.where)
    for name, where in _classes(boot):
        kind = attention_of(name)
        if kind is not None:
            return Known(kind, None, Where("table", name, where.line))
    state = next((m.state for m in world(boot) if m.state is not None), None)
    if state is not None:
        return Known(Attention.MAMBA_HYBRID, None, state.where)
    split = next((m.swa for m in world(boot) if m.swa is not None), None)
    if split is not None:
        return Known(Attention.SWA, None, split.where)
    pools = target_pools(boot)
    if pools and pools[0].latent and pools[0].size_gib is not None:
        return Known(Attention.MLA, None, pools[0].where)
    if seen is not None:
        return Known(seen, None, Where("log", "batch lines name its pools"))
    return Missing("neither the model nor the pool lines show it")


def _stated_dtype(boot: Boot) -> Known[str] | None:
    """The KV dtype that a line of its own or a flag states."""
    for name in ("kv_cache_dtype_used", "kv_cache_dtype"):
        found = boot.setting(name)
        if found is not None and isinstance(found.value, str) and found.value.lower() != "auto":
            return Known(plain_dtype(found.value), None, found.where)
    return None


def kv_dtype(boot: Boot, release: Release | None, geometry: Geometry | None) -> Reading[str]:
    """The KV dtype: pool lines, the flag, the checkpoint's quantisation, the model's dtype."""
    for pool in (*target_pools(boot), *target_pools(boot, "full"), *target_pools(boot, "swa")):
        if pool.dtype:
            return Known(plain_dtype(pool.dtype), None, pool.where)
    stated = _stated_dtype(boot)
    if stated is not None:
        return stated
    if geometry is not None and geometry.kv_cache_quant and (release is None or release.base >= (0, 5, 3)):
        return Known(plain_dtype(geometry.kv_cache_quant), None, Where("table", f"{geometry.name}: the checkpoint's own KV dtype"))
    for memory in world(boot):
        for load in memory.loads:
            if load.dtype and not load.draft:
                where = load.end_gib.where if isinstance(load.end_gib, Known) else Where("log", "weight-end line")
                return Known(plain_dtype(load.dtype), None, Where("log", "model dtype, automatic KV dtype", where.line))
    asked = boot.text("dtype")
    if asked is not None and asked.lower() != "auto":
        return Known(plain_dtype(asked), None, Where("flag", "--dtype, automatic KV dtype"))
    if geometry is not None:
        return Known(plain_dtype(geometry.dtype), None, Where("table", f"{geometry.name}: the checkpoint's dtype"))
    return Missing("no line states it")


def page_size(boot: Boot, reported: Reading[int]) -> Reading[int]:
    """Tokens a page: the setting, else 1 where the pool is no multiple of a larger page."""
    found = boot.number("page_size")
    if found is not None and 1 <= found <= 1 << 20:
        return Known(int(found), None, boot.settings["page_size"].where)
    if isinstance(reported, Known) and reported.value % 16:
        return Known(1, None, Where("formula", "the pool is no multiple of a larger page"))
    return Missing("nothing that was read says it")
