"""Rare lines that mean something: what kind of event they are and the numbers they carry.

Wordings: facts/observability.md 3.2 and facts/memory.md 7. One line gives at most one event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kvtui.domain.events import EventKind
from kvtui.parse.redact import safe

_LINE_LIMIT: Final = 8_192
_TO_GIB: Final = {"B": 1 / (1 << 30), "K": 1 / (1 << 20), "M": 1 / 1024, "G": 1.0, "T": 1024.0}
_NUM: Final = r"(\d{1,15}(?:\.\d{1,9})?)"
Fields = Mapping[str, "float | str"]


@dataclass(frozen=True, slots=True)
class EventFact:
    """What one line says happened."""

    kind: EventKind
    text: str
    fields: Fields
    own: bool
    """True: only SGLang prints this, so the log is one of SGLang's."""


_PATTERNS: Final[tuple[tuple[EventKind, bool, re.Pattern[str]], ...]] = (
    ("retract", True, re.compile(r"Retract requests\.|Decode out of memory happened|Testing retraction\.")),
    ("ready", True, re.compile(r"The server is fired up and ready to roll|^Application startup complete")),
    ("unbalanced", True, re.compile(r"memory capacity is unbalanced")),
    (
        "not-enough-memory",
        True,
        re.compile(
            r"Not enough memory\. Please try to (?:in|de)crease|Loaded weights leave no GPU memory|Not enough GPU memory for hybrid|"
            r"[Mm]emory pool size is too small|max_running_requests? is zero"
        ),
    ),
    ("state-too-small", True, re.compile(r"state cache is too small|SWA pool (?:cap )?\(.{0,80}(?:leaves no room|cannot hold)")),
    ("capture-failed", True, re.compile(r"(?i)capture (?:[a-z _-]{0,40} )?cuda graphs? failed")),
    ("host-memory", True, re.compile(r"(?i)not enough host memory")),
    (
        "killed",
        False,
        re.compile(
            r"OOM ?Killed|(?i:\bOOM killer)|Out of memory: Kill(?:ed)? process|Memory cgroup out of memory|^Killed$|"
            r"\bline \d+: +\d+ Killed\b"
        ),
    ),
    (
        "killed",
        False,
        re.compile(r"(?i)\bexit(?:ed)?(?:code)?(?: with)?(?: (?:exit )?(?:code|status))?[ :=(]{1,3}(?:-9|137)\b|terminated with -9\b"),
    ),
    (
        "nccl",
        False,
        re.compile(
            r"(?i)\bnccl error|ncclUnhandled|ncclSystemError|ncclInternalError|ncclRemoteError|NCCL WARN|"
            r"Watchdog caught collective|ProcessGroupNCCL.{0,200}(?:timeout|timed out|abort)"
        ),
    ),
    (
        "out-of-memory",
        True,
        re.compile(
            r"(?:Prefill|Decode) out of memory|Out of memory\. Try to lower|Out of memory even after retracting|"
            r"alloc_req_slots runs out of memory|Aborting the last request"
        ),
    ),
    (
        "out-of-memory",
        False,
        re.compile(
            r"(?i)(?:cuda|hip|npu|xpu|musa)(?: error:)? out of memory|OutOfMemoryError|cudaErrorMemoryAllocation|"
            r"\bNPUOutOfMemory|\bout of memory on (?:gpu|device)|\btried to allocate \d{1,15}(?:\.\d{1,9})? ?(?:[TGMK]?i?B\b|bytes\b)"
        ),
    ),
    ("watchdog", True, re.compile(r"(?i)\bwatchdog timeout \(")),
    ("health-failed", True, re.compile(r"Health check failed")),
    ("leak", True, re.compile(r"memory leak detected")),
    (
        "exit",
        False,
        re.compile(
            r"SIGTERM received|SIGQUIT received|Received sigquit|Gracefully exiting|crashed with exit code|"
            r"unexpectedly failed with an exit code|"
            r"(?:Scheduler|DataParallelController)\b.{0,60}\bterminated with|Finished server process|"
            r"\bexit(?:ed)? (?:with )?(?:code|status) [1-9]"
        ),
    ),
    (
        "exception",
        True,
        re.compile(
            r"\b(?:Scheduler|TpModelWorker\w{0,40}|\w{0,40}Controller|DetokenizerManager|TokenizerManager|"
            r"\w{0,60}Worker\w{0,40}) hit an exception"
        ),
    ),
)
FORCED: Final = re.compile(
    r"(?i)\b(?:is|are|was|were)\s(?:automatically |also |now )?(?:(?:re)?set (?:to\b|automatically\b)|"
    r"(?<=automatically )set|adjusted|changed|overridden|disabled|enabled|turned o(?:n|ff))\b|"
    r"\bauto(?:matically)?[ -](?:dis|en)abl|^\W{0,4}(?:re)?(?:set|setting|adjust|adjusting|disabl(?:e|"
    r"ing)|overrid(?:e|ing)|forc(?:e|ing)|chang(?:e|ing)|reduc(?:e|ing)|"
    r"enabling|turning o(?:n|ff)|fall(?:ing)? back)\b"
)
_FORCED_SUBJECT: Final = re.compile(
    r"(?i)--[a-z]|[a-z]_[a-z]|running requests|overlap|cuda graph|radix|chunked|prefill size|page size|"
    r"attention backend|mem(?:ory)?[ _-]frac|context|"
    r"speculat|draft|kv cache|hicache|shared expert|all[ -]?reduce|mamba|max[ _-]total|dtype|batch size|hierarchical"
)
_WARN: Final = re.compile(
    r"(?i)but no scaling factors|workspace(?:_buffer)? size|\bXid\b|uncorrectable|\bECC error|cpu[ _-]offload|KTransformers|thermal|"
    r"longer than the (?:model|context)|exceeds the maximum|exceed(?:s|ed)? the (?:available|max)|"
    r"queue is full|Not enough memory to (?:load|capture)|"
    r"candidate_kv_budget|VA upper bound|Running out of|too many open files|ignored because"
)
_PROGRAM: Final = re.compile(
    r"(?i)^(?:(?:[\w.]{1,120}\.)?[A-Z]\w{0,80}(?:Error|Exception)|SystemExit|KeyboardInterrupt)\b(?::|$)|"
    r"segmentation fault|core dumped|Fatal Python error|\bSIGSEGV\b|"
    r"no kernel image is available|illegal memory access|device-side assert|No space left on device|Bus error"
)
_GB: Final = re.compile(rf"{_NUM}\s?([TGM])i?B\b")


