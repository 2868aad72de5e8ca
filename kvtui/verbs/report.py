"""``kvtui report``: one report on standard output, and an exit status."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.verbs.completion import targets
from kvtui.verbs.configured import CONFIG, configured, opened
from kvtui.verbs.finite import Finite
from kvtui.verbs.shared import BOOT, EXIT_HEALTHY, EXIT_LIMITED, KEY_FILE, LOG, MODEL, request_of, unreadable

if TYPE_CHECKING:
    from kvtui.domain.frame import Analysis


@click.command(short_help="Print verdicts, arithmetic and options, and end.")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), help="Default: text; with --watch, json.")
@click.option("--width", type=click.IntRange(40, 400), help="Columns of the text. Default: the terminal's, at most 140.")
@click.option("--compare", help="Two starts of the log, such as 1,2: what changed between them, and nothing else.")
@MODEL
@BOOT
@KEY_FILE
@LOG
@CONFIG
@click.option("--watch", "watching", is_flag=True, help="Go on, and print one line a change: JSON for scripts, or --format text.")
@click.option(
    "--seconds",
    type=Finite(1, 604_800),
    help="How long to look at a running server. A load is judged from 15 on. Default: about 3; with --watch, until you end it.",
)
def report(target: str | None, form: str | None, width: int | None, compare: str | None, config: Path | None, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Print one report on TARGET: a log, - for a pipe, or the address of a server; without it, on the server of this machine.

    \b
    Exit status: 0 healthy or not enough data, 1 a limit was found,
    2 wrong usage, 3 nothing could be read; with --watch, of the newest verdict.
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    from kvtui.present.report_doc import document
    from kvtui.present.report_json import failure_json, report_json
    from kvtui.present.report_markdown import report_markdown
    from kvtui.present.report_text import report_text
    from kvtui.present.watch import limited
    from kvtui.sources.errors import Unreadable
    from kvtui.wiring import read_once

    watching = options.pop("watching")
    form = form or ("json" if watching else "text")
    if watching and (compare is not None or form == "md"):
        raise click.UsageError("--watch prints lines as json or text: leave --compare and --format md out.")
    if watching and width is not None:
        raise click.UsageError("--watch prints each change as one line, however long: leave --width out.")
    chosen = configured(config, width=(width, "--width") if width is not None else None)
    width = chosen.settings.width
    target, options = opened(chosen, target, options)
    try:
        request = request_of(target, options, chosen.settings)
        if watching:
            from kvtui.verbs.watch import watch

            sys.exit(watch(request, form, options["seconds"]))
        analysis = read_once(request)
    except Unreadable as error:
        if form == "json":
            click.echo(json.dumps(failure_json(str(error)), ensure_ascii=False, indent=None if watching else 2))
        unreadable(error)
    boots = len(analysis.frame.boots)
    if options["boot"] is not None and options["boot"] > boots:
        raise click.UsageError(f"The log shows {boots} start{'s' if boots != 1 else ''}: there is no start {options['boot']}.")
    if compare is not None:
        _compare(analysis, compare, form, width)
        return
    if form == "json":
        text = json.dumps(report_json(analysis), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    elif form == "md":
        text = report_markdown(document(analysis, request.shown))
    else:
        columns = width or min(140, shutil.get_terminal_size((120, 40)).columns)
        text = report_text(document(analysis, request.shown), columns)
    click.echo(text, nl=False)
    sys.exit(EXIT_LIMITED if limited(analysis) else EXIT_HEALTHY)


def _compare(analysis: Analysis, wanted: str, form: str, width: int | None) -> None:
    """Print what differs between two starts; usage error where they are not two of the log's."""
    from kvtui.present.report_compare import comparison_document, comparison_json
    from kvtui.present.report_markdown import report_markdown
    from kvtui.present.report_text import report_text

    boots = analysis.frame.boots
    try:
        left, right = (int(part) - 1 for part in wanted.split(","))
    except ValueError:
        raise click.UsageError("--compare takes two numbers, such as 1,2.") from None
    if not (0 <= left < len(boots) and 0 <= right < len(boots)):
        raise click.UsageError(f"The log shows {len(boots)} start{'s' if len(boots) != 1 else ''}, numbered from 1.")
    if form == "json":
        click.echo(json.dumps(comparison_json(analysis.frame, left, right), ensure_ascii=False, indent=2))
        return
    document = comparison_document(analysis.frame, left, right)
    columns = width or min(140, shutil.get_terminal_size((120, 40)).columns)
    click.echo(report_markdown(document) if form == "md" else report_text(document, columns), nl=False)
