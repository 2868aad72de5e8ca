"""A built-in table of well-known models, numbers only, and what the class of a model tells.

A geometry whose numbers could not be confirmed says so: ``sure`` is False and ``note`` tells what.
"""

from __future__ import annotations

from kvtui.domain.models.architectures import attention_of, is_draft, swa_memory
from kvtui.domain.models.lookup import MODELS, Match, candidates, find_model

__all__ = ["MODELS", "Match", "attention_of", "candidates", "find_model", "is_draft", "swa_memory"]
