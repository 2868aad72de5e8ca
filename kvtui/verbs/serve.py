"""``kvtui serve [TARGET]``: the console in a browser of this machine, or of one that forwards a port."""

from __future__ import annotations

import importlib.util
import ipaddress
import sys
from pathlib import Path
from typing import Any, Final

import click

from kvtui.present.target import is_address, shown
from kvtui.verbs.completion import scenarios, targets
from kvtui.verbs.configured import CONFIG, configured, of_screen, opened
from kvtui.verbs.shared import BOOT, EXIT_USAGE, KEY_FILE, LOG, MODEL, THEME, unreadable

EXTRA: Final = "kvtui serve needs textual-serve, an optional part: pip install 'kvtui[serve]'"
PORT: Final = 8000


class Loopback(click.ParamType):  # type: ignore[type-arg] # not generic in each release of click
    """An address that only this machine can reach."""

    name = "loopback"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 (click's signature)
        """The address; a usage error, with the way that is open, for one that others can reach."""
        told = "127.0.0.1" if value == "localhost" else str(value)
        try:
            address = ipaddress.ip_address(told)
        except ValueError:
            address = None
        if address is None or not address.is_loopback:
            port = (ctx.params.get("port") if ctx is not None else None) or PORT
            self.fail(f"the console is served to this machine alone. From another one: {forwarded('127.0.0.1', port)}", param, ctx)
        return told


@click.command(short_help="Show the console in a browser, on this machine alone.")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--port", type=click.IntRange(1, 65_535), default=PORT, show_default=True, is_eager=True, help="Port of the page.")
@click.option("--host", type=Loopback(), default="127.0.0.1", show_default=True, help="Loopback address to listen on; no other is taken.")
@MODEL
@BOOT
@KEY_FILE
@LOG
@click.option(
    "--demo", is_flag=False, flag_value="", metavar="[SCENARIO]", shell_complete=scenarios, help="A simulated server in place of TARGET."
)
@click.option("--speed", type=click.FloatRange(1, 60), help="Seconds of the demo a second, 1 to 60.")
@THEME
@CONFIG
def serve(target: str | None, host: str, port: int, demo: str | None, **options: Any) -> None:  # noqa: ANN401 (click hands over one value an option)
    """Serve the console on TARGET, the address or the log of a server; without it, on the server of this machine.

    The page is reached with the key in the address that is printed, from this machine or over a forwarded
    port. Each open page is a console of its own. As everywhere, nothing is changed on the server.
    """
    if importlib.util.find_spec("textual_serve") is None:
        click.echo(EXTRA, err=True)
        sys.exit(EXIT_USAGE)
    if demo is not None and target is not None:
        raise click.UsageError("--demo plays a server of its own: leave TARGET out.")
    chosen = configured(options["config"], **of_screen(options["theme"], no_mouse=False))
    read, _ = opened(chosen, target, dict(options))
    # A name of the configuration stays one: its address may hold what ps must not show.
    if read == target:
        _check(target, demo)
    from kvtui.verbs.web import serve_console

    words = console_words(target, demo, options)
    try:
        serve_console(words, host, port, click.echo, forwarded(host, port))
    except OSError as error:
        raise click.UsageError(f"{host}:{port} cannot be listened on: {error.strerror or error}. Another port: --port") from None


def forwarded(host: str, port: int) -> str:
    """The command that brings the page to another machine."""
    return f"ssh -L {port}:{f'[{host}]' if ':' in host else host}:{port} THIS-HOST"


def console_words(target: str | None, demo: str | None, options: dict[str, Any]) -> list[str]:
    """The console's command line: what ``serve`` was given, and how this kvtui was started."""
    words = ["console"]
    for name, value in {"demo": demo, **options}.items():
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}" if value != "" else f"--{name}")
    # What follows -- is no option, whatever it is called.
    words += ["--", target] if target is not None else []
    own = Path(sys.argv[0])
    # As a module the folder it is started in comes first on Python's path: any kvtui.py there would be run.
    return [str(own.resolve()), *words] if own.name == "kvtui" and own.is_file() else [sys.executable, "-m", "kvtui", *words]


def _check(target: str | None, demo: str | None) -> None:
    """What a person has mistyped is said here: a page could only say that its console ended."""
    from kvtui.sources.errors import Unreadable

    try:
        if demo is not None:
            _check_demo(demo)
        elif target is None:
            _check_machine()
        else:
            _check_target(target)
    except Unreadable as error:
        unreadable(error)


def _check_target(target: str) -> None:
    from kvtui.sources.errors import Unreadable

    if target == "-":
        raise Unreadable("A pipe can be read once, and each page is a console of its own: serve an address or a file.")
    if not is_address(target):
        if not Path(target).exists():
            raise Unreadable(f"{target}: no such file.")
    elif shown(target) != target:
        raise Unreadable("The address holds a secret, which ps would show: leave it out and use --api-key-file or SGLANG_API_KEY.")


def _check_demo(scenario: str) -> None:
    from kvtui.staging import open_demo

    try:
        open_demo(scenario or None, speed=1.0)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _check_machine() -> None:
    from kvtui.present.found import found_lines, nothing_found
    from kvtui.sources.discovery import discover
    from kvtui.sources.errors import Unreadable

    seen = discover()
    if not seen.servers:
        raise Unreadable(nothing_found(seen))
    if len(seen.servers) > 1:
        raise Unreadable("Several servers run here; name one:\n" + "\n".join(found_lines(seen)))
