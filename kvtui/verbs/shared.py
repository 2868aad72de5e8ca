"""What several verbs share: options, exit statuses, and the way from what a person typed to what is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from kvtui.present.terminal import PALETTES
from kvtui.verbs.palette_name import PaletteName

if TYPE_CHECKING:
    from kvtui.domain.process import Discovery, FoundServer
    from kvtui.domain.settings import Settings
    from kvtui.wiring import Request

EXIT_HEALTHY: Final = 0
EXIT_LIMITED: Final = 1
EXIT_USAGE: Final = 2
EXIT_UNREADABLE: Final = 3

MODEL = click.option(
    "--model",
    type=click.Path(path_type=Path, exists=True),
    help="The model's config.json, or its folder, for exact bytes per token.",
)
BOOT = click.option("--boot", type=click.IntRange(min=1), help="Which start in the log to show, 1 for the first. Default: the newest.")
KEY_FILE = click.option(
    "--api-key-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with the server's API key. Default: the variable SGLANG_API_KEY. Never an argument: ps would show it.",
)
LOG = click.option(
    "--log", type=click.Path(exists=True, dir_okay=False), help="The log of the server at TARGET, where it is not found by itself."
)
THEME = click.option(
    "--theme",
    type=PaletteName(),
    metavar="NAME",
    help=f"Palette: {', '.join(PALETTES)}, or one of yours. Default: what the terminal can show.",
)
NO_MOUSE = click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, so that text can be selected.")


def request_of(target: str | FoundServer | None, options: dict[str, Any], settings: Settings) -> Request:
    """What the user asked for; without a target, the server that runs on this machine.

    Raises sources.errors.Unreadable where there is none, or several and nobody to ask.
    """
    from kvtui.wiring import Request, api_key

    key = api_key(options["api_key_file"])
    wanted = target if target is not None else server_here()
    return Request(wanted, options["model"], options["boot"], key, options.get("seconds"), log=options["log"], settings=settings)


def server_here(seen: Discovery | None = None) -> FoundServer:
    """The server that runs on this machine; asks which where there are several. ``seen``: what was found, where that is known.

    Raises sources.errors.Unreadable where there is none, or several and nobody to ask.
    """
    from kvtui.present.found import found_lines, nothing_found
    from kvtui.sources.discovery import discover
    from kvtui.sources.errors import Unreadable

    seen = seen if seen is not None else discover()
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


def unreadable(error: Exception) -> NoReturn:
    """Say why nothing could be read, and end."""
    click.echo(f"kvtui: {error}", err=True)
    sys.exit(EXIT_UNREADABLE)


def has_screen() -> bool:
    """True where a console can be drawn: on a terminal, or on the page of ``kvtui serve``."""
    return sys.stdout.isatty() or "web_driver" in os.environ.get("TEXTUAL_DRIVER", "")


def needs_terminal(what: str) -> None:
    """End with a usage error where standard output is not a terminal. ``what`` begins the sentence."""
    if not has_screen():
        click.echo(f"{what} needs a terminal.", err=True)
        sys.exit(EXIT_USAGE)
