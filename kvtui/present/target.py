"""A target as it may be shown."""

from __future__ import annotations

import re


def is_address(target: str) -> bool:
    """True for what names a server to ask, not a file: a URL, or ``:PORT`` on this machine."""
    return target.startswith(("http://", "https://")) or re.fullmatch(r":\d{1,5}", target) is not None


def shown(target: str) -> str:
    """A URL without its secrets, a path without its folders."""
    if target == "-":
        return "standard input"
    if not is_address(target):
        return target.rsplit("/", 1)[-1] or target
    # The first paint of a log waits for no table of secrets.
    from kvtui.parse.redact import redact  # noqa: PLC0415

    return redact(target)
