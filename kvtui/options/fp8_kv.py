"""An 8-bit KV cache: half the bytes a token, where the kernel and the answers bear it (facts/diagnoses.md 2)."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from kvtui.domain.estimate import Estimate, Risk
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.plan import Change, Speed
from kvtui.domain.reading import optional
from kvtui.domain.release import Release, Table
from kvtui.domain.units import GIB
from kvtui.domain.what_if import is_capped
from kvtui.options.context import OptionContext, finite
from kvtui.options.effect import Effect, of_pool, scaled, standstill
from kvtui.options.lever import SAFE, headroom_risk, lever, not_here, today, with_effect

_TITLE: Final = "fp8 KV cache"
_FLAG: Final = "--kv-cache-dtype fp8_e4m3"
_BYTES: Final = {"bfloat16": 2, "float16": 2, "float32": 4}
_REFUSED: Final = re.compile(
    r"fp8.{0,80}(not supported|unsupported|refus|ignor|fall|invalid)|(not support|unsupported).{0,40}fp8", re.IGNORECASE
)
_PACKED: Final = Table("what a sparse-attention token is priced at in fp8", (("0.5.3", False), ("0.5.18", True)))
"""True: the packed row (512 + 16 + 128 B); False: one byte an element, less than the pool then takes (facts/memory.md 2.4)."""
_SAME_BATCH: Final = (0.58 / 1.1, 1.01, 1.08 * 1.1)
"""Six public pairs at the same batch, widened by 1.1 (facts/diagnoses.md 7; the low end is an unfused MLA kernel)."""
_SAME_BASIS: Final = "6 public pairs at the same batch; the low end is a kernel that does not fuse fp8"


def token_bytes(kv_lora_rank: int, rope: int, *, packed: bool) -> int:
    """fp8 bytes of one sparse-attention token and layer, the indexer left out."""
    return kv_lora_rank + kv_lora_rank // 128 * 4 + rope * 2 if packed else kv_lora_rank + rope


def shrink(attention: Attention, geometry: Geometry | None, dtype: str, release: Release | None, *, trtllm: bool) -> float | None:
    """Today's cell over the fp8 cell; None where it cannot be told.

    Plain KV: the element size. Sparse attention keeps its indexer as it is (facts/memory.md 2.4).
    """
    size = _BYTES.get(dtype)
    if size is None or attention is Attention.DSV4:
        return None
    if attention is not Attention.DSA:
        return float(size)
    lora, rope, head, layers, indexers = 512, 64, 128, 1, 1.0
    if geometry is not None:
        layers = geometry.layers
        lora, rope = geometry.kv_lora_rank or lora, geometry.qk_rope_head_dim or rope
        head, indexers = geometry.index_head_dim or head, geometry.index_layers or layers
    indexer = (head + head // 128 * 4) * indexers
    packed = _PACKED.at(release) and not trtllm
    return ((lora + rope) * size * layers + indexer) / (token_bytes(lora, rope, packed=packed) * layers + indexer)


@lever("fp8-kv")
def fp8_kv(context: OptionContext) -> Estimate:
    """Tokens by the exact cells; speed with the kernel's warning."""
    identity, pool = context.account.identity, context.pool
    dtype, attention = optional(identity.kv_dtype), optional(identity.attention)
    why = _why_not(context, dtype, attention)
    if why or dtype is None or attention is None or pool is None:
        return not_here(context, "fp8-kv", _TITLE, why or "the pool is unknown")
    ratio = shrink(attention, identity.geometry, dtype, context.release, trtllm=_trtllm(context))
    if ratio is None:
        return not_here(context, "fp8-kv", _TITLE, f"the KV dtype {dtype} is not one that fp8 is known to halve")
    capped = is_capped(context.account)
    page = optional(identity.page_size) or 1
    tokens = pool if capped else max(0, math.floor(pool * ratio / page) * page)
    left = _headroom(context, attention, tokens)
    risk, words = _risk(attention, left)
    base = replace(
        today(context, "fp8-kv", _TITLE),
        flags=(_FLAG,),
        tokens=tokens,
        headroom_gib=left,
        risk=risk,
        risk_text=words,
        verify=_VERIFY,
        notes=_notes(context, ratio),
        change=Change(cell_ratio=1 / ratio, headroom_token_bytes=_unpriced(context, attention)),
    )
    effect = _effect(context, tokens, capped=capped)
    if effect.idle and not capped:
        base = replace(base, change=replace(base.change, speed=Speed(*_SAME_BATCH, _SAME_BASIS)))
    placed = with_effect(base, context, effect)
    # Kernel and answers must be tested first, so it never stands before what needs no such test.
    return replace(placed, rank=min(0.9, placed.rank - SAFE)) if placed.rank >= SAFE else placed


