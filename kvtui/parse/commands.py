"""Launch commands in a log or a paste: ``python -m sglang.launch_server ...``, ``sglang serve ...``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.parse.literals import scalar
from kvtui.parse.redact import REMOVED, is_secret_name, safe

COMMAND_LIMIT: Final = 16_384
"""Characters kept of a command."""
_COMMAND: Final = re.compile(
    r"(?:(?:\b|/)python[\d.]{0,5}[\"',\s]{1,6}(?:-[uO]\s+)?-m[\"',\s]{1,6}sglang\.(?:launch_server|bench_(?!serving)\w{1,40})\b|"
    r"\bsglang[\"',\s]{1,6}serve\b|\bsglang\.(?:launch_server|bench_one_batch|bench_latency|bench_offline_throughput)\b(?=[\"',\s]+-))"
)
_WORD: Final = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|['"])+""", re.DOTALL)
_FLAG: Final = re.compile(r"--?([A-Za-z][\w-]{0,80})(?:=(.*))?", re.DOTALL)
_ENDS: Final = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "2>&1", "2>", "<", "&>"})

ALIASES: Final = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "ep": "ep_size",
    "expert_parallel_size": "ep_size",
    "dcp": "dcp_size",
    "model": "model_path",
    "tokenizer": "tokenizer_path",
    "mem_fraction": "mem_fraction_static",
    "context_len": "context_length",
    "max_model_len": "context_length",
    "cuda_graph_max_bs_decode": "cuda_graph_max_bs",
    "speculative_draft": "speculative_draft_model_path",
    "speculative_draft_model": "speculative_draft_model_path",
    "hicache_storage": "hicache_storage_backend",
    "dist_init_addr": "dist_init_addr",
    "nccl_init_addr": "dist_init_addr",
}
"""Other spellings of a flag, under the name of its ServerArgs field."""


@dataclass(frozen=True, slots=True)
class Command:
    """A launch command and the settings it asks for."""

    text: str
    """As found, secrets removed."""
    values: dict[str, Scalar]
    serves: bool
    """False for a benchmark that loads the engine itself."""


def find_command(message: str) -> int | None:
    """Where a launch command begins, or None."""
    if "sglang" not in message:
        return None
    match = _COMMAND.search(message[:COMMAND_LIMIT])
    return None if match is None else match.start()


def goes_on(message: str) -> bool:
    """True where the command ends in a backslash, so the next line belongs to it."""
    return message.rstrip().endswith("\\")


def continues(message: str) -> bool:
    """True for a line that can only be the rest of a command: it begins with a flag."""
    return re.match(r"\s{0,40}-{1,2}[a-z][\w-]{1,60}(?:[=\s]|$)", message) is not None


def parse_command(message: str) -> Command | None:
    """The launch command in ``message``; None where there is none. Never raises."""
    start = find_command(message)
    if start is None:
        return None
    text = re.sub(r"\\\s*(?:\n|$)|\\\s+(?=-)", " ", message[start : start + COMMAND_LIMIT])
    if re.match(r'[^\s]{0,60}"\s*,', text):
        # the JSON array of a container's command
        text = re.sub(r"[\"']\s*,\s*[\"']", " ", text).replace('"]', "").strip("\"]' ")
    words = [_bare(word) for word in _WORD.findall(text)]
    values: dict[str, Scalar] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in _ENDS:
            break
        flag = _FLAG.fullmatch(word)
        if flag is None or not word.startswith("--"):
            continue
        name = flag[1].replace("-", "_").lower()
        name = ALIASES.get(name, name)
        taken = [flag[2]] if flag[2] is not None else []
        while index < len(words) and flag[2] is None and not _is_flag(words[index]) and words[index] not in _ENDS:
            taken.append(words[index])
            index += 1
        values[name] = _value(name, taken)
    return Command(safe(re.sub(r"\s+", " ", text), COMMAND_LIMIT), values, "bench_" not in text[:80])


def _is_flag(word: str) -> bool:
    return re.fullmatch(r"--?[A-Za-z].*", word, re.DOTALL) is not None


def _bare(word: str) -> str:
    if len(word) >= 2 and word[0] == word[-1] and word[0] in "'\"":
        return word[1:-1]
    return re.sub(r"=(['\"])(.*)\1$", r"=\2", word, flags=re.DOTALL)


def _value(name: str, taken: list[str]) -> Scalar:
    if not taken:
        return True
    if is_secret_name(name):
        return REMOVED
    values = [scalar(text) for text in taken]
    return values[0] if len(values) == 1 else tuple(values)
