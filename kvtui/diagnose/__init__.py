"""Rules that say what limits a server. Pure: a frame with its arithmetic in, findings out."""

from __future__ import annotations

from kvtui.diagnose import rules as _rules  # noqa: F401  importing them registers them
from kvtui.diagnose.context import Context
from kvtui.diagnose.registry import diagnose

__all__ = ["Context", "diagnose"]
