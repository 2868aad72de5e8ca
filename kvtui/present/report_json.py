"""The report as one JSON object: the contract of DESIGN.md section 3. Keys may be added, none renamed."""

from __future__ import annotations

import math
from typing import Union

from kvtui.domain.account import Account, Identity
from kvtui.domain.boot import Boot
from kvtui.domain.estimate import Estimate
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Analysis, Frame
from kvtui.domain.periods import Period
from kvtui.domain.reading import Known, Missing, Reading, optional
from kvtui.domain.samples import DECODE
from kvtui.present.figures import stamp

Json = Union[str, int, float, bool, None, list["Json"], dict[str, "Json"]]

SCHEMA = 1


def _number(value: float | None, digits: int = 4) -> Json:
    """A number fit for JSON: NaN and infinities are null, whole numbers stay whole."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else round(value, digits)


def _reading(reading: Known[float] | Known[int] | Missing, digits: int = 4) -> Json:
    return _number(reading.value, digits) if isinstance(reading, Known) else None


def _text(reading: Reading[str]) -> Json:
    return optional(reading)


def server_part(identity: Identity, boot: Boot | None) -> dict[str, Json]:
    """The ``server`` object: which server this is."""
    attention = identity.attention
    return {
        "version": _text(identity.version),
        "model": _text(identity.model),
        "architecture": _text(identity.architecture),
        "attention": attention.value.value if isinstance(attention, Known) else None,
        "tp": _reading(identity.tp),
        "dp": _reading(identity.dp),
        "pp": _reading(identity.pp),
        "dp_attention": identity.dp_attention,
        "kv_dtype": _text(identity.kv_dtype),
        "page_size": _reading(identity.page_size),
        "geometry": identity.geometry_source,
        "state": boot.state if boot is not None else None,
        "started": stamp(boot.begun_at) if boot is not None and boot.begun_at is not None else None,
        "launch_command": boot.launch_command if boot is not None else None,
    }


def memory_part(account: Account) -> dict[str, Json]:
    """The ``memory`` object: the arithmetic, GiB and bytes per GPU."""
    error = account.error_pct
    numbers: dict[str, Json] = {
        "fraction": _reading(account.fraction),
        "pre_gib": _reading(account.pre_gib),
        "post_gib": _reading(account.post_gib),
        "slack_gib": _reading(account.slack_gib),
        "extras_gib": _reading(account.extras_gib),
        "rest_gib": _reading(account.rest_gib),
        "cell_bytes": _reading(account.cell_bytes, 2),
        "cell_basis": account.cell_basis,
        "cell_formula": account.cell_formula or None,
        "divisor_bytes": _reading(account.divisor_bytes, 2),
        "kv_gib": _reading(account.kv_gib),
        "tokens_predicted": _reading(account.tokens_predicted),
        "tokens_reported": _reading(account.tokens_reported),
        "tolerance_tokens": account.tolerance_tokens,
        "error_pct": None if error is None else round(error, 4),
        "swa_tokens": _reading(account.swa_tokens),
        "state_slots": _reading(account.state_slots),
        "state_gib": _reading(account.state_gib),
        "cap_tokens": _reading(account.cap_tokens),
        "running_cap": _reading(account.running_cap),
        "running_cap_why": account.running_cap_why or None,
        "context_len": _reading(account.context_len),
        "headroom_gib": _reading(account.headroom_gib),
        "weights_gib": _reading(account.weights_gib),
        "draft_weights_gib": _reading(account.draft_weights_gib),
        "draft_kv_gib": _reading(account.draft_kv_gib),
        "graphs_gib": _reading(account.graphs_gib),
        "context_gib": _reading(account.context_gib),
        "req_to_token_gib": _reading(account.req_to_token_gib),
        "host_gb": _reading(account.host_gb),
    }
    numbers["causes"] = list(account.causes)
    named = _named(account)
    # What the formula gives stands beside its parts, whose places are told.
    places = {name: reading for name, reading in named.items() if name != "tokens_predicted"}
    numbers["where"] = {name: str(reading.where) for name, reading in places.items() if isinstance(reading, Known)}
    numbers["unknown"] = {name: reading.reason for name, reading in named.items() if isinstance(reading, Missing)}
    return numbers


def _named(account: Account) -> dict[str, Known[float] | Known[int] | Missing]:
    """The readings of the arithmetic whose place, or why there is none, is told."""
    return {
        "fraction": account.fraction,
        "pre_gib": account.pre_gib,
        "post_gib": account.post_gib,
        "cell_bytes": account.cell_bytes,
        "kv_gib": account.kv_gib,
        "tokens_predicted": account.tokens_predicted,
        "tokens_reported": account.tokens_reported,
        "headroom_gib": account.headroom_gib,
    }


def verdict_part(finding: Finding) -> dict[str, Json]:
    """One entry of ``verdicts``."""
    return {
        "id": finding.id,
        "title": finding.title,
        "sentence": finding.sentence,
        "axis": finding.axis,
        "confidence": finding.confidence,
        "since": stamp(finding.since) if finding.since is not None else None,
        "evidence": [f"{e.text} ({e.where})" if e.where else e.text for e in finding.evidence],
        "ruled_out": [{"id": r.verdict, "why": r.why} for r in finding.ruled_out],
        "fixes": list(finding.fixes),
        "advice": list(finding.advice),
        "verify": list(finding.verify),
        "needs": list(finding.needs),
    }


def period_part(period: Period) -> dict[str, Json]:
    """One entry of ``history``: a stretch of time with one primary verdict; ``until`` is null where it still holds."""
    return {
        "from": stamp(period.begin),
        "until": stamp(period.end) if period.end is not None else None,
        "id": period.id,
        "title": period.title,
        "confidence": period.confidence,
        "step": period.step,
    }


def option_part(estimate: Estimate) -> dict[str, Json]:
    """One entry of ``options``."""
    speed = estimate.tok_s
    return {
        "id": estimate.id,
        "title": estimate.title,
        "applies": estimate.applies,
        "why_not": estimate.why_not or None,
        "flags": list(estimate.flags),
        "tokens": estimate.tokens,
        "fits": _number(estimate.fits, 1),
        "fits_basis": estimate.fits_basis or None,
        "tok_s": None
        if speed is None
        else {"low": _number(speed.low, 1), "mid": _number(speed.mid, 1), "high": _number(speed.high, 1), "basis": speed.basis},
        "tok_s_why": estimate.tok_s_why or None,
        "headroom_gib": _number(estimate.headroom_gib, 2),
        "host_gb": _number(estimate.host_gb, 1),
        "risk": estimate.risk,
        "risk_text": estimate.risk_text or None,
        "restart": estimate.restart,
        "verify": estimate.verify or None,
        "notes": list(estimate.notes),
    }


def _load_part(frame: Frame) -> dict[str, Json]:
    def newest(name: str, kind: float | None = None) -> Json:
        found = frame.timeline.last(name, kind)
        return _number(found[0]) if found is not None else None

    return {
        "running": newest("running", DECODE),
        "queued": newest("queued"),
        "usage": newest("usage"),
        "swa_usage": newest("swa_usage"),
        "mamba_usage": newest("mamba_usage"),
        "gen_tok_s": newest("gen_tput"),
        "accept_len": newest("accept_len"),
        "samples": len(frame.timeline),
        "first": stamp(frame.timeline.span[0]) if frame.timeline.span else None,
        "last": stamp(frame.timeline.span[1]) if frame.timeline.span else None,
    }


def _boots_part(frame: Frame) -> list[Json]:
    return [
        {
            "index": boot.index,
            "started": stamp(boot.begun_at) if boot.begun_at is not None else None,
            "lines": [boot.first_line, boot.last_line],
            "state": boot.state,
            "tokens": boot.final.max_total_num_tokens if boot.final is not None else None,
            "fraction": boot.number("mem_fraction_static"),
        }
        for boot in frame.boots
    ]


def failure_json(reason: str) -> dict[str, Json]:
    """The same object where nothing could be read: everything unknown, and why."""
    return {"schema": SCHEMA, "server": {}, "memory": {}, "verdicts": [], "history": [], "options": [], "notes": [reason]}


def report_json(analysis: Analysis) -> dict[str, Json]:
    """The whole report; unknown values are null, and ``memory.unknown`` says why."""
    frame, boot = analysis.frame, analysis.frame.boot
    counts = frame.counts
    return {
        "schema": SCHEMA,
        "server": server_part(analysis.account.identity, boot),
        "memory": memory_part(analysis.account),
        "verdicts": [verdict_part(finding) for finding in analysis.findings],
        "history": [period_part(period) for period in analysis.periods],
        "options": [option_part(estimate) for estimate in analysis.estimates],
        "load": _load_part(frame),
        "boots": _boots_part(frame),
        "events": [
            {"kind": e.kind, "at": stamp(e.at) if e.at is not None else None, "line": e.line, "count": e.count, "text": e.text}
            for e in frame.events[-50:]
        ],
        "read": {
            "lines": counts.lines,
            "memory_lines": counts.memory_lines,
            "prefill_lines": counts.prefill_lines,
            "decode_lines": counts.decode_lines,
            "batch_lines_thinned": counts.batch_lines_thinned,
            "unreadable_lines": counts.unreadable_lines,
        },
        "notes": [*frame.notes, *(boot.notes if boot is not None else ()), *analysis.account.notes, *analysis.notes],
    }
