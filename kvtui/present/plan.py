"""The calculator's answer: for a program (one JSON object) and for a person (the arithmetic written out)."""

from __future__ import annotations

from kvtui.domain.sizing import Sizing, SizingConfig, SizingError, size
from kvtui.parse.plan_config import parse_plan
from kvtui.present.report_json import Json


def plan_line(line: str) -> dict[str, Json]:
    """The result of one line of ``kvtui plan --json-lines``; never raises."""
    try:
        config = parse_plan(line)
    except ValueError as error:
        return {"error": str(error), "kind": "invalid"}
    return plan_result(config)


def plan_result(config: SizingConfig) -> dict[str, Json]:
    """A configuration's pools as data, or ``{"error", "kind"}`` where there are none.

    ``full`` and ``swa`` are null where the model has one pool, ``mamba`` where it keeps no states.
    """
    try:
        sized = size(config)
    except SizingError as error:
        return {"error": error.message, "kind": error.kind}
    return {
        "tokens": sized.tokens,
        "full": sized.full,
        "swa": sized.swa,
        "reqs": sized.reqs,
        "mamba": sized.mamba,
        "cell_bytes": sized.cell.bytes,
        "rest_gib": round(sized.rest_gib, 4),
        "kv_gib": round(sized.kv_gib, 4),
        "notes": [*sized.notes],
    }


def plan_text(config: SizingConfig) -> str:
    """The arithmetic of one configuration, written out to be read aloud; ends without a newline."""
    try:
        sized = size(config)
    except SizingError as error:
        return f"No pool: {error.message}"
    rows = [*_budget_rows(config, sized), *_pool_rows(config, sized)]
    width = max(len(name) for name, _ in rows)
    return "\n".join([*(f"{name:<{width}}  {text}" for name, text in rows), *(f"note: {note}" for note in sized.notes)])


def _budget_rows(config: SizingConfig, sized: Sizing) -> list[tuple[str, str]]:
    """From free memory to what becomes the pool."""
    pre, post, fraction = config.pre or 0.0, config.post or 0.0, config.fraction or 0.0
    slack = pre * (1 - fraction)
    rows = [
        ("free before weights", f"{pre:.2f} GiB"),
        ("free after weights", f"{post:.2f} GiB"),
        ("slack", f"{pre:.2f} × (1 − {fraction:g}) = {slack:.2f} GiB"),
    ]
    taken = [f"{slack:.2f}"]
    if sized.reserve_gib:
        rows.append(("multimodal reserve", f"{sized.reserve_gib:.2f} GiB"))
        taken.append(f"{sized.reserve_gib:.2f}")
    if sized.mamba is not None:
        rows.append(("state pool", f"{sized.mamba:,} slots, {sized.state_gib:.2f} GiB"))
        taken.append(f"{sized.state_gib:.2f}")
    rows.append(("rest for the pool", f"{post:.2f} − {' − '.join(taken)} = {sized.rest_gib:.2f} GiB"))
    return rows


def _pool_rows(config: SizingConfig, sized: Sizing) -> list[tuple[str, str]]:
    """From the rest to tokens and requests."""
    fixed = f"({sized.rest_gib:.4f} − {sized.fixed_gib:.4f})" if sized.fixed_gib else f"{sized.rest_gib:.4f}"
    per_token = f"{sized.cell.bytes:,.2f}".rstrip("0").rstrip(".")
    rows = [
        ("cell", f"{sized.cell.formula} = {per_token} B"),
        ("pool", f"{fixed} GiB ÷ {per_token} B = {sized.uncapped:,} tokens (pages of {config.page_size})"),
    ]
    if sized.tokens != sized.uncapped:
        rows.append(("cap", f"max_total_tokens {config.max_total_tokens or 0:,} → {sized.tokens:,} tokens"))
    if sized.swa is not None:
        rows.append(("window pool", f"{sized.swa:,} tokens"))
    rows.append(("max_total_num_tokens", f"{sized.tokens:,} ({sized.kv_gib:.2f} GiB)"))
    if sized.reqs is not None:
        rows.append(("max_running_requests", f"{sized.reqs:,}"))
    if sized.req_slots is not None and config.context_len is not None:
        table = sized.req_slots * (config.context_len + 4 + config.draft_tokens) * 4
        rows.append(("req_to_token", f"{sized.req_slots:,} × {config.context_len:,} × 4 B = {table / (1 << 30):.2f} GiB, out of the slack"))
    return rows
