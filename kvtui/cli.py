"""The command line. Textual is imported only where the console opens."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, cast

import click

from kvtui import __version__
from kvtui.cli_learn import guide, play_demo
from kvtui.engine.late import LateFeed
from kvtui.present.target import is_address, shown
from kvtui.present.terminal import PALETTES

if TYPE_CHECKING:
    from kvtui.domain.frame import Analysis
    from kvtui.domain.process import FoundServer
    from kvtui.ports import Feed
    from kvtui.wiring import Request

EXIT_HEALTHY: Final = 0
EXIT_LIMITED: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREADABLE: Final = 3

_MODEL = click.option(
    "--model",
    type=click.Path(path_type=Path, exists=True),
    help="The model's config.json, or its folder, for exact bytes per token.",
)
_BOOT = click.option("--boot", type=click.IntRange(min=1), help="Which start in the log to show, 1 for the first. Default: the newest.")
_KEY_FILE = click.option(
    "--api-key-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with the server's API key. Default: the variable SGLANG_API_KEY. Never an argument: ps would show it.",
)
_LOG = click.option(
    "--log", type=click.Path(exists=True, dir_okay=False), help="The log of the server at TARGET, where it is not found by itself."
)


class _ConsoleByDefault(click.Group):
    """``kvtui FILE`` is ``kvtui console FILE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        # Options of the console may come first: kvtui --theme light server.log.
        if args and args[0] not in self.commands and args[0] not in own:
            args = ["console", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=_ConsoleByDefault,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    options_metavar="",
    subcommand_metavar="[TARGET] | COMMAND …",
)
@click.version_option(__version__, prog_name="kvtui")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Say what limits an SGLang server, where its GPU memory went, and what can be changed.

    TARGET is a server's address (http://host:30000, or :30000 on this machine) or its log: a file
    (plain, .gz or .zst), or - for a pipe. Without TARGET the server of this machine is found by its
    processes. `report` prints the same without a screen; `--demo` and `guide` need no server. Nothing is ever changed on the server.
    """
    if ctx.invoked_subcommand is None:
        unset = dict.fromkeys(("target", "theme", "demo", "model", "boot", "api_key_file", "log"))
        ctx.invoke(console, **unset, no_mouse=False, speed=1.0)


@main.command(short_help="Open the console (the default).")
@click.argument("target", required=False)
@_MODEL
@_BOOT
@_KEY_FILE
@_LOG
@click.option("--demo", is_flag=False, flag_value="", metavar="[SCENARIO]", help="A simulated server in place of TARGET; list names them.")
@click.option("--speed", type=click.FloatRange(1, 60), default=1.0, help="Seconds of the demo a second, 1 to 60.")
@click.option("--theme", type=click.Choice(PALETTES), help="Palette. Default: what the terminal can show.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, so that text can be selected.")
def console(target: str | None, theme: str | None, no_mouse: bool, demo: str | None, speed: float, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Open the console on TARGET: a log, - for a pipe, or the address of a server; without it, on the server of this machine."""
    if demo is not None:
        if target is not None:
            raise click.UsageError("--demo plays a server of its own: leave TARGET out.")
        sys.exit(play_demo(demo, speed=speed, theme=theme, mouse=not no_mouse))
    if not sys.stdout.isatty():
        click.echo(f"The console needs a terminal. For a pipe or a file use: kvtui report {target or ''}".rstrip(), err=True)
        sys.exit(EXIT_USAGE)
    # Imports make no garbage worth a search; the console turns the collector on again.
    gc.disable()
    from kvtui.ports import RefusedError

    try:
        # What a person may have to be asked, or has mistyped, comes before the screen.
        wanted = target if target is not None else _here()
        stdin = _pipe() if target == "-" else None
        make = partial(_open, wanted, stdin, options)
        there = not isinstance(wanted, str) or is_address(wanted) or wanted == "-" or Path(wanted).exists()
        feed: Feed = LateFeed(make) if there else make()
    except RefusedError as error:
        _unreadable(error)
    from kvtui.app import run_console
    from kvtui.sources.report_file import write_report
    from kvtui.sources.saved_plans import SavedPlans

    called = shown(wanted) if isinstance(wanted, str) else wanted.shown
    sys.exit(run_console(feed, theme=theme, mouse=not no_mouse, target=called, shelf=SavedPlans(), write_report=write_report))


def _open(wanted: str | FoundServer, stdin: BinaryIO | None, options: dict[str, Any]) -> Feed:
    """The feed of the console; raises ports.RefusedError."""
    from kvtui.wiring import open_feed

    return open_feed(replace(_request(wanted, options), stdin=stdin))


def _pipe() -> BinaryIO:
    """What is piped in; keys come from the terminal itself from here on.

    Raises sources.errors.Unreadable where nothing is piped, or there is no terminal for keys.
    """
    from kvtui.sources.errors import Unreadable

    if sys.stdin.isatty():
        raise Unreadable("Nothing is piped in: docker logs -f NAME 2>&1 | kvtui -")
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        raise Unreadable("There is no terminal to read keys from: use kvtui report -") from None
    data = cast("BinaryIO", os.fdopen(os.dup(0), "rb", buffering=0))
    # The screen reads keys from descriptor 0: it must be the terminal, or it would eat the log.
    os.dup2(terminal, 0)
    os.close(terminal)
    return data


def _request(target: str | FoundServer | None, options: dict[str, Any]) -> Request:
    """What the user asked for; without a target, the server that runs on this machine.

    Raises sources.errors.Unreadable where there is none, or several and nobody to ask.
    """
    from kvtui.wiring import Request, api_key

    key = api_key(options["api_key_file"])
    wanted = target if target is not None else _here()
    return Request(wanted, options["model"], options["boot"], key, options.get("seconds"), log=options["log"])