def parse_event(message: str) -> EventFact | None:
    """The event that a line tells, or None. Never raises."""
    text = message[:_LINE_LIMIT]
    for kind, own, pattern in _PATTERNS:
        if pattern.search(text):
            return EventFact(kind, safe(text), MappingProxyType(_fields(kind, text)), own or "sglang" in text)
    if FORCED.search(text) and "deprecated" not in text and _FORCED_SUBJECT.search(text):
        return EventFact("forced-setting", safe(text), MappingProxyType({}), own=False)
    if _WARN.search(text):
        size = _GB.search(text)
        fields: dict[str, float | str] = {"gib": float(size[1]) * _TO_GIB[size[2]]} if size else {}
        return EventFact("warning", safe(text), MappingProxyType(fields), "candidate_kv" in text or "KTransformers" in text)
    if _PROGRAM.search(text):
        return EventFact(
            "exception" if re.match(r"[\w.]{1,200}(?:Error|Exception)\b", text) else "program",
            safe(text),
            MappingProxyType({}),
            "sglang" in text,
        )
    return None


_RETRACT: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("retracted", rf"#retracted_reqs: {_NUM}"),
        ("aborted", rf"#aborted_retracted_reqs: {_NUM}"),
        ("gained", rf"#new_tokens?_gained: {_NUM}"),
        ("mamba_gained", rf"#mamba_num_gained: {_NUM}"),
        ("ratio_before", rf"#new_token_ratio: {_NUM} -> "),
        ("ratio_after", rf"#new_token_ratio: [\d.]{{1,20}} -> {_NUM}"),
    )
)
_OOM: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("tried_gib", rf"[Tt]ried to allocate {_NUM} ?([TGMK])?(?:i?B|bytes)"),
        ("total_gib", rf"total capacity of {_NUM} ?([TGMK])?i?B"),
        ("total_gib", rf"\(GPU \d+; {_NUM} ?([TGMK])?i?B total capacity"),
        ("free_gib", rf"of which {_NUM} ?([TGMK])?i?B is free"),
        ("free_gib", rf"{_NUM} ?([TGMK])?i?B free\b"),
        ("in_use_gib", rf"(?:has|this process has) {_NUM} ?([TGMK])?i?B memory in use"),
        ("torch_gib", rf"{_NUM} ?([TGMK])?i?B is allocated by PyTorch"),
        ("reserved_gib", rf"{_NUM} ?([TGMK])?i?B is reserved by PyTorch"),
        ("requested_gb", rf"[Rr]equesting {_NUM} ?([TGMK])?B"),
        ("host_free_gb", rf"only have {_NUM} ?([TGMK])?B"),
    )
)
_NOT_ENOUGH: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("fraction", r"(?:mem_fraction_static=|--mem-fraction-static[= ])(\d?\.?\d{1,18}(?:e-?\d{1,3})?)"),
        ("minimum_fraction", r"minimum viable\s?=\s?(?:1 - [^=]{1,60}= ?)?(\d?\.\d{1,9})"),
        ("raise_above", r"[Rr]aise --mem-fraction-static above (\d?\.\d{1,9})"),
    )
)
_EXIT_CODE: Final = re.compile(
    r"(?i)(?:exit(?:ed)?(?:code)?(?: with)?(?: (?:exit )?(?:code|status))?|terminated with|with an exit code)[ :=(]{1,3}(-?\d{1,4})\b"
)
_GPU: Final = re.compile(r"\bGPU (\d{1,3})\b")
_WATCHDOG: Final = re.compile(r"watchdog_timeout=(\d{1,9}(?:\.\d{1,9})?)")
_REMAINING: Final = re.compile(r"Remaining number of requests (\d{1,9})")


def _memory_fields(text: str) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    for name, pattern in _OOM:
        match = pattern.search(text)
        if match is not None and name not in found:
            found[name] = float(match[1]) * (1.0 if name.endswith("_gb") else _TO_GIB[match[2] or "B"])
    return found


_FIELDS: Final[Mapping[EventKind, tuple[tuple[str, re.Pattern[str]], ...]]] = {
    "retract": _RETRACT,
    "not-enough-memory": _NOT_ENOUGH,
    "state-too-small": _NOT_ENOUGH,
    "exit": (("code", _EXIT_CODE), ("remaining", _REMAINING)),
    "killed": (("code", _EXIT_CODE),),
    "watchdog": (("timeout_s", _WATCHDOG),),
    "out-of-memory": (("gpu", _GPU),),
}


def _fields(kind: EventKind, text: str) -> dict[str, float | str]:
    found = _memory_fields(text) if kind in {"out-of-memory", "host-memory", "capture-failed"} else {}
    for name, pattern in _FIELDS.get(kind, ()):
        match = pattern.search(text)
        if match is not None:
            found[name] = float(match[1])
    return found
