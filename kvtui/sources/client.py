"""httpx without its command line, which brings a highlighter of source text and progress bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.lean import load

if TYPE_CHECKING:
    import httpx
else:
    httpx = load("httpx", "httpx._main")

__all__ = ["httpx"]
