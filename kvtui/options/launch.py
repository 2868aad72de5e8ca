"""A launch command with a plan's flags in it: what is set anew is marked, what goes is listed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kvtui.domain.boot import Boot, Scalar
from kvtui.domain.plan import Word

_LONGEST: Final = 16_384
"""Characters of a command that are looked at."""
_ALIASES: Final = (
    frozenset({"--tp-size", "--tp", "--tensor-parallel-size"}),
    frozenset({"--pp-size", "--pp", "--pipeline-parallel-size"}),
    frozenset({"--dp-size", "--dp", "--data-parallel-size"}),
    frozenset({"--dcp-size", "--decode-context-parallel-size"}),
    frozenset({"--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"}),
    frozenset({"--context-length", "--max-model-len"}),
    frozenset({"--mem-fraction-static", "--mem-fraction"}),
    frozenset({"--speculative-algorithm", "--speculative-algo"}),
)
"""Spellings of one flag."""
_ENVIRONMENT: Final = re.compile(r"[A-Z][A-Z0-9_]{1,80}=\S{1,200}")
_ASSIGNED: Final = re.compile(r"(--[a-z][\w-]{0,80})=(.*)", re.DOTALL)
_SHOWN: Final = (
    ("model_path", None), ("tp_size", 1), ("pp_size", 1), ("dp_size", 1), ("enable_dp_attention", False), ("ep_size", 1), ("dcp_size", 1),
    ("trust_remote_code", False), ("dtype", "auto"), ("quantization", None), ("kv_cache_dtype", "auto"), ("context_length", None),
    ("mem_fraction_static", None), ("max_running_requests", None), ("max_total_tokens", None), ("chunked_prefill_size", None),
    ("max_prefill_tokens", 16384), ("schedule_policy", "fcfs"), ("schedule_conservativeness", 1.0), ("page_size", 1),
    ("swa_full_tokens_ratio", 0.8), ("mamba_full_memory_ratio", 0.9), ("max_mamba_cache_size", None), ("attention_backend", None),
    ("cuda_graph_max_bs", None), ("disable_cuda_graph", False), ("disable_radix_cache", False), ("disable_overlap_schedule", False),
    ("cpu_offload_gb", 0), ("speculative_algorithm", None), ("speculative_draft_model_path", None), ("speculative_num_steps", None),
    ("speculative_eagle_topk", None), ("speculative_num_draft_tokens", None), ("enable_hierarchical_cache", False), ("hicache_ratio", 2.0),
    ("hicache_size", 0), ("tool_call_parser", None), ("reasoning_parser", None), ("host", "127.0.0.1"), ("port", 30000),
)  # fmt: skip
"""Settings written out where the log shows no command, with SGLang's defaults, which are left out."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it would be run."""

    words: tuple[Word, ...]
    removed: tuple[str, ...]
    beside: tuple[str, ...]
    """Flags of the plan that are no launch flags."""
    basis: str


def launch(boot: Boot | None, flags: Sequence[str]) -> Launch:
    """Today's command with ``flags`` (as levers write them) in it. Secrets were removed where the command was read."""
    words, basis = _today(boot)
    if not words:
        return Launch((), (), tuple(flags), "the log shows neither a command nor settings")
    removed: list[str] = []
    beside: list[str] = []
    added: list[str] = []
    environment: list[str] = []
    for flag in flags:
        if flag.startswith("remove --"):
            words, gone = _without(words, flag.removeprefix("remove ").split()[0])
            removed += gone
            if "--speculative-*" in flag:
                words, more = _without_all(words, "--speculative-")
                removed += more
        elif flag.startswith("--"):
            parts = flag.split()
            words, _ = _without(words, parts[0])
            added += parts
        elif _ENVIRONMENT.fullmatch(flag):
            environment.append(flag)
        else:
            beside.append(flag)
    told = [
        *(Word(text, changed=True) for text in environment),
        *(Word(_quoted(text), changed=False) for text in words),
        *(Word(_quoted(text), changed=True) for text in added),
    ]
    return Launch(tuple(told), tuple(removed), tuple(beside), basis)


def _quoted(word: str) -> str:
    return word if _ENVIRONMENT.fullmatch(word) and shlex.quote(word) == word else shlex.quote(word)


def _today(boot: Boot | None) -> tuple[list[str], str]:
    """Words of today's command, unquoted, and where they come from."""
    if boot is None:
        return [], ""
    if boot.launch_command:
        words, basis = _taken_apart(boot.launch_command[:_LONGEST])
        return list(words), basis
    return _from_settings(boot)


@lru_cache(maxsize=4)
def _taken_apart(text: str) -> tuple[tuple[str, ...], str]:
    """Words of a command; every plan and every lever asks for those of the same one."""
    try:
        return tuple(shlex.split(text)), "the command in the log"
    except ValueError:
        return tuple(text.split()), "the command in the log; its quotes are uneven, so check them"


def _from_settings(boot: Boot) -> tuple[list[str], str]:
    words: list[str] = []
    for name, default in _SHOWN:
        setting = boot.setting(name)
        if setting is None or setting.value is None or setting.value == default or setting.origin in ("forced", "log"):
            continue
        words += _written(name, setting.value)
    if not words:
        return [], ""
    return ["python", "-m", "sglang.launch_server", *words], "written from the settings that the log shows: compare with your own command"


def _written(name: str, value: Scalar) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return [flag]
    if value is False or isinstance(value, tuple):
        return []
    return [flag, f"{value:g}" if isinstance(value, float) else str(value)[:400]]


def _names(flag: str) -> frozenset[str]:
    return next((group for group in _ALIASES if flag in group), frozenset({flag}))


def _without(words: Sequence[str], flag: str) -> tuple[list[str], list[str]]:
    """The words without one flag and its value, and what that was; all of its spellings, all of its occurrences."""
    return _drop(words, _names(flag), "")


def _without_all(words: Sequence[str], prefix: str) -> tuple[list[str], list[str]]:
    return _drop(words, frozenset(), prefix)


def _drop(words: Sequence[str], names: frozenset[str], prefix: str) -> tuple[list[str], list[str]]:
    kept: list[str] = []
    gone: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        assigned = _ASSIGNED.fullmatch(word)
        name = (assigned[1] if assigned else word).replace("_", "-")
        index += 1
        if name not in names and not (prefix and name.startswith(prefix)):
            kept.append(word)
            continue
        gone.append(word)
        # A value is every word up to the next flag; a negative number is a value too.
        while assigned is None and index < len(words) and not re.match(r"--?[A-Za-z]", words[index]):
            if words[index] in ("|", "||", "&&", ";", "&", ">", ">>", "<"):
                break
            gone.append(words[index])
            index += 1
    return kept, gone
