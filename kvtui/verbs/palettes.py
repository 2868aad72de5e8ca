"""``kvtui palettes``: every palette with its errors, and what a palette may set."""

from __future__ import annotations

import sys
from typing import Final

import click

EXIT_ERRORS: Final = 1


@click.command(short_help="List the palettes, their errors, and the names that a palette of yours may set.")
@click.option("--names", is_flag=True, help="The names that a palette may set, and what each colours.")
def palettes(names: bool) -> None:
    """List every palette: kvtui's own, and yours with whatever is wrong with them.

    \b
    Exit status: 0 all can be used, 1 one of yours has errors.
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    if names:
        _tell_names()
        return
    from kvtui.present.line import cells, clean, pad
    from kvtui.sources.user_palettes import palette_folder, user_palettes
    from kvtui.views.style import dresses

    found = dresses(user_palettes())
    width = max(cells(dress.name) for dress in found)
    for dress in found:
        # What a file holds, and its name, may hold anything.
        about = "cannot be used" if dress.problems else dress.about
        click.echo(clean(f"{'✖' if dress.problems else '✓'} {pad(dress.name, width)}  {about} · {dress.where or 'built in'}"))
        for problem in dress.problems:
            click.echo(clean(f"  {'':<{width}}  {problem}"))
    click.echo(f"\nYours are read from {palette_folder()}: NAME.toml, with what differs from the palette that it extends.")
    if any(dress.problems for dress in found):
        sys.exit(EXIT_ERRORS)


def _tell_names() -> None:
    from kvtui.parse.palette_names import BASE, MEANING

    for table, told in (("base", BASE), ("meaning", MEANING)):
        click.echo(f"[{table}]")
        for name, about in told.items():
            click.echo(f"{name:<18} {about}")
        click.echo()
