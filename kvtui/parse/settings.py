"""The ``server_args=`` line, in both styles, read without evaluating it (facts/observability.md 3.2).

Up to 0.5.18 it is ``ServerArgs(model_path='x', tp_size=8)``, from 0.5.21 on ``{'model_path': 'x', 'tp_size': 8}``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from kvtui.domain.boot import Scalar
from kvtui.parse.literals import scalar, split_items
from kvtui.parse.redact import REMOVED, is_secret_name

_HEAD: Final = re.compile(r"\bserver_args\s{0,2}[=:]\s{0,2}(?:(ServerArgs|[A-Z]\w{0,40}Args)\(|(\{))|(?<![\w.])(ServerArgs)\(")
_NAME: Final = re.compile(r"[\"']?([A-Za-z_]\w{0,80})[\"']?\s{0,2}[=:]\s{0,4}(.+)", re.DOTALL)
_FIELD_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class ServerArgs:
    """What a ``server_args=`` line shows."""

    style: Literal["repr", "dict"]
    values: dict[str, Scalar]
    complete: bool
    """False: the line was cut before its closing bracket, or a person replaced a part with dots."""


def looks_like_server_args(message: str) -> bool:
    """True where a ``server_args=`` line begins."""
    return _HEAD.search(message[:400]) is not None


def is_closed(message: str) -> bool:
    """True where the line has its closing bracket, so nothing has to follow."""
    head = _HEAD.search(message)
    return head is None or split_items(message[head.end() :])[1]


def parse_server_args(message: str) -> ServerArgs | None:
    """The settings of a ``server_args=`` line under their own names; None where the message is none.

    Secrets are replaced, texts made safe, items that cannot be read are left out. Never raises.
    """
    head = _HEAD.search(message[:400])
    if head is None:
        return None
    items, closed = split_items(message[head.end() :])
    values: dict[str, Scalar] = {}
    shortened = False
    for item in items[:_FIELD_LIMIT]:
        pair = _NAME.match(item)
        if pair is None:
            # "..." stands where a person shortened the line
            shortened = True
            continue
        value = scalar(pair[2])
        values[pair[1]] = REMOVED if is_secret_name(pair[1]) and value not in (None, "") else value
    if not values:
        return None
    if not closed and _is_torn(items[-1]):
        values.pop(next(reversed(values)), None)
    return ServerArgs("dict" if head[2] else "repr", values, closed and not shortened)


def _is_torn(item: str) -> bool:
    """True for a last item that may have lost its end: a bare number or word could have gone on."""
    pair = _NAME.match(item)
    if pair is None:
        return False
    text = pair[2].strip()
    return text not in {"None", "True", "False"} and text[-1:] not in "'\")]}"
