"""Servers and loads that several scenarios share."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, TypeVar

from kvtui.domain.boot import Scalar
from kvtui.scenarios.box import Box, Draft
from kvtui.scenarios.cards import H100, PRO_6000
from kvtui.scenarios.situation import Strength
from kvtui.twin import Demand, Lengths, Shape, StepTimes

T = TypeVar("T")

_FOUNDING_PRE: Final = 94.0370
_FOUNDING_WEIGHTS: Final = 72.3285
"""GiB: the only pair that gives 116,171 tokens at 0.85 and 159,277 at 0.88 (facts/diagnoses.md 2.1)."""


def pick(strength: Strength, mild: T, plain: T, strong: T) -> T:
    """One of three by strength."""
    return {"mild": mild, "plain": plain, "strong": strong}[strength]


def kimi(fraction: float, *, draft: Draft | None = None, release: str = "0.5.9", **flags: Scalar) -> Box:
    """The founding box: Kimi-K2.5 in INT4 on eight RTX PRO 6000."""
    typed = MappingProxyType({"mem_fraction_static": fraction, **flags})
    return Box(
        "/models/Kimi-K2.5", PRO_6000, release, _FOUNDING_PRE, _FOUNDING_WEIGHTS, tp=8, flags=typed, draft=draft, context_gib=0.93,
        host_gib=512.0,
    )  # fmt: skip


def llama(*, release: str = "0.5.23", draft: Draft | None = None, **flags: Scalar) -> Box:
    """A 70B dense model on four H100: a pool of some 440,000 tokens."""
    typed = MappingProxyType({"mem_fraction_static": 0.85, **flags})
    return Box("/models/Llama-3.3-70B-Instruct", H100, release, 78.2, 32.9, tp=4, flags=typed, draft=draft)


def qwen32(*, release: str = "0.5.9", dp: int = 1, **flags: Scalar) -> Box:
    """A 32B dense model on one H100: weights leave a pool of some 30,000 tokens."""
    return Box("/models/Qwen3-32B", H100, release, 78.3, 61.2, dp=dp, flags=MappingProxyType({"mem_fraction_static": 0.88, **flags}))


def qwen8(*, release: str = "0.5.9", draft: Draft | None = None, **flags: Scalar) -> Box:
    """An 8B dense model on one H100: a pool of some 370,000 tokens."""
    return Box("/models/Qwen3-8B", H100, release, 78.3, 15.4, flags=MappingProxyType({"mem_fraction_static": 0.85, **flags}), draft=draft)


def oss(*, release: str = "0.5.23", **flags: Scalar) -> Box:
    """A sliding-window model on two H100."""
    return Box("/models/gpt-oss-120b", H100, release, 78.2, 31.6, tp=2, flags=MappingProxyType({"mem_fraction_static": 0.6, **flags}))


KIMI_TIMES: Final = StepTimes(base_s=0.0335, per_running_s=2.0e-4, per_token_s=4.4e-8, prefill_pass_s=0.012, prefill_token_s=1.9e-4)
LLAMA_TIMES: Final = StepTimes(base_s=0.0135, per_running_s=4.0e-5, per_token_s=3.0e-8, prefill_pass_s=0.004, prefill_token_s=6.0e-5)
QWEN32_TIMES: Final = StepTimes(base_s=0.023, per_running_s=1.0e-4, per_token_s=1.0e-7, prefill_pass_s=0.006, prefill_token_s=1.6e-4)
QWEN8_TIMES: Final = StepTimes(base_s=0.0065, per_running_s=4.0e-5, per_token_s=5.9e-8, prefill_pass_s=0.004, prefill_token_s=4.0e-5)
OSS_TIMES: Final = StepTimes(base_s=0.007, per_running_s=6.0e-5, per_token_s=1.0e-8, prefill_pass_s=0.005, prefill_token_s=5.0e-5)


def around(mean: float, spread: float = 0.35) -> Lengths:
    """Lengths as they come from people."""
    return Lengths(mean, "lognormal", spread)


def closed(
    clients: int, prompt: float, output: float, *, max_new: float | None = None, think_s: float = 0.0, cached: float = 0.0
) -> Demand:
    """Clients that each wait for their answer; they arrive over 20 s. ``max_new`` None: they send none."""
    shape = Shape(around(prompt), around(output, 0.4), None if max_new is None else Lengths(max_new), cached_share=cached)
    return Demand(shape=shape, clients=clients, think_s=think_s, ramp_s=min(0.2, 20.0 / clients))


def opened(
    rate: float, prompt: float, output: float, *, max_new: float | None = None, cached: float = 0.0, count: int | None = None
) -> Demand:
    """Requests that come by themselves, at random."""
    shape = Shape(around(prompt), around(output, 0.4), None if max_new is None else Lengths(max_new), cached_share=cached)
    return Demand(shape=shape, rate_per_s=rate, count=count)
