"""``kvtui completion``: the shell's script, and what it offers beside options and commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_KVTUI_COMPLETE"


@click.command(short_help="Print the shell's completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL; it completes targets, scenarios, lessons, palettes and files.

    \b
    bash  echo 'eval "$(kvtui completion bash)"' >> ~/.bashrc
    zsh   echo 'eval "$(kvtui completion zsh)"' >> ~/.zshrc
    fish  kvtui completion fish > ~/.config/fish/completions/kvtui.fish
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    text = made(ctx.find_root().command, {}, "kvtui", VARIABLE).source()
    click.echo(_with_compinit(text) if shell == "zsh" else text, nl=False)


def _with_compinit(text: str) -> str:
    """The script for a zsh whose own start does not load completion: there it would be an error at each start."""
    # The first line tells a folder of completions what the file is for.
    head, _, rest = text.partition("\n")
    return f"{head}\n(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit -i }}\n{rest}"


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Targets of the configuration, and files."""
    from click.shell_completion import CompletionItem

    # Bash forgets what came before an item of files, and completes them where no other is left.
    return [CompletionItem(incomplete, type="file"), *_beginning(_targets(ctx, param), incomplete)]


def _targets(ctx: click.Context, _param: click.Parameter) -> Iterable[tuple[str, str]]:
    from kvtui.present.target import shown
    from kvtui.sources.errors import Unreadable
    from kvtui.verbs.configured import look

    try:
        found = look(ctx.params.get("config"), {})
    except Unreadable:
        # A file that cannot be read is told of by the verb, not between two presses of a key.
        return
    for name, target in found.settings.targets.items():
        yield name, shown(target.opens)


def scenarios(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 (click's signature)
    """Scenarios of the demo."""
    from kvtui.sources.demo import demo_list

    return _beginning((*demo_list(), ("list", "name them all")), incomplete)


def lessons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 (click's signature)
    """Lessons of the walkthrough."""
    from kvtui.staging import lessons as every

    return _beginning(((lesson.id, lesson.title) for lesson in every()), incomplete)


def _beginning(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name, help=text) for name, text in found if name.startswith(incomplete)]
