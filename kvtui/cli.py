"""The command line: what each word after ``kvtui`` opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kvtui import __version__
from kvtui.verbs.completion import completion
from kvtui.verbs.config import config
from kvtui.verbs.console import console
from kvtui.verbs.guide import guide
from kvtui.verbs.palettes import palettes
from kvtui.verbs.plan import plan
from kvtui.verbs.report import report
from kvtui.verbs.serve import serve

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _ConsoleByDefault(click.Group):
    """``kvtui FILE`` is ``kvtui console FILE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        # Options of the console may come first: kvtui --theme light server.log.
        if args and args[0] not in self.commands and args[0] not in own:
            args = ["console", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and what the console takes without being named."""
        inner = console.make_context("console", [], parent=ctx, resilient_parsing=True)
        if incomplete.startswith("-"):
            found = console.shell_complete(inner, incomplete)
        else:
            found = next(param for param in console.params if param.name == "target").shell_complete(inner, incomplete)
        return list({item.value: item for item in (*found, *super().shell_complete(ctx, incomplete))}.values())


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
        ctx.invoke(console, **unset, no_mouse=False, speed=1.0)


for verb in (console, report, plan, guide, palettes, serve, config, completion):
    main.add_command(verb)
