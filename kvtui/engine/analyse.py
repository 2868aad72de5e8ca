"""A frame to an analysis: account, ledgers, workload, verdicts, options."""

from __future__ import annotations

from dataclasses import replace

from kvtui.diagnose.at_rest import at_rest
from kvtui.diagnose.context import context_of
from kvtui.diagnose.registry import diagnose
from kvtui.domain.account import Account
from kvtui.domain.accounting import NO_GEOMETRY, Given, account
from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.geometry import Attention
from kvtui.domain.ledgers import ledgers
from kvtui.domain.live_ledgers import live_ledgers
from kvtui.domain.reading import Missing
from kvtui.domain.settings import USUAL, Thresholds
from kvtui.domain.what_if import is_capped
from kvtui.options.of_analysis import context_of as of_analysis
from kvtui.options.registry import estimates as run_levers

EMPTY_BOOT = Boot(0, 0, 0, None, None, "starting", Missing("no start in the log"))


def analyse(frame: Frame, given: Given = NO_GEOMETRY, thresholds: Thresholds = USUAL) -> Analysis:
    """Everything that follows from a frame; pure, and the same for every source. ``thresholds``: from when on the rules speak."""
    boot = frame.boot or EMPTY_BOOT
    sums = account(boot, boots=frame.boots, given=given, seen=_seen(frame))
    usage = frame.timeline.last("usage")
    share = usage[0] if usage is not None else None
    context = context_of(frame, sums, thresholds=thresholds)
    findings = diagnose(context)
    bare = Analysis(
        frame=frame,
        account=sums,
        ledgers=live_ledgers(frame.gpus, frame.found, sums, share) or ledgers(boot, sums, frame.timeline),
        findings=findings,
        workload=context.workload,
        band=context.band,
        thresholds=thresholds,
    )
    levers = estimates(bare, None)
    now = at_rest(context, findings)
    told = tuple(_useful(finding, levers, sums) for finding in now)
    return replace(bare, findings=told, estimates=levers, last_load=() if now == findings else findings)


def _useful(finding: Finding, levers: tuple[Estimate, ...], sums: Account) -> Finding:
    """The finding with those of its fixes that would change something on this server; a token cap is what holds the pool first.

    A fix after which the server would not start stands last.
    """
    useless = {lever.id for lever in levers if not lever.applies or lever.idle}
    too_much = {lever.id for lever in levers if lever.headroom_gib is not None and lever.headroom_gib < 0}
    fixes = tuple(sorted((fix for fix in finding.fixes if fix not in useless), key=lambda fix: fix in too_much))
    if finding.id in {"kv-capacity", "retraction", "reservation"} and is_capped(sums):
        fixes = ("remove-leftover-flags", *(fix for fix in fixes if fix != "remove-leftover-flags"))
    return replace(finding, fixes=fixes)


def _seen(frame: Frame) -> Attention | None:
    """The kind of attention that the batch lines show by the pools they name."""
    if frame.timeline.last("swa_usage") is not None:
        return Attention.SWA
    return Attention.MAMBA_HYBRID if frame.timeline.last("mamba_usage") is not None else None


def estimates(analysis: Analysis, fraction: float | None) -> tuple[Estimate, ...]:
    """The levers, at today's fraction or at a what-if."""
    return run_levers(of_analysis(analysis, fraction))
