"""``kvtui [TARGET]``: the console. Textual is imported only here, once a screen will open."""

from __future__ import annotations

import gc
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import click

from kvtui.engine.late import LateFeed
from kvtui.present.target import is_address, shown
from kvtui.verbs.completion import scenarios, targets
from kvtui.verbs.configured import CONFIG, configured, of_screen, opened
from kvtui.verbs.finite import Finite
from kvtui.verbs.shared import BOOT, EXIT_USAGE, KEY_FILE, LOG, MODEL, NO_MOUSE, THEME, has_screen, request_of, unreadable

if TYPE_CHECKING:
    from kvtui.domain.process import FoundServer
    from kvtui.domain.settings import Settings
    from kvtui.ports import Feed


@click.command(short_help="Open the console (the default).")
@click.argument("target", required=False, shell_complete=targets)
@MODEL
@BOOT
@KEY_FILE
@LOG
@click.option(
    "--demo",
    is_flag=False,
    flag_value="",
    metavar="[SCENARIO]",
    shell_complete=scenarios,
    help="A simulated server in place of TARGET; list names them.",
)
@click.option("--speed", type=Finite(1, 60), default=1.0, help="Seconds of the demo a second, 1 to 60.")
@THEME
@NO_MOUSE
@CONFIG
def console(target: str | None, demo: str | None, speed: float, config: Path | None, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Open the console on TARGET: a log, - for a pipe, or the address of a server; without it, on the server of this machine."""
    given = of_screen(options.pop("theme"), no_mouse=options.pop("no_mouse"))
    if demo is not None:
        if target is not None:
            raise click.UsageError("--demo plays a server of its own: leave TARGET out.")
        from kvtui.verbs.guide import play_demo

        sys.exit(play_demo(demo, speed=speed, config=config, given=given))
    if not has_screen():
        click.echo(f"The console needs a terminal. For a pipe or a file use: kvtui report {target or ''}".rstrip(), err=True)
        sys.exit(EXIT_USAGE)
    # Imports make no garbage worth a search; the console turns the collector on again.
    gc.disable()
    chosen = configured(config, **given)
    name, (target, options) = target, opened(chosen, target, options)
    from kvtui.ports import RefusedError

    try:
        # What a person may have to be asked, or has mistyped, comes before the screen.
        wanted: str | FoundServer | None = target
        if wanted is None:
            from kvtui.verbs.searched import wanted_here

            wanted, options = wanted_here(chosen, options, config, given)
        stdin = _pipe() if target == "-" else None
        make = partial(_open, wanted, stdin, options, chosen.settings)
        there = not isinstance(wanted, str) or is_address(wanted) or wanted == "-" or Path(wanted).exists()
        feed: Feed = LateFeed(make) if there else make()
    except RefusedError as error:
        unreadable(error)
    from kvtui.app import run_console
    from kvtui.sources.report_file import write_report
    from kvtui.sources.saved_plans import SavedPlans
    from kvtui.sources.user_palettes import user_palettes

    called = shown(wanted) if isinstance(wanted, str) else wanted.shown
    called = called if name == target else f"{name} · {called}"
    sys.exit(
        run_console(
            feed,
            chosen.settings,
            palettes=user_palettes,
            target=called,
            shelf=SavedPlans(),
            write_report=write_report,
        )
    )


def _open(wanted: str | FoundServer, stdin: BinaryIO | None, options: dict[str, Any], settings: Settings) -> Feed:
    """The feed of the console; raises ports.RefusedError."""
    from kvtui.wiring import open_feed

    return open_feed(replace(request_of(wanted, options, settings), stdin=stdin))


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
