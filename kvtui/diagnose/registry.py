"""The rules and the order of their verdicts. A rule registers itself; ``diagnose`` asks them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from kvtui.diagnose.change import change_of
from kvtui.diagnose.context import Context
from kvtui.domain.finding import Finding, VerdictId

__all__ = ["ORDER", "Context", "diagnose", "registered", "rule"]

Rule = Callable[[Context], "Finding | None"]

ORDER: Final[tuple[VerdictId, ...]] = (
    "startup-failure", "server-stuck", "hardware-fault", "host-pressure", "retraction", "grammar", "pd-queue", "hicache",
    "dp-imbalance", "running-cap", "sub-pool", "head-of-line", "kv-capacity", "reservation", "prefix-miss", "prefill", "client", "cpu",
    "cuda-graph", "speculation", "allreduce", "clocks", "decode-bandwidth", "decode-compute",
    "headroom", "leftover-flags", "foreign-memory", "measurement",
    "healthy", "not-enough-data",
)  # fmt: skip
"""Decision order of facts/diagnoses.md 0.5, the narrower of two look-alikes first: a rank that is full while another has
room is full because of how requests are spread, and prefill that a switched-off cache causes has that cause."""

_FALLBACK: Final[frozenset[VerdictId]] = frozenset({"healthy", "not-enough-data"})
_SLOWED: Final[frozenset[VerdictId]] = frozenset({"cuda-graph", "speculation", "allreduce", "clocks", "cpu"})
"""What makes a step longer than it need be; bandwidth and arithmetic are where a well server ends."""
_RULES: Final[dict[VerdictId, Rule]] = {}


def rule(verdict: VerdictId) -> Callable[[Rule], Rule]:
    """Register a function as the rule of a verdict. Raises ValueError where the verdict has one already."""

    def register(function: Rule) -> Rule:
        if verdict in _RULES:
            raise ValueError(f"two rules for {verdict}")
        _RULES[verdict] = function
        return function

    return register


def registered() -> tuple[VerdictId, ...]:
    """Verdicts that have a rule, in decision order."""
    return tuple(verdict for verdict in ORDER if verdict in _RULES)


def diagnose(context: Context) -> tuple[Finding, ...]:
    """All findings: the primary verdict first, then the other axis' first, then the rest and the banners.

    There is always at least one: "healthy" and "not enough data" are verdicts too, given where nothing limits.
    """
    found = arranged(finding for verdict in registered() if (finding := _RULES[verdict](context)) is not None)
    change = change_of(context)
    if change is None:
        return found
    # Only what is judged by the load speaks of the newest regime.
    newest = [f.since == change.at and f.axis == "concurrency" for f in found]
    return tuple(replace(f, evidence=(*f.evidence, change), anew=True) if new else f for f, new in zip(found, newest, strict=True))


def arranged(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order in which they are shown; of "healthy" and "not enough data" only what the others leave room for."""
    found = list(findings)
    limits = [finding for finding in found if finding.id not in _FALLBACK]
    fallback = [finding for finding in found if finding.id in _FALLBACK]
    concurrency = sorted((f for f in limits if f.axis == "concurrency"), key=_weight)
    step = sorted((f for f in limits if f.axis == "step"), key=_weight)
    banners = sorted((f for f in limits if f.axis == "banner"), key=_weight)
    # What is wrong says more than "nothing limits" and "more could come"; an out-of-memory at run time says more than any limit.
    has_room = not concurrency or concurrency[0].id == "client"
    loud = [f for f in banners if f.confidence == "high" and (_is_crash(f) or has_room)]
    slowed = [f for f in step[:1] if has_room and f.id in _SLOWED and f.confidence != "low"]
    concurrency = _without_losers(concurrency) or [_of_concurrency(f) if step else f for f in fallback[:1]]
    rest = [*concurrency[1:], *step[1:], *(f for f in banners if f not in loud)]
    return (*loud[:1], *slowed, *concurrency[:1], *(f for f in step[:1] if not slowed), *loud[1:], *rest)


def _of_concurrency(finding: Finding) -> Finding:
    """Beside a verdict on the step, "healthy" speaks of how many run and no more."""
    return replace(finding, title="Nothing limits how many run") if finding.id == "healthy" else finding


def _without_losers(concurrency: list[Finding]) -> list[Finding]:
    """Limits that a stronger one has ruled out are not limits beside it; nor is the stronger one a look-alike of theirs."""
    kept: list[Finding] = []
    for finding in concurrency:
        if any(ruled.verdict == finding.id for other in kept for ruled in other.ruled_out):
            continue
        shown = {other.id for other in kept}
        kept.append(replace(finding, ruled_out=tuple(ruled for ruled in finding.ruled_out if ruled.verdict not in shown)))
    return kept


def _weight(finding: Finding) -> tuple[int, int]:
    """A verdict that was seen for too short a time does not outrank one that is proven."""
    return (1 if finding.confidence == "low" else 0, ORDER.index(finding.id))


def _is_crash(finding: Finding) -> bool:
    return finding.id == "headroom" and finding.since is not None
