"""What a process is, by its command line or title, and what the control group of a server's main process says.

Titles are those of SGLang's setproctitle calls (facts/observability.md 4); /proc/PID/comm is cut at 15 characters
and is not used.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from kvtui.domain.boot import Scalar
from kvtui.domain.process import DEFAULT_PORT, Role
from kvtui.domain.reading import Known, Missing, Reading, Where
from kvtui.parse.commands import ALIASES
from kvtui.parse.literals import scalar
from kvtui.parse.redact import REMOVED, is_secret_name, redact, safe, visible

_TITLE: Final = re.compile(
    r"sglang::(scheduler|detokenizer_router|detokenizer|data_parallel_controller|tokenizer_worker)(?![A-Za-z])", re.DOTALL
)
_ROLES: Final[Mapping[str, Role]] = {
    "scheduler": "scheduler",
    "detokenizer": "detokenizer",
    "detokenizer_router": "detokenizer",
    "data_parallel_controller": "dp controller",
    "tokenizer_worker": "tokenizer",
}
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]{0,8}t?")
_ROUTER: Final = frozenset({"sglang_router.launch_router", "sglang_router.launch_server", "sglang_router"})
_WITH_VALUE: Final = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_SPAWN: Final = re.compile(r"from multiprocessing\.(?:spawn|resource_tracker|forkserver|semaphore_tracker) import ")

_FLAG: Final = re.compile(r"--([A-Za-z][\w-]{0,80})(?:=(.*))?", re.DOTALL)
_LOOKS_LIKE_FLAG: Final = re.compile(r"--?[A-Za-z]")
_WORD_LIMIT: Final = 8_192
_WORDS_SHOWN: Final = 1_000

_CONTAINER: Final = re.compile(
    r"(?:(?P<runtime>docker|libpod|cri-containerd|crio|containerd|nerdctl)[-/])?(?:[\w-]{0,20}[-:/])?(?P<id>[0-9a-f]{64})(?:\.scope)?(?=/|$)"
)
_KUBE: Final = re.compile(r"kubepods|/k8s\.io/")
_SERVICE: Final = re.compile(r"/((?!user@)[\w.@:\\-]{1,200}\.service)(?=/|$)")


def title_role(words: Sequence[str]) -> Role | None:
    """The part of SGLang that a process is by its title; None for another process."""
    match = _TITLE.match(words[0][:300]) if words else None
    return None if match is None else _ROLES[match[1]]


def is_helper(words: Sequence[str]) -> bool:
    """True for a child of multiprocessing before it takes its title, and for its resource tracker."""
    return any(_SPAWN.match(word[:200]) for word in words[1:6])


def launch_role(words: Sequence[str]) -> Role | None:
    """``main`` for a server that was launched, ``router`` for SGLang's router; None for anything else.

    Only the program itself counts: a shell, an editor or ``docker run`` that carries the words does not.
    """
    rest = _program(words)
    if not rest:
        return None
    name = rest[0]
    if name == "sglang" and len(rest) > 1 and rest[1] == "serve":
        return "main"
    if name in {"sglang.launch_server", "sglang.launch_server_llavavid"} or name.endswith("sglang/launch_server.py"):
        return "main"
    if name in {"sglang", "sglang.cli.main"} and rest[1:2] == ["serve"]:
        return "main"
    return "router" if name in _ROUTER else None


def _program(words: Sequence[str]) -> list[str]:
    """The module or script that an interpreter runs, and its arguments; empty where there is none."""
    if not words:
        return []
    first = words[0].rpartition("/")[2]
    if first == "sglang":
        return ["sglang", *words[1:]]
    if _PYTHON.fullmatch(first) is None:
        return []
    index = 1
    while index < len(words) and words[index].startswith("-"):
        word = words[index]
        if word == "-m":
            return list(words[index + 1 :])
        if word in {"-c", "-"}:
            return []
        if word.startswith("-m") and len(word) > 2:
            return [word[2:], *words[index + 1 :]]
        # -u, -O, -s and the like may be written together with -m: -um
        if re.fullmatch(r"-[a-zA-Z]{1,8}m", word):
            return list(words[index + 1 :])
        index += 2 if word in _WITH_VALUE else 1
    script = list(words[index:])
    if script and script[0].rpartition("/")[2] == "sglang":
        script[0] = "sglang"
    return script


@dataclass(frozen=True, slots=True)
class Launch:
    """A server's command line, read."""

    command: str
    """Secrets removed, control characters shown."""
    settings: Mapping[str, Scalar]
    model: Reading[str]
    host: Reading[str]
    port: Reading[int]
    config_file: str | None
    """``--config``: a file that holds flags which are then not in the command line."""


