"""Which releases print a line in these words: bounds on the version of a log that names none.

Each row is from facts/observability.md 3.2, which compared eleven releases; where a change lies between
two of them, the bound is drawn at the far side, so it never excludes the right one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_VERSION: Final = re.compile(
    r"(?i)\bsglang(?:[ _-]version)?(?:\s?[=:@/ _-]{1,3}\s?|"
    r"-)[\"']?v?(\d{1,2}\.\d{1,3}\.\d{1,3}(?:\.?(?:post|rc|dev|a|b)\d{1,4})?)(?![\d.]*\.whl-|\.\d)"
)
_PARTS: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Wording:
    """A way to say something, and the oldest and newest release that may say it so."""

    pattern: re.Pattern[str]
    oldest: str | None
    newest: str | None


_WORDINGS: Final = tuple(
    Wording(re.compile(pattern), oldest, newest)
    for pattern, oldest, newest in (
        (r"server_args=ServerArgs\(", None, "0.5.20"),
        (r"server_args=\{", "0.5.19", None),
        (r"Init torch distributed (?:begin|ends)", None, "0.5.20"),
        (r"Init torch distributed ends\. mem usage", None, "0.5.8"),
        (r"Init torch distributed ends\. elapsed", "0.5.7", "0.5.20"),
        (r"Init parallel begin|Memory baseline taken", "0.5.19", None),
        (r"Load weight end\. type=\w+, dtype=", None, "0.5.8"),
        (r"Load weight end\. elapsed=[\d.]+ s, type=\w+, dtype=", "0.5.7", "0.5.9"),
        (r"Load weight end\. elapsed=[\d.]+ s, type=\w+, (?!dtype=)", "0.5.10", None),
        (r"KV Cache is allocated\. K size: [\d.]+ GB, V size: [\d.]+ GB\.$", None, "0.4.5"),
        (r"KV Cache is allocated\. #tokens: \d+, ", None, "0.5.14"),
        (r"KV Cache is allocated\. dtype: ", "0.5.13", None),
        (r"Capture (?:draft |draft extend )?cuda graph (?:begin|end)\.", None, "0.5.14"),
        (r"Capture (?:target|draft) \w+ CUDA graph (?:begin|end)\.", "0.5.13", None),
        (r"max_total_num_tokens=\d+, .*context_len=\d+$", None, "0.4.9"),
        (r"max_total_num_tokens=\d+, .*context_len=\d+, available_", "0.4.7", None),
        (r"Allocating [\d.]+ GB host memory for hierarchical", None, "0.5.17"),
        (r"Allocating \w+ hierarchical KV host pool", "0.5.16", None),
        (r"(?:Prefill|Decode) batch\. ", None, "0.5.5"),
        (r"(?:Prefill|Decode) batch(?: \[\d+\])?, ", "0.5.4", None),
        (r"Prefill batch.*#pending-token", "0.5.11", None),
        (r"Prefill batch.*input throughput \(token/s\): [\d.]+, \w+ graph", "0.5.7", "0.5.9"),
        (r"Prefill batch.*\w+ graph: \w+, input throughput", "0.5.10", None),
        (r"Prefill batch.*cache hit rate", None, "0.4.5"),
        (r"Decode out of memory happened", None, "0.4.9"),
        (r"Retract requests\..*#new_tokens_gained", "0.5.7", None),
        (r"Retract requests\. #retracted_reqs: \d+, #new_token_ratio", "0.4.7", "0.5.8"),
        (r"Watchdog timeout \(", None, "0.5.8"),
        (r"\w+ watchdog timeout \(", "0.5.7", None),
        (r"Loaded weights leave no GPU memory", "0.5.13", None),
    )
)


def version_in(text: str) -> str | None:
    """A release that the line names, such as ``0.5.9`` of ``sglang==0.5.9`` or ``lmsysorg/sglang:v0.5.9-cu129``."""
    match = _VERSION.search(text[:4_096]) if "glang" in text.lower() else None
    return None if match is None else match[1]


def version_key(version: str) -> tuple[int, ...]:
    """Order of releases: ``0.5.10`` after ``0.5.9.post1``."""
    return tuple(int(part) for part in _PARTS.findall(version)[:5])


def bounds(message: str) -> tuple[str | None, str | None]:
    """Oldest and newest release that print a line in these words; None: open."""
    oldest: str | None = None
    newest: str | None = None
    text = message[:2_048]
    for wording in _WORDINGS:
        if wording.pattern.match(text):
            oldest, newest = narrow((oldest, newest), (wording.oldest, wording.newest))
    return oldest, newest


def narrow(a: tuple[str | None, str | None], b: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
    """The releases that both pairs of bounds allow."""
    low = max((v for v in (a[0], b[0]) if v), key=version_key, default=None)
    high = min((v for v in (a[1], b[1]) if v), key=version_key, default=None)
    return low, high
