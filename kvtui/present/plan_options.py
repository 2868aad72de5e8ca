"""The levers of a server that does not run yet, below the calculator's arithmetic: text and JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from kvtui.domain.estimate import Estimate
from kvtui.domain.geometry import Geometry
from kvtui.domain.sizing import SizingConfig, SizingError
from kvtui.domain.sizing.deployment import Deployment
from kvtui.options.of_plan import context_of_plan
from kvtui.options.registry import estimates
from kvtui.options.stated import Answer, Stated, what_would_it_take, with_stated
from kvtui.options.stated_text import read_stated, stated_text
from kvtui.present.plan import plan_result, plan_text
from kvtui.present.report_doc import Section, options_section
from kvtui.present.report_json import Json, option_part
from kvtui.present.report_text import section_text


@dataclass(frozen=True, slots=True)
class PlannedOptions:
    """The levers, and what a stated load would take."""

    estimates: tuple[Estimate, ...]
    ranks: int = 1
    stated: Stated | None = None
    answer: Answer | None = None
    why_not: str = ""
    """Why there are no levers; empty where there are."""


def planned_options(geometry: Geometry, deployment: Deployment, stated: Stated | None) -> PlannedOptions:
    """The levers on the planned server, under the stated load where one is given."""
    try:
        context = context_of_plan(geometry, deployment)
    except (SizingError, ValueError) as error:
        return PlannedOptions((), why_not=error.message if isinstance(error, SizingError) else str(error))
    if stated is None:
        return PlannedOptions(estimates(context), context.replicas)
    loaded = with_stated(context, stated)
    told = estimates(loaded)
    return PlannedOptions(told, context.replicas, stated, what_would_it_take(loaded, told, stated))


def options_json(found: PlannedOptions) -> dict[str, Json]:
    """``options`` as in a report, and ``load`` where one was stated."""
    out: dict[str, Json] = {"options": [option_part(estimate) for estimate in found.estimates]}
    if found.answer is not None and found.stated is not None:
        answer = found.answer
        out["load"] = {
            "stated": stated_text(found.stated),
            "answer": answer.sentence,
            "needed_tokens": answer.needed_tokens,
            "fraction": answer.fraction,
            "meets": [
                {"options": list(plan.options), "flags": list(plan.flags), "tokens": plan.tokens, "risk": plan.risk}
                for plan in answer.meets
            ],
            "basis": list(answer.basis),
        }
    return out


def options_text(found: PlannedOptions, width: int) -> str:
    """Both as text of at most ``width`` columns where words allow it; ends without a newline."""
    if found.why_not:
        return f"No options: {found.why_not}"
    lines: list[str] = []
    if found.answer is not None and found.stated is not None:
        ways = [f"{', '.join(plan.flags) or ', '.join(plan.options)} (risk {plan.risk})" for plan in found.answer.meets]
        said = (found.answer.sentence, *(f"way: {way}" for way in ways), *found.answer.basis)
        lines += ["", *section_text(Section(f"For {stated_text(found.stated)}", said), width)]
    section = options_section(found.estimates, found.ranks)
    if section is not None:
        lines += ["", *section_text(section, width)]
    if found.stated is None:
        lines += ["", "No load: gains in tok/s and requests that fit need one, such as --load '64 users, 4k in, 500 out'."]
    return "\n".join(lines)


def plan_document(
    config: SizingConfig, notes: tuple[str, ...], geometry: Geometry, deployment: Deployment, *, load: str | None, priced: bool = True
) -> dict[str, Json]:
    """The calculator's whole answer as data; arguments as ``plan_told``. ``priced``: with what each option would do.

    Raises ValueError with one sentence where the load cannot be read.
    """
    told: dict[str, Json] = {**plan_result(config), "fraction": config.fraction, "assumed": list(notes)}
    return {**told, **options_json(planned_options(geometry, deployment, read_stated(load)))} if priced else told


def plan_told(
    config: SizingConfig, notes: tuple[str, ...], geometry: Geometry, deployment: Deployment, *, load: str | None, form: str, width: int
) -> str:
    """The calculator's whole answer, as text or, where ``form`` is json, as one JSON object.

    ``notes``: what was assumed. ``load``: as typed. Raises ValueError with one sentence where it cannot be read.
    """
    if form == "json":
        return json.dumps(plan_document(config, notes, geometry, deployment, load=load), indent=2, allow_nan=False)
    found = planned_options(geometry, deployment, read_stated(load))
    return "\n".join([plan_text(config), *(f"assumed: {note}" for note in notes), options_text(found, width)])