def read_launch(words: Sequence[str]) -> Launch:
    """The flags of a launch command. Never raises; what is malformed is Missing."""
    words = [word[:_WORD_LIMIT] for word in words]
    settings = MappingProxyType(_settings(words))
    where = Where("flag", "command line")
    config = settings.get("config")
    config_file = safe(str(config), 200) if isinstance(config, (str, int)) and not isinstance(config, bool) else None
    in_file = f"; it may stand in {config_file}" if config_file else ""
    model = settings.get("model_path")
    host = settings.get("host")
    return Launch(
        command=shown_command(words),
        settings=settings,
        model=Known(safe(model, 300), None, where) if isinstance(model, str) else Missing("the command line names no model" + in_file),
        host=_host(host, where, in_file),
        port=_port(settings.get("port"), where, in_file),
        config_file=config_file,
    )


def _settings(words: Sequence[str]) -> dict[str, Scalar]:
    """Flags under their ServerArgs names; a flag given twice counts as its last."""
    values: dict[str, Scalar] = {}
    index = 0
    while index < len(words):
        flag = _FLAG.fullmatch(words[index])
        index += 1
        if flag is None:
            continue
        name = flag[1].replace("-", "_").lower()
        name = ALIASES.get(name, name)
        taken = [] if flag[2] is None else [flag[2]]
        while flag[2] is None and index < len(words) and not _LOOKS_LIKE_FLAG.match(words[index]):
            taken.append(words[index])
            index += 1
        read = tuple(scalar(word) for word in taken)
        values[name] = True if not read else REMOVED if is_secret_name(name) else read[0] if len(read) == 1 else read
    return values


def shown_command(words: Sequence[str]) -> str:
    """A command line as it may be shown: values of secret flags replaced, quoted so that it can be pasted."""
    shown: list[str] = []
    hiding = False
    for word in words[:_WORDS_SHOWN]:
        flag = _FLAG.fullmatch(word[:_WORD_LIMIT])
        if flag is not None:
            secret = is_secret_name(flag[1].replace("-", "_"))
            hiding = secret and flag[2] is None
            shown.append(f"--{flag[1]}={REMOVED}" if secret and flag[2] is not None else redact(word[:_WORD_LIMIT]))
        else:
            shown.append(REMOVED if hiding else redact(word[:_WORD_LIMIT]))
    line = visible(" ".join(word if word == REMOVED or word.endswith("=" + REMOVED) else shlex.quote(word) for word in shown))
    return safe(line, 16_384)


def _host(value: Scalar, where: Where, in_file: str) -> Known[str] | Missing:
    if isinstance(value, str) and re.fullmatch(r"[\w.:%-]{1,253}", value):
        return Known(value, None, where)
    if value is None and not in_file:
        return Known("127.0.0.1", None, Where("table", "SGLang's default host"))
    return Missing("the command line names no host" + in_file)


def _port(value: Scalar, where: Where, in_file: str) -> Known[int] | Missing:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65_536:
        return Known(value, None, where)
    if value is None and not in_file:
        return Known(DEFAULT_PORT, None, Where("table", "SGLang's default port"))
    return Missing("the command line names no usable port" + in_file)


@dataclass(frozen=True, slots=True)
class Confines:
    """What a process runs in, by its control groups."""

    container: str | None = None
    """Container id."""
    runtime: str = ""
    """``docker``, ``podman``, ``kubernetes``, or empty where the group does not tell."""
    unit: str | None = None
    """systemd unit."""
    user_unit: bool = False


def confines(groups: Mapping[str, str]) -> Confines:
    """Container and unit from the paths of /proc/PID/cgroup."""
    path = max((groups[name] for name in ("", "name=systemd", "memory", "pids") if name in groups), key=len, default="")
    path = path[:4_096]
    container = None
    for match in _CONTAINER.finditer(path):
        container = match
    if container is not None:
        named = container["runtime"] or ("docker" if "/docker/" in path else "")
        runtime = {"docker": "docker", "libpod": "podman"}.get(named, "")
        return Confines(container["id"], "kubernetes" if _KUBE.search(path) else runtime)
    units = _SERVICE.findall(path)
    if not units:
        return Confines()
    return Confines(None, "", units[-1], "/user@" in path)


def runs_python(words: Sequence[str]) -> bool:
    """True for a Python interpreter that runs a script or module."""
    return bool(words) and _PYTHON.fullmatch(words[0].rpartition("/")[2]) is not None
