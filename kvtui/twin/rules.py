"""How SGLang's scheduler admits, forgets and retracts, by release.

Read from ``managers/schedule_policy.py``, ``schedule_batch.py`` and ``scheduler.py`` of the eleven releases in
``kvtui.domain.release.MEASURED``; the values behind them are in facts/diagnoses.md 0.1 and facts/memory.md 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from kvtui.domain.release import Release, Table

CLIP_TOKENS: Final = 4096
"""Most not yet generated tokens that one request is charged (``SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION``)."""

INITIAL_RATIO: Final = 0.7
"""``new_token_ratio`` after start-up and after idle, at conservativeness 1."""

FLOOR_SHARE: Final = 0.14
"""The floor of ``new_token_ratio``, as a share of its start."""

DECAY_STEPS: Final = 600
"""Decode steps from the start of ``new_token_ratio`` to its floor."""

RETRACT_STEPS: Final = 20
"""Steps ahead that a retraction counts for each survivor (``SGLANG_RETRACT_DECODE_STEPS``)."""

_PAGE_CHARGED: Final = Table("a page of overhead is charged to each newcomer", (("0.4.6", False), ("0.5.10", True)))
_PAGE_TESTED: Final = Table("a page of overhead is part of the admission test", (("0.4.6", False), ("0.5.12", True)))
_PRODUCED_COUNTS: Final = Table("what a retracted request has produced lowers its charge", (("0.4.6", False), ("0.5.6", True)))
_INPUT_LIMIT: Final = Table("max_prefill_tokens stops a pass that is chunked too", (("0.4.6", True), ("0.5.15", False)))
_SPENT_PASS: Final = Table("a pass whose budget is spent looks at no candidate", (("0.4.6", False), ("0.5.23", True)))
_RESET_WHILE_WAITING: Final = Table(
    "the reservation starts again when nothing runs, requests waiting or not", (("0.4.6", True), ("0.5.12", False))
)
_LEAVE_FIRST: Final = Table(
    "finished requests leave before admission, not before the next decode step", (("0.4.6", False), ("0.5.23", True))
)
_EMPTY_OPENS: Final = Table("an empty batch is never full", (("0.4.6", False), ("0.5.23", True)))
_FIXED_LENGTH: Final = Table("running requests that ignore EOS are charged in full", (("0.4.6", False), ("0.5.23", True)))
_RETRACT_AHEAD: Final = Table("retraction frees 20 steps for each survivor, not only the next step", (("0.4.6", True), ("0.5.3", False)))
_RETRACT_BACK: Final = Table("with speculation retraction takes the newest", (("0.4.6", True), ("0.5.18", False)))


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between releases. Each field is one ``Table`` row; see the tables for the wording."""

    page_charged: bool
    page_tested: bool
    produced_counts: bool
    input_limit_in_chunks: bool
    spent_pass_closes: bool
    reset_while_waiting: bool
    leave_before_admission: bool
    empty_batch_opens: bool
    fixed_length_in_full: bool
    retract_ahead: bool
    retract_newest_with_draft: bool


@lru_cache(maxsize=64)
def rules_of(release: Release | None) -> Rules:
    """The rules of a release; the newest where it is None or newer than any measured."""
    return Rules(
        page_charged=_PAGE_CHARGED.at(release),
        page_tested=_PAGE_TESTED.at(release),
        produced_counts=_PRODUCED_COUNTS.at(release),
        input_limit_in_chunks=_INPUT_LIMIT.at(release),
        spent_pass_closes=_SPENT_PASS.at(release),
        reset_while_waiting=_RESET_WHILE_WAITING.at(release),
        leave_before_admission=_LEAVE_FIRST.at(release),
        empty_batch_opens=_EMPTY_OPENS.at(release),
        fixed_length_in_full=_FIXED_LENGTH.at(release),
        retract_ahead=_RETRACT_AHEAD.at(release),
        retract_newest_with_draft=_RETRACT_BACK.at(release),
    )
