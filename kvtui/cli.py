"""The command line: what each word after ``kvtui`` opens."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import click

from kvtui import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VERBS: Final = ("completion", "config", "console", "guide", "palettes", "plan", "report", "serve")
"""Each is the command of that name in ``kvtui.verbs``, imported where it is asked for: the first picture waits for one of them."""


class _ConsoleByDefault(click.Group):
    """``kvtui FILE`` is ``kvtui console FILE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        # Options of the console may come first: kvtui --theme light server.log.
        if args and args[0] not in VERBS and args[0] not in own:
            args = ["console", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's own signature)
        """Every word."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        """The command of a word."""
        return _verb(cmd_name) if cmd_name in VERBS else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and what the console takes without being named."""
        console = _verb("console")
        inner = console.make_context("console", [], parent=ctx, resilient_parsing=True)
        if incomplete.startswith("-"):
            found = console.shell_complete(inner, incomplete)
        else:
            found = next(param for param in console.params if param.name == "target").shell_complete(inner, incomplete)
        return list({item.value: item for item in (*found, *super().shell_complete(ctx, incomplete))}.values())


def _verb(name: str) -> click.Command:
    collects = gc.isenabled()
    # Imports make no garbage worth a search.
    gc.disable()
    try:
        return cast("click.Command", getattr(import_module(f"kvtui.verbs.{name}"), name))
    finally:
        if collects:
            gc.enable()


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
        unset = dict.fromkeys(("target", "theme", "demo", "model", "boot", "api_key_file", "log", "config"))
        ctx.invoke(_verb("console"), **unset, no_mouse=False, speed=1.0)
