"""The report as a document: sections of sentences and tables, before any format.

Text and Markdown render the same document, so that they cannot say different things.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvtui.domain.account import Account
from kvtui.domain.estimate import Estimate
from kvtui.domain.events import Event
from kvtui.domain.finding import Finding
from kvtui.domain.frame import Analysis
from kvtui.domain.reading import Known, Missing, Reading, optional
from kvtui.domain.samples import DECODE
from kvtui.present import glyphs
from kvtui.present.figures import NONE, cell_text, clock, fraction, gib, gib_text, origin, plural, stamp, tokens, tokens_text, version_text
from kvtui.present.option_names import option_name
from kvtui.present.options import RISKS
from kvtui.present.periods import sentence

MAX_EVENTS = 12
MAX_OPTIONS = 12


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; ``right`` names the columns whose cells are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    title: str
    lines: tuple[str, ...] = ()
    """Sentences, each a paragraph of its own."""
    code: tuple[str, ...] = ()
    """Lines whose layout counts: arithmetic, commands."""
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]


def _identity_line(analysis: Analysis) -> str:
    who = analysis.account.identity
    parts = []
    if isinstance(who.model, Known):
        parts.append(who.model.value)
    elif isinstance(who.architecture, Known):
        parts.append(who.architecture.value)
    parts.append(f"SGLang {version_text(who.version, who.version_span)}")
    sizes = [
        f"{name}{size.value}"
        for name, size in (("TP", who.tp), ("DP", who.dp), ("PP", who.pp))
        if isinstance(size, Known) and (name == "TP" or size.value > 1)
    ]
    parts += sizes
    if isinstance(who.attention, Known):
        parts.append(who.attention.value.value.upper())
    if isinstance(who.kv_dtype, Known):
        parts.append(f"{who.kv_dtype.value} KV")
    return " · ".join(parts)


def _verdict_section(finding: Finding, history: str = "") -> Section:
    mark = glyphs.of_finding(finding)[0]
    lines = [finding.sentence]
    if finding.since is not None:
        lines.append(f"Since {stamp(finding.since)}.")
    lines += [history] if history else []
    lines += [f"Evidence: {e.text}" + (f" ({e.where})" if e.where else "") + "." * (not e.text.endswith(".")) for e in finding.evidence]
    lines += [f"Not {ruled.verdict}: {ruled.why}" for ruled in finding.ruled_out]
    if finding.fixes:
        lines.append("Options: " + "; ".join(option_name(fix) for fix in finding.fixes) + ".")
    lines += list(finding.advice)
    lines += [f"Check afterwards: {text}" for text in finding.verify]
    lines += [f"Missing: {text}" for text in finding.needs]
    return Section(f"{mark} {finding.title} [{finding.id}, {finding.axis}, {finding.confidence} confidence]", tuple(lines))


def _row(name: str, value: str, reading: Reading[float] | Reading[int]) -> tuple[str, str, str]:
    return (name, value, origin(reading.where)) if isinstance(reading, Known) else (name, NONE, reading.reason)


def memory_rows(account: Account) -> tuple[tuple[str, str, str], ...]:
    """Name, value and origin of each figure of the account; what does not apply is left out."""
    rows = [
        _row("free before weights", gib_text(account.pre_gib), account.pre_gib),
        _row("weights", gib_text(account.weights_gib), account.weights_gib),
        _row("free after weights", gib_text(account.post_gib), account.post_gib),
        _row(
            "mem_fraction_static",
            fraction(account.fraction.value) if isinstance(account.fraction, Known) else NONE,
            account.fraction,
        ),
        _row("slack = pre × (1 − f)", gib_text(account.slack_gib), account.slack_gib),
        _row("rest = post − slack", gib_text(account.rest_gib), account.rest_gib),
        _row(
            "cell",
            f"{cell_text(account.cell_bytes.value)} B a token" if isinstance(account.cell_bytes, Known) else NONE,
            account.cell_bytes,
        ),
        _row("KV pool", gib_text(account.kv_gib), account.kv_gib),
        _row("pool, reported", f"{tokens_text(account.tokens_reported)} tokens", account.tokens_reported),
        _row("pool, predicted", f"{tokens_text(account.tokens_predicted)} tokens", account.tokens_predicted),
    ]
    optional_rows: tuple[tuple[str, Reading[float] | Reading[int], str], ...] = (
        ("extras (state, reserves)", account.extras_gib, gib_text(account.extras_gib)),
        ("state pool", account.state_gib, gib_text(account.state_gib)),
        ("state slots", account.state_slots, tokens_text(account.state_slots)),
        ("sliding-window pool", account.swa_tokens, f"{tokens_text(account.swa_tokens)} tokens"),
        ("token cap", account.cap_tokens, f"{tokens_text(account.cap_tokens)} tokens"),
        ("draft weights", account.draft_weights_gib, gib_text(account.draft_weights_gib)),
        ("draft KV", account.draft_kv_gib, gib_text(account.draft_kv_gib)),
        ("CUDA graphs", account.graphs_gib, gib_text(account.graphs_gib)),
        ("context, NCCL", account.context_gib, gib_text(account.context_gib)),
        ("request table", account.req_to_token_gib, gib_text(account.req_to_token_gib)),
        ("context length", account.context_len, tokens_text(account.context_len)),
        ("max_running_requests", account.running_cap, tokens_text(account.running_cap)),
        (
            "HiCache host memory",
            account.host_gb,
            f"{account.host_gb.value:,.2f} GB (decimal)" if isinstance(account.host_gb, Known) else "",
        ),
    )
    rows += [_row(name, text, reading) for name, reading, text in optional_rows if isinstance(reading, Known) and reading.value]
    rows.append(_row("headroom", gib_text(account.headroom_gib), account.headroom_gib))
    return tuple(rows)


def arithmetic(account: Account) -> tuple[str, ...]:
    """The formula with this server's numbers, to be read aloud; shorter where inputs are unknown."""
    pre, post, f, rest, cell = account.pre_gib, account.post_gib, account.fraction, account.rest_gib, account.divisor_bytes
    if not (isinstance(pre, Known) and isinstance(post, Known) and isinstance(f, Known) and isinstance(rest, Known)):
        absent: dict[str, list[str]] = {}
        for name, reading in (("free before weights", pre), ("free after weights", post), ("mem_fraction_static", f)):
            if isinstance(reading, Missing):
                absent.setdefault(reading.reason, []).append(name)
        why = "; ".join(f"{' and '.join(names)}: {reason}" for reason, names in absent.items())
        return (f"cannot be written out: {why}" if why else "cannot be written out",)
    extras = account.extras_gib.value if isinstance(account.extras_gib, Known) else 0.0
    less = f" − {gib(extras)} (state, reserves)" if extras else ""
    lines = [f"rest = {gib(post.value)} − {gib(pre.value)} × (1 − {fraction(f.value)}){less} = {gib(rest.value)} GiB"]
    if isinstance(cell, Known):
        why = f"   {account.cell_formula}" if account.cell_formula else ""
        lines.append(f"     ÷ {cell_text(cell.value)} B a token{why}")
    if isinstance(account.tokens_predicted, Known):
        lines.append(f"     = {tokens(account.tokens_predicted.value)} tokens predicted")
    if isinstance(account.tokens_reported, Known):
        error = account.error_pct
        off = "" if error is None else f" (predicted {error:+.3f}%, rounding allows ±{account.tolerance_tokens:,} tokens)"
        lines.append(f"       {tokens(account.tokens_reported.value)} tokens reported{off}")
    return tuple(lines)


