"""``kvtui plan --json-lines``: one configuration a line in, one result a line out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from kvtui.verbs.shared import EXIT_UNREADABLE

if TYPE_CHECKING:
    from kvtui.present.report_json import Json

EXIT_SOME_FAILED: Final = 1
SCHEMA: Final = """\b
With --json-lines each line of standard input is one JSON object, in one of two forms:
  a server   {"model": "Kimi-K2.5", "tp": 8, "pre": 94.04, "post": 21.71, "fraction": 0.88}
             model: a config.json, its folder, or a known name; other keys: the options of
             this command without dashes (kv_cache_dtype, gpu_memory, ...), "load" among
             them. "options": true adds what each option would do; a load does so too.
             Options on the command line hold for every such line that does not set them.
  the sizes  {"type": "mla", "pre": ..., "post": ..., "mem_fraction": ..., "attn_tp": ...,
             "num_hidden_layers": ..., "kv_lora_rank": ..., "sglang_version": "0.5.9"}
             type: mha, mla, dsa or dsv4; no model is looked up and nothing is priced.
Each gives one line: {"tokens", "full", "swa", "reqs", "mamba", "cell_bytes", "rest_gib",
"kv_gib", "notes"}, a server also "fraction", "assumed" and, where asked for, "options" and
"load" as in kvtui report --format json; or {"error", "kind"}. Unknown values are null.

\b
Exit status: 0 every line has a result, 1 some have an error, 2 wrong usage,
3 nothing could be computed.
"""
_NOT_A_LINES: Final = frozenset({"json_lines", "form"})
_LONGEST: Final = 1 << 20
"""Characters of a line that are read."""


def answer_lines(lines: Iterable[str], verb: click.Command, given: Mapping[str, Any]) -> int:
    """Write one result a line; gives the exit status. ``given``: options of the command line, for lines that name a model."""
    good = bad = 0
    for line in lines:
        if line.strip():
            found = answer(line, verb, given)
            click.echo(json.dumps(found, allow_nan=False))
            good, bad = good + ("error" not in found), bad + ("error" in found)
    if bad and not good:
        return EXIT_UNREADABLE
    return EXIT_SOME_FAILED if bad else 0


def answer(line: str, verb: click.Command, given: Mapping[str, Any]) -> Mapping[str, Json]:
    """The result of one line, or its error; never raises for what a line holds."""
    from kvtui.present.plan import plan_line

    try:
        body = json.loads(line) if len(line) <= _LONGEST else None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or "model" not in body:
        return plan_line(line)
    try:
        return _server(body, verb, given)
    except (ValueError, click.BadParameter) as error:
        return {"error": error.format_message() if isinstance(error, click.BadParameter) else str(error), "kind": "invalid"}


def _server(body: Mapping[str, object], verb: click.Command, given: Mapping[str, Any]) -> Mapping[str, Json]:
    """A line that names a model. Raises ValueError or click.BadParameter with what is wrong."""
    from kvtui.present.plan_options import plan_document
    from kvtui.sources.errors import Unreadable
    from kvtui.wiring import planned

    known = {p.name: p for p in verb.params if isinstance(p, click.Option) and p.name not in _NOT_A_LINES}
    options, priced, model = dict(given), body.get("options", False), body["model"]
    if not isinstance(model, str) or not model:
        raise ValueError("model must be a file, a folder or a name.")
    if not isinstance(priced, bool):
        raise ValueError("options must be true or false.")  # noqa: TRY004 (one kind of error for the caller)
    for key, value in body.items():
        if key in {"model", "options"} or value is None:
            continue
        if key not in known:
            raise ValueError(f"{key[:40]} is not a key of a line.")
        options[key] = _value(known[key], value)
    try:
        found = planned(model, options)
    except Unreadable as error:
        return {"error": str(error), "kind": "unreadable"}
    load = options["load"]
    return plan_document(found.config, found.notes, found.geometry, found.deployment, load=load, priced=priced or load is not None)


def _value(option: click.Option, value: object) -> object:
    """A value as the command line would have read it."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"{option.name} must be true or false.")
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"{option.name} must be a number or text.")  # noqa: TRY004 (one kind of error for the caller)
    whole = isinstance(value, float) and value.is_integer() and isinstance(option.type, click.IntRange)
    return option.type.convert(str(int(value) if whole else value), option, None)
