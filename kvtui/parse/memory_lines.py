"""Reads the lines that a rank prints about GPU memory while it starts (facts/observability.md 3.2).

SGLang writes GiB and calls it "GB"; only HiCache's host allocations are decimal GB. The wording changed
often, and people shorten lines when they paste them, so a line is recognised by how it begins and its
figures are looked up by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from kvtui.parse.batch_lines import COUNT_LIMIT, TOKENS_LIMIT
from kvtui.parse.memory_facts import (
    CaptureBegin,
    CaptureEnd,
    CaptureSizes,
    HostAllocation,
    InitBegin,
    InitEnd,
    KvDtype,
    MemoryFact,
    Pool,
    PoolEnd,
    Sized,
    Sizing,
    Split,
    States,
    WeightBegin,
    WeightEnd,
)

_NUM: Final = r"(-?\d{1,12}(?:\.\d{1,12})?)"
_SIZE: Final = rf"{_NUM}\s?([KMGT])?i?B?"
_IN_GIB: Final = {"K": 1 / (1 << 20), "M": 1 / 1024, "G": 1.0, "T": 1024.0}
_IN_GB: Final = {"K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}
_LINE_LIMIT: Final = 4_096

_AVAIL: Final = re.compile(rf"\bavail(?:able)?[ _](?:[cgx]pu[ _])?mem(?:ory)?\s?[=:]?\s?{_SIZE}")
_USAGE: Final = re.compile(rf"\bmem(?:ory)? usage\s?[=:]?\s?{_SIZE}")
_TYPE: Final = re.compile(r"\btype=([A-Za-z_]\w{0,120})")
_DTYPE: Final = re.compile(r"\bdtype\s?[=:]\s?(?:torch\.)?([A-Za-z_]\w{0,40})")
_QUANT: Final = re.compile(r"\btype=\w+, (.{1,200}?),? ?avail mem|\bs, (quant=.{1,200}?),? ?avail mem")
_TOKENS: Final = re.compile(r"#\s?tokens?\s?[=:]?\s?(\d{1,15})|\b(\d{1,15}) tokens\b")
_KV_PARTS: Final = (
    ("k", re.compile(rf"(?<![A-Za-z])K(?: size)?\s?[=:]?\s?{_SIZE}")),
    ("v", re.compile(rf"(?<![A-Za-z])V(?: size)?\s?[=:]?\s?{_SIZE}")),
    ("kv", re.compile(rf"\bKV(?: cache)? size\s?[=:]?\s?{_SIZE}")),
)
_INTS: Final = re.compile(r"\[([\d, ]{1,8000})\]")
_CAPTURE: Final = re.compile(r"(?i)capture (?:([a-z][a-z _-]{0,40}?) )?cuda graphs? (begin|end)\b")
_CAPTURE_BS: Final = re.compile(r"(?i)capture (?:[a-z][a-z _-]{0,40} )?cuda graphs? bs \[")
_LABELS: Final = {"": "decode", "target decode": "decode", "draft decode": "draft"}
_TOTAL: Final = re.compile(r"\bmax_total_num_tokens\s?=\s?(\d{1,15})\b")
_FIELDS: Final = re.compile(r"\b(chunked_prefill_size|max_prefill_tokens|max_running_requests|context_len)\s?=\s?(-?\d{1,15}|None)\b")
_STATE_PARTS: Final = re.compile(rf"\b(conv_state|ssm_state|intermediate\w*)(?:[ _]size)?\s?[=:]?\s?{_SIZE}")
_STATE_SLOTS: Final = re.compile(r"\bmax_mamba_cache_size\s?[=:]\s?(\d{1,12})")
_SPLIT: Final = (
    re.compile(r"full_layer_tokens\s?[=:]\s?(?P<full>\d{1,15}),?\s+swa_layer_tokens\s?[=:]\s?(?P<swa>\d{1,15})"),
    re.compile(r"swa size\s?[=:]\s?(?P<swa>\d{1,15}),?\s+full size\s?[=:]\s?(?P<full>\d{1,15})"),
)
_HOST: Final = re.compile(rf"(?i)allocating\b.{{0,120}}?\b{_NUM} ?([KMGT])i?B\b.{{0,20}}?host memory")
_SIZING: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("rest_gib", re.compile(rf"\brest_memory\s?[=:]\s?{_SIZE}")),
    ("rest_gib", re.compile(rf"\bavailable_bytes\s?[=:]?\s?(?:\d{{1,18}} ?/ ?)?{_NUM} ?([KMGT])i?B")),
    ("pre_gib", re.compile(rf"\btotal_gpu_memory\s?[=:]\s?{_SIZE}")),
    ("post_gib", re.compile(rf"\bavailable_gpu_memory\s?[=:]\s?{_SIZE}")),
    ("cell_bytes", re.compile(rf"\b(?:bytes_per_full_token|bytes_per_token|cell_size)\s?[=:]\s?{_NUM}()")),
    ("multimodal_reserve_gib", re.compile(rf"\b[Rr]eserv(?:ing|ed) {_SIZE}\b.{{0,60}}multimodal")),
    ("fraction", re.compile(r"(?<![\w-])(?:self\.)?(?:server_args\.)?mem_fraction_static[ =:]{1,3}(\d?\.\d{1,18}|1\.0)()")),
)
_KV_DTYPE: Final = re.compile(r"(?i)using kv cache dtype:? (?:torch\.)?([a-z]\w{0,40})")


def _size(pattern: re.Pattern[str], text: str) -> float | None:
    match = pattern.search(text)
    # "-0.00" is printed; adding zero drops the sign
    return None if match is None else float(match[1]) * _IN_GIB[match[2] or "G"] + 0.0


def _ints(text: str) -> tuple[int, ...]:
    match = _INTS.search(text)
    return () if match is None else tuple(int(part) for part in match[1].split(",") if part.strip().isdigit())[:2_000]


def _tokens(text: str) -> int | None:
    match = _TOKENS.search(text)
    tokens = int(match[1] or match[2]) if match is not None else None
    return tokens if tokens is not None and tokens <= TOKENS_LIMIT else None


def _weight_end(text: str) -> WeightEnd | None:
    kind, dtype, quant = _TYPE.search(text), _DTYPE.search(text), _QUANT.search(text)
    avail, usage = _size(_AVAIL, text), _size(_USAGE, text)
    if avail is None and usage is None and kind is None:
        return None
    free = next((part for part in quant.groups() if part), None) if quant is not None else None
    if free is not None and free.startswith(("dtype=", "avail")):
        free = None
    return WeightEnd(avail, usage, kind[1] if kind else None, dtype[1] if dtype else None, free)


def _pool(text: str) -> Pool | None:
    sizes: list[float] = []
    decimals = 0.0
    latent = False
    for name, pattern in _KV_PARTS:
        match = pattern.search(text)
        if match is not None and not (name == "kv" and sizes):
            scale = _IN_GIB[match[2] or "G"]
            sizes.append(float(match[1]) * scale)
            decimals += 0.5 * 10.0 ** -len(match[1].partition(".")[2]) * scale
            latent = name == "kv"
    tokens, dtype = _tokens(text), _DTYPE.search(text)
    if tokens is None and not sizes:
        return None
    before = text[: text.lower().index("kv cache")].strip().lower()
    kind: Literal["kv", "full", "swa"] = "swa" if before.endswith("swa") else "full" if before.endswith("full") else "kv"
    return Pool(
        kind=kind,
        tokens=tokens,
        sizes=tuple(sizes),
        decimals_gib=decimals,
        latent=latent,
        dtype=dtype[1] if dtype is not None else None,
        bound="upper bound" in text,
    )


def _states(text: str) -> States | None:
    parts: dict[str, float] = {}
    for name, value, unit in _STATE_PARTS.findall(text):
        key = "intermediate" if name.startswith("intermediate") else name
        parts[key] = parts.get(key, 0.0) + float(value) * _IN_GIB[unit or "G"]
    if not parts:
        return None
    slots = _STATE_SLOTS.search(text)
    return States(int(slots[1]) if slots else None, parts.get("conv_state"), parts.get("ssm_state"), parts.get("intermediate", 0.0))


def _capture(text: str) -> MemoryFact | None:
    if _CAPTURE_BS.match(text):
        return CaptureSizes(_ints(text))
    match = _CAPTURE.match(text)
    if match is None:
        return None
    label = re.sub(r"\s+", " ", (match[1] or "").lower())
    label = _LABELS.get(label, label)
    if match[2].lower() == "begin":
        return CaptureBegin(label, _size(_AVAIL, text), _ints(text) if "num_tokens=[" not in text else ())
    return CaptureEnd(label, _size(_AVAIL, text), _size(_USAGE, text), _ints(text))


def _can_be(name: str, value: int) -> bool:
    """False for a number of the final line that cannot be true; only a chunk may be negative: it is switched off."""
    most = COUNT_LIMIT if name == "max_running_requests" else TOKENS_LIMIT
    return (value >= 0 or name == "chunked_prefill_size") and value <= most


def _sized(text: str) -> Sized | None:
    match = _TOTAL.search(text)
    if match is None or int(match[1]) > TOKENS_LIMIT:
        return None
    fields = {name: int(value) for name, value in _FIELDS.findall(text) if value != "None" and _can_be(name, int(value))}
    return Sized(
        int(match[1]),
        fields.get("chunked_prefill_size"),
        fields.get("max_prefill_tokens"),
        fields.get("max_running_requests"),
        fields.get("context_len"),
        _size(_AVAIL, text),
    )


def _split(text: str) -> Split | None:
    for pattern in _SPLIT:
        match = pattern.search(text)
        if match is not None and max(int(match["full"]), int(match["swa"])) <= TOKENS_LIMIT:
            return Split(int(match["full"]), int(match["swa"]))
    return None


def _host(text: str) -> HostAllocation | None:
    match = _HOST.search(text)
    if match is None:
        return None
    return HostAllocation(float(match[1]) * _IN_GB[match[2]], _tokens(text))


def _sizing(text: str) -> Sizing | None:
    values: dict[str, float] = {}
    for name, pattern in _SIZING:
        match = pattern.search(text)
        if match is not None and name not in values:
            values[name] = float(match[1]) * _IN_GIB.get(match[2] or "", 1.0)
    if not values:
        return None
    return Sizing(**values)


def _kv_dtype(text: str) -> KvDtype | None:
    match = _KV_DTYPE.search(text)
    return None if match is None else KvDtype(match[1])


_READERS: Final[tuple[tuple[re.Pattern[str], Callable[[str], MemoryFact | None]], ...]] = (
    (re.compile(r"(?i)init torch distributed begin|init nccl begin|init parallel begin"), lambda _: InitBegin()),
    (re.compile(r"(?i)init torch distributed ends?\b|init nccl ends?\b|memory baseline taken"), lambda t: InitEnd(_size(_USAGE, t))),
    (re.compile(r"(?i)load(?:ing)? weights? begin"), lambda t: WeightBegin(_size(_AVAIL, t))),
    (re.compile(r"(?i)load(?:ing)? weights? ends?\b"), _weight_end),
    (re.compile(r"(?i)(?:post-capture kv sizing: )?(?:full |swa |target |draft )?kv cache (?:is )?allocated"), _pool),
    (re.compile(r"(?i)(?:mamba|state|linear attention) cache (?:is )?allocated"), _states),
    (re.compile(r"(?i)memory pool end"), lambda t: PoolEnd(_size(_AVAIL, t))),
    (re.compile(r"(?i)use sliding window memory pool|swakvpool mem usage"), _split),
    (re.compile(r"(?i)capture (?:[a-z][a-z _-]{0,40} )?cuda graph"), _capture),
    (re.compile(r"(?i)using kv cache dtype"), _kv_dtype),
    (re.compile(r"(?i)allocating .{0,160}host memory"), _host),
    (re.compile(r"\s{0,4}max_total_num_tokens\s?="), _sized),
)
_SIZING_HINT: Final = re.compile(
    r"rest_memory|available_bytes|total_gpu_memory|bytes_per_(?:full_)?token|cell_size\s?[=:]|multimodal|mem_fraction_static[ =:]"
)
_NOT_SIZING: Final = re.compile(r"server_args\s?=|launch_server|sglang serve|--mem-fraction")

MEMORY_LINE: Final = re.compile(
    r"(?i)load(?:ing)? weights? (?:begin|ends?\b)|kv cache (?:is )?allocated|"
    r"mamba cache (?:is )?allocated|memory pool end|capture (?:[a-z _-]{0,40} )?"
    r"cuda graph (?:begin|end|bs)|max_total_num_tokens\s?=\s?\d|sliding window memory pool|swakvpool mem|"
    r"host memory|init torch distributed ends"
)
"""Lines that are expected to be read; one that matches and gives no fact counts as unreadable."""


def parse_memory(message: str) -> MemoryFact | None:
    """The fact that a memory line states; None for any other line. Never raises."""
    text = message[:_LINE_LIMIT]
    for head, reader in _READERS:
        if head.match(text):
            return reader(text)
    if _SIZING_HINT.search(text) and not _NOT_SIZING.search(text):
        return _sizing(text)
    return None