def _memory_section(account: Account) -> Section:
    lines = tuple(f"Difference: {cause}" for cause in account.causes)
    table = Table(("GPU memory, per GPU", "value", "where from"), memory_rows(account), frozenset({1}))
    return Section("Memory", lines, arithmetic(account), table)


def _load_section(analysis: Analysis) -> Section | None:
    timeline = analysis.frame.timeline
    if not len(timeline):
        return None
    rows = []
    for name, column, kind, form in (
        ("running", "running", DECODE, "{:,.0f}"),
        ("queued", "queued", None, "{:,.0f}"),
        ("KV usage", "usage", None, "{:.2f}"),
        ("sliding-window usage", "swa_usage", None, "{:.2f}"),
        ("state usage", "mamba_usage", None, "{:.2f}"),
        ("generation tok/s", "gen_tput", DECODE, "{:,.0f}"),
        ("accept length", "accept_len", DECODE, "{:.2f}"),
    ):
        newest = timeline.last(column, kind)
        if newest is None:
            continue
        known = sorted(v for v in timeline.column(column) if v == v)  # noqa: PLR0124 (nan is the one value unlike itself)
        rows.append((name, form.format(newest[0]), form.format(known[len(known) // 2]), form.format(known[-1]), clock(newest[1])))
    ranks = len({dp for dp in timeline.column("dp") if math.isfinite(dp)})
    each = (f"Figures of one data-parallel rank; {ranks} ranks print lines.",) if ranks > 1 else ()
    table = Table(("load, this boot", "newest", "median", "highest", "at"), tuple(rows), frozenset({1, 2, 3}))
    return Section("Load", each, (), table)


def _mark(estimate: Estimate) -> str:
    """The sign of an option: what it risks, or that it would change nothing here."""
    return glyphs.IDLE if estimate.idle else RISKS[estimate.risk][0]


def _option_row(estimate: Estimate) -> tuple[str, ...]:
    if not estimate.applies:
        return (f"– {estimate.title}", NONE, NONE, NONE, NONE, estimate.why_not)
    speed = estimate.tok_s
    return (
        f"{_mark(estimate)} {estimate.title}",
        tokens(estimate.tokens) if estimate.tokens is not None else NONE,
        f"{estimate.fits:,.0f}" if estimate.fits is not None else NONE,
        f"{speed.low:,.0f}…{speed.high:,.0f}" if speed is not None else NONE,
        gib(estimate.headroom_gib) if estimate.headroom_gib is not None else NONE,
        "; ".join(
            x for x in (estimate.why_not, " ".join(estimate.flags), estimate.risk_text, estimate.tok_s_why if speed is None else "") if x
        ),
    )


def options_section(estimates: tuple[Estimate, ...], ranks: int) -> Section | None:
    """The table of options; None where there are none. ``ranks``: data-parallel ranks of the server."""
    if not estimates:
        return None
    each = (f"Tokens and fits of one data-parallel rank; tok/s of all {ranks}.",) if ranks > 1 else ()
    head = ("option", "tokens", "fits", "tok/s", "headroom GiB", "flags, risk")
    rows = tuple(_option_row(e) for e in estimates[:MAX_OPTIONS])
    return Section("Options, best safe first", each, (), Table(head, rows, frozenset({1, 2, 3, 4})))


def _event_line(event: Event) -> str:
    times = f" ×{event.count}" if event.count > 1 else ""
    when = stamp(event.at) if event.at is not None else "no time"
    return f"{when}  line {event.line:,}  {event.kind}{times}: {event.text}"


def document(analysis: Analysis, target: str) -> Document:
    """The report of one analysis; ``target`` is what was read, secrets removed."""
    frame, boot = analysis.frame, analysis.frame.boot
    past = sentence(analysis.periods)
    sections = [_verdict_section(finding, past if index == 0 else "") for index, finding in enumerate(analysis.findings)]
    sections.append(_memory_section(analysis.account))
    parts = (_load_section(analysis), options_section(analysis.estimates, optional(analysis.account.identity.dp) or 1))
    sections += [section for section in parts if section is not None]
    events = [event for event in frame.events if event.kind not in {"boot", "ready"}]
    if events:
        shown = tuple(_event_line(event) for event in events[-MAX_EVENTS:])
        more = (f"{plural(len(events) - len(shown), 'earlier event')} not shown.",) if len(events) > len(shown) else ()
        sections.append(Section("Events", more, shown))
    notes = (*frame.notes, *(boot.notes if boot is not None else ()), *analysis.account.notes, *analysis.notes)
    if notes:
        sections.append(Section("Notes", tuple(notes)))
    boots = ""
    if len(frame.boots) > 1 and boot is not None:
        boots = f", boot {boot.index + 1} of {len(frame.boots)}"
        boots += f" (started {stamp(boot.begun_at)})" if boot.begun_at is not None else ""
    simulated = "a simulated server · " if any(source.simulated for source in frame.sources) else ""
    return Document(f"kvtui report · {simulated}{target}{boots}", f"{_identity_line(analysis)}   ({_read(analysis)})", tuple(sections))


def _read(analysis: Analysis) -> str:
    """What the report rests on."""
    counts, http = analysis.frame.counts, analysis.frame.http
    parts = []
    if counts.lines or http is None:
        kinds = f"{counts.memory_lines:,} memory, {counts.prefill_lines:,} prefill, {counts.decode_lines:,} decode"
        parts.append(f"{plural(counts.lines, 'line')}: {kinds}")
    else:
        parts.append("no log")
    if http is not None:
        answered = [health.name for health in http.health if health.state == "live"]
        parts.append("answered: " + (", ".join(answered) or "nothing"))
    return "; ".join(parts)