def _here() -> FoundServer:
    from kvtui.present.found import found_lines, nothing_found
    from kvtui.sources.discovery import discover
    from kvtui.sources.errors import Unreadable

    seen = discover()
    if not seen.servers:
        raise Unreadable(nothing_found(seen))
    if len(seen.servers) == 1:
        return seen.servers[0]
    lines = found_lines(seen)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Unreadable("Several servers run here; name one:\n" + "\n".join(lines))
    click.echo("Several servers run here:", err=True)
    for line in lines:
        click.echo(line, err=True)
    return seen.servers[click.prompt("Which one", type=click.IntRange(1, len(lines)), err=True) - 1]


def _unreadable(error: Exception) -> NoReturn:
    click.echo(f"kvtui: {error}", err=True)
    sys.exit(EXIT_UNREADABLE)


@main.command(short_help="Print verdicts, arithmetic and options, and end.")
@click.argument("target", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json", "md"]), default="text", show_default=True)
@click.option("--width", type=click.IntRange(40, 400), help="Columns of the text. Default: the terminal's, at most 140.")
@click.option("--compare", help="Two starts of the log, such as 1,2: what changed between them, and nothing else.")
@_MODEL
@_BOOT
@_KEY_FILE
@_LOG
@click.option(
    "--seconds", type=click.FloatRange(1, 3600), help="How long to look at a running server. A load is judged from 15 on. Default: about 3."
)
def report(target: str | None, form: str, width: int | None, compare: str | None, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Print one report on TARGET: a log, - for a pipe, or the address of a server; without it, on the server of this machine.

    \b
    Exit status: 0 healthy or not enough data, 1 a limit was found,
    2 wrong usage, 3 nothing could be read.
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    from kvtui.present.report_doc import document
    from kvtui.present.report_json import failure_json, report_json
    from kvtui.present.report_markdown import report_markdown
    from kvtui.present.report_text import report_text
    from kvtui.sources.errors import Unreadable
    from kvtui.wiring import read_once

    try:
        request = _request(target, options)
        analysis = read_once(request)
    except Unreadable as error:
        if form == "json":
            click.echo(json.dumps(failure_json(str(error)), ensure_ascii=False, indent=2))
        _unreadable(error)
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
    first = analysis.findings[0].id if analysis.findings else "not-enough-data"
    sys.exit(EXIT_HEALTHY if first in {"healthy", "not-enough-data"} else EXIT_LIMITED)


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


@main.command(short_help="Compute a server's pool without a server.")
@click.argument("model", required=False)
@click.option("--json-lines", is_flag=True, help="Read one JSON configuration a line from standard input, write one result a line.")
@click.option("--sglang", default="", help="SGLang release, such as 0.5.9. Default: the newest known.")
@click.option("--pre", type=float, help="Free before weights, GiB: 'Load weight begin. avail mem'.")
@click.option("--post", type=float, help="Free after weights, GiB: 'Load weight end. avail mem'.")
@click.option("--weights", type=float, help="Weights on one GPU, GiB, in place of --pre or --post.")
@click.option("--fraction", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="mem_fraction_static.")
@click.option("--gpu-memory", type=float, help="The card's memory as nvidia-smi prints it, MiB, for the automatic fraction.")
@click.option("--tp", type=click.IntRange(1), default=1, show_default=True, help="Tensor-parallel size.")
@click.option("--pp", type=click.IntRange(1), default=1, show_default=True, help="Pipeline-parallel size.")
@click.option("--dp", type=click.IntRange(1), default=1, show_default=True, help="Data-parallel size.")
@click.option("--dp-attention", is_flag=True, help="Data-parallel attention.")
@click.option("--kv-cache-dtype", default="auto", show_default=True, help="auto, bf16, fp8_e4m3, fp8_e5m2, fp4_e2m1.")
@click.option("--page-size", type=click.IntRange(1), default=1, show_default=True, help="Tokens a page.")
@click.option("--context-length", type=click.IntRange(1), help="Default: the model's own.")
@click.option("--max-running-requests", type=click.IntRange(1))
@click.option("--max-total-tokens", type=click.IntRange(1))
@click.option(
    "--speculative-algorithm", type=click.Choice(["EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "DFLASH"], case_sensitive=False)
)
@click.option("--swa-full-tokens-ratio", type=float, help="Sliding-window models.")
@click.option("--mamba-full-memory-ratio", type=float, help="Hybrid state models.")
@click.option("--disable-radix-cache", is_flag=True)
@click.option("--load", help="What it is to serve, such as '64 users, 4k in, 500 out, 900 tok/s': the options answer for it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def plan(model: str | None, form: str, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Compute the KV pool of MODEL, and price what can be changed: a config.json, its folder, or a known name such as Kimi-K2.5.

    \b
    kvtui plan Kimi-K2.5 --sglang 0.5.9 --tp 8 --pre 94.04 --post 21.71 --fraction 0.88
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    from kvtui.present.plan import plan_line

    if options["json_lines"] and model is not None:
        raise click.UsageError("--json-lines takes its models from standard input: leave MODEL out.")
    if options["json_lines"]:
        for line in sys.stdin:
            if line.strip():
                click.echo(json.dumps(plan_line(line)))
        return
    if model is None:
        raise click.UsageError("Name a model, or use --json-lines.")
    from kvtui.present.plan_options import plan_told
    from kvtui.sources.errors import Unreadable
    from kvtui.wiring import planned

    width = min(140, shutil.get_terminal_size((120, 40)).columns)
    try:
        found = planned(model, options)
        click.echo(plan_told(found.config, found.notes, found.geometry, found.deployment, load=options["load"], form=form, width=width))
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    except Unreadable as error:
        _unreadable(error)


main.add_command(guide)
