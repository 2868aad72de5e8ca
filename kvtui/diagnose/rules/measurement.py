"""V25: a number that people read is not what the server does, or the signals that would tell are switched off."""

from __future__ import annotations

from typing import Final

from kvtui.diagnose.context import Context, proof, read
from kvtui.diagnose.registry import rule
from kvtui.domain.finding import Confidence, Evidence, Finding, Ruled
from kvtui.domain.http_reading import HttpReading
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Known
from kvtui.domain.workload import generated

_RATIO: Final = 0.6
"""Finished over generated tokens a second; below it a counter of finished requests misleads."""
_SLOWEST: Final = 20.0
_SPAN_S: Final = 60.0
_HIDING: Final = frozenset(("warning", "error", "critical"))
_SPARSE: Final = 400

Sign = tuple[str, tuple[Evidence, ...], str]
"""A sentence, its proof, and what to do."""


@rule("measurement")
def measurement(context: Context) -> Finding | None:
    """Finished tokens far below generated ones, frozen gauges, metrics switched off, or a log level that hides the batches."""
    http = context.frame.http
    found = [sign for sign in (_frozen(context, http), _finished(context, http), _no_metrics(http), _hidden(context)) if sign is not None]
    if not found:
        return None
    confidence: Confidence = "medium" if http is not None and http.motion.state in {"gauges-frozen", "loads-frozen"} else "low"
    return Finding(
        id="measurement",
        title="Mind what is measured",
        sentence=found[0][0],
        axis="banner",
        confidence=confidence,
        evidence=tuple(evidence for _, proofs, _ in found for evidence in proofs),
        ruled_out=(Ruled("decode-bandwidth", "settle what is measured before anything is tuned"),),
        advice=tuple(advice for _, _, advice in found),
        verify=("client and server tell the same tokens a second over the same minute of steady load",),
    )


def _frozen(context: Context, http: HttpReading | None) -> Sign | None:
    if http is None or http.motion.state not in {"gauges-frozen", "loads-frozen"}:
        return None
    evidence = Evidence(http.motion.reason, "metric: successive pages", context.stamp(http.motion.gauges_at))
    return http.motion.reason, (evidence,), "Take the numbers that still move; restart the metrics side if they stay frozen."


def _finished(context: Context, http: HttpReading | None) -> Sign | None:
    """``generation_tokens_total`` grows when a request ends: blind to long answers, ramps and aborts."""
    if http is None or http.scheduler_stuck or http.motion.state == "still" or http.motion.rest.since is not None:
        return None
    rates = http.rates
    if not isinstance(rates, Rates) or not isinstance(rates.finished_tok_s, Known) or (read(context.workload.span_s) or 0.0) < _SPAN_S:
        return None
    rate = generated(context.frame.timeline, _SPAN_S)
    made, ended = read(rate), rates.finished_tok_s.value
    if made is None or made < _SLOWEST or ended >= _RATIO * made:
        return None
    aborted = read(rates.aborted_s)
    why = f"; {aborted * 60:.1f} requests a minute are aborted" if aborted else ""
    told = (
        f"Requests that ended in the last minute account for {ended:,.0f} tok/s, and the server generates {made:,.0f}: "
        f"what counts finished requests reads low{why}."
    )
    return (
        told,
        (
            Evidence(f"finished {ended:,.0f} tok/s", str(rates.finished_tok_s.where), context.stamp(rates.at)),
            proof(f"generated {made:,.0f} tok/s", rate),
        ),
        "Compare with sglang:gen_throughput or realtime_tokens_total; ramp, tail, aborts and reasoning tokens are what clients miss.",
    )


def _no_metrics(http: HttpReading | None) -> Sign | None:
    failure = http.failures.get("metrics") if http is not None else None
    if failure is None or failure.kind != "not-found":
        return None
    return (
        "The server runs without metrics: latencies, rates and queues are not told.",
        (Evidence(failure.reason, "http: /metrics"),),
        "Start with --enable-metrics at the next restart; until then kvtui reads the log and /v1/loads.",
    )


def _hidden(context: Context) -> Sign | None:
    """Batch lines that the log would have and does not show."""
    boot = context.frame.boot
    if boot is None or context.sampled or boot.final is None:
        return None
    level, every = (boot.text("log_level") or "").lower(), boot.number("decode_log_interval")
    if level in _HIDING and context.workload.empty:
        setting = boot.settings["log_level"]
        told = f"--log-level {level} hides the batch lines, which tell running, queue, usage and throughput."
        return told, (Evidence(f"log_level {level}", str(setting.where)),), "Start with --log-level info."
    if every is not None and every >= _SPARSE:
        told = f"A decode line comes only each {every:,.0f} steps (--decode-log-interval), so figures are minutes apart."
        setting = boot.settings["decode_log_interval"]
        return told, (Evidence(f"decode_log_interval {every:,.0f}", str(setting.where)),), "Start with --decode-log-interval 40."
    return None
