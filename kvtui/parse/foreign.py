"""What a log is that holds nothing of SGLang's: the program that wrote it, where its lines show that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

HEAD: Final = 200
"""Lines that are looked at."""
WIDTH: Final = 500
"""Bytes of one that are looked at."""
LOOKED_FOR: Final = "SGLang's start-up lines, Prefill batch and Decode batch lines were looked for"
TO_DO: Final = "Give the file that holds SGLang's own output, or the server's address, such as http://127.0.0.1:30000"

_PROGRAMS: Final = (
    (re.compile(rb"\bvllm\b|\[(?:core|loggers|async_llm|llm_engine)\.py:\d+\]|Avg prompt throughput"), "vLLM's log"),
    (re.compile(rb"TensorRT-LLM|\[TRT-?LLM\]|tensorrt_llm"), "a log of TensorRT-LLM"),
    (re.compile(rb"text_generation_(?:router|launcher|server)"), "a log of text-generation-inference"),
    (re.compile(rb"llama_model_load|llama_context|\bggml_|\bollama\b"), "a log of llama.cpp or Ollama"),
    (re.compile(rb"\bsglang_router|smg::|sgl_model_gateway|Router (?:started|listening)"), "the log of a router, not of a server"),
    (re.compile(rb"\[(?:emerg|alert|crit|error|warn|notice|info|debug)\] \d+#\d+:|\bnginx[:/ ]"), "a log of nginx"),
    (re.compile(rb"^[\da-fA-F.:]{3,45} - \S+ \[[^\]]{10,40}\] \"[A-Z]{3,7} "), "an access log of a web server (nginx, Apache)"),
    (re.compile(rb"\"[A-Z]{3,7} /\S* HTTP/\d"), "an access log"),
    (re.compile(rb"^\[ {0,8}\d{1,9}\.\d{6}\] "), "the kernel's log"),
    (re.compile(rb"^# (?:HELP|TYPE) \w"), "a page of metrics, not a log"),
)


def program_of(lines: Sequence[bytes]) -> str | None:
    """What most of the lines that show it belong to, with an article; None where none does."""
    firsts = (next((name for pattern, name in _PROGRAMS if pattern.search(line[:WIDTH])), None) for line in lines)
    found = [name for name in firsts if name is not None]
    return max(found, key=found.count) if found else None


class Head:
    """The first lines of a log, kept for the case that nothing of SGLang's follows."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []

    def look(self, lines: Sequence[bytes]) -> None:
        """Lines that were read."""
        if len(self._lines) < HEAD:
            self._lines += [line[:WIDTH] for line in lines[: HEAD - len(self._lines)]]

    def told(self, name: str, lines: int, note: str = "") -> str:
        """What it is, what was looked for, and what to do.

        ``name``: of the file; ``lines``: how many it has; ``note``: what was wrong with its container, a clause.
        """
        many = f"{lines:,} line{'s' if lines != 1 else ''}{f' ({note})' if note else ''}"
        if not lines:
            return f"{name} gave no line{f': {note}' if note else ''}. {TO_DO}."
        program = program_of(self._lines)
        what = f"it looks like {program}" if program is not None else "it is another program's, or its server has not begun"
        return f"{name} has {many} but none that SGLang prints: {what}. {LOOKED_FOR}. {TO_DO}."