_VERIFY: Final = "answers on your own evaluation set before and after; step time at the same running requests; the new max_total_num_tokens"


def _why_not(context: OptionContext, dtype: str | None, attention: Attention | None) -> str:
    device = context.boot.text("device") if context.boot is not None else None
    if device not in (None, "cuda"):
        return f"nothing is known of it on {device}"
    if dtype is None:
        return "the KV dtype in use is unknown"
    if dtype.startswith("fp8"):
        return f"the KV cache is {dtype} already"
    if dtype.startswith(("fp4", "nvfp4")):
        return "the KV cache is 4-bit already"
    if attention is None:
        return "the kind of attention is unknown, so the fp8 cell is too"
    if attention is Attention.DSV4:
        return "this model stores its KV in 8 bits already"
    refused = next((event for event in context.events if event.kind != "retract" and _REFUSED.search(event.text)), None)
    return f"the log refuses it (line {refused.line:,})" if refused is not None else ""


def _trtllm(context: OptionContext) -> bool:
    names = ("dsa_decode_backend", "nsa_decode_backend", "attention_backend", "decode_attention_backend")
    return context.boot is not None and any("trtllm" in (context.boot.text(name) or "") for name in names)


def _unpriced(context: OptionContext, attention: Attention) -> float:
    """Bytes that a packed sparse-attention row takes more than old releases price it at."""
    geometry = context.account.identity.geometry
    if attention is not Attention.DSA or _PACKED.at(context.release) or _trtllm(context) or geometry is None:
        return 0.0
    lora, rope = geometry.kv_lora_rank or 512, geometry.qk_rope_head_dim or 64
    extra = token_bytes(lora, rope, packed=True) - token_bytes(lora, rope, packed=False)
    return float(extra * geometry.layers)


def _headroom(context: OptionContext, attention: Attention, tokens: int) -> float | None:
    """Today's headroom, less what old releases do not price of a packed sparse-attention row."""
    left = finite(context.account.headroom_gib)
    packed = attention is Attention.DSA and not _PACKED.at(context.release) and not _trtllm(context)
    if left is None or (packed and context.account.identity.geometry is None):
        return None
    return left - tokens * _unpriced(context, attention) / GIB


def _risk(attention: Attention, left: float | None) -> tuple[Risk, str]:
    space, words = headroom_risk(left)
    latent = attention in (Attention.MLA, Attention.DSA)
    kernel = "only where the attention backend fuses fp8: otherwise decode is extremely slow (measured 16 against 90 tok/s on MLA)"
    quality = "scales default to 1.0 and accuracy can fall (measured 95 → 77 on one model): test answers first"
    crowded = f"; {words}" if space in ("high", "medium") and left is not None else ""
    return ("high" if latent or space == "high" else "medium"), f"{kernel}; {quality}{crowded}"


def _notes(context: OptionContext, ratio: float) -> tuple[str, ...]:
    notes = [f"tokens ×{ratio:.2f}"]
    backend = context.boot.text("attention_backend") if context.boot is not None else None
    if backend:
        notes.append(f"the attention backend here is {backend}" + (": e4m3 only" if backend == "fa3" else ""))
    notes.append("fp8_e4m3 needs compute capability 8.9 or later; older cards: fp8_e5m2")
    return tuple(notes)


def _effect(context: OptionContext, tokens: int, *, capped: bool) -> Effect:
    if capped:
        return standstill(context, "max_total_tokens holds the pool")
    effect = of_pool(context, tokens)
    if effect.idle:
        same = scaled(context, *_SAME_BATCH, _SAME_BASIS)
        return replace(same, idle=effect.idle)
    if effect.tok_s is None:
        return effect
    return replace(effect, tok_s=replace(effect.tok_s, basis=f"{effect.tok_s.basis}; if the kernel fuses fp8 KV"))
