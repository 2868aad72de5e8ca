"""What the command line offers without a server: the demo and the walkthrough."""

from __future__ import annotations

import sys

import click

from kvtui.verbs.shared import NO_MOUSE, THEME, needs_terminal


def play_demo(scenario: str, *, speed: float, theme: str | None, mouse: bool) -> int:
    """The console on a simulated server; ``list`` names them. Gives the exit status.

    Raises click.UsageError for a scenario that does not exist.
    """
    from kvtui.staging import demo_lines, open_demo

    if scenario == "list":
        for line in demo_lines():
            click.echo(line)
        return 0
    needs_terminal("The demo")
    try:
        feed = open_demo(scenario or None, speed=speed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    from kvtui.learn import run_demo

    return run_demo(feed, theme=theme, mouse=mouse, target=f"demo {scenario}".rstrip())


@click.command(short_help="Learn triage on a simulated server.")
@click.argument("lesson", required=False)
@click.option("--list", "listing", is_flag=True, help="Name the lessons, and say which are done.")
@THEME
@NO_MOUSE
def guide(lesson: str | None, listing: bool, theme: str | None, no_mouse: bool) -> None:
    """Play a LESSON by its name or number; without one, go on where you left off.

    Needs no server and no GPU. Your place is kept; the keys stand below each card.
    """
    from kvtui.guide.card import listed
    from kvtui.staging import lessons, open_shelf, saved_progress

    if listing:
        progress = saved_progress()
        for one in lessons():
            kept = progress.get(one.id)
            state = "done" if kept is not None and kept.finished else f"at step {kept.at + 1}" if kept is not None and kept.at else ""
            click.echo(f"{one.id:<24} {listed(one)}{f'  [{state}]' if state else ''}")
        return
    try:
        shelf = open_shelf(lesson)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    needs_terminal("A lesson")
    from kvtui.learn import run_guide

    sys.exit(run_guide(shelf, theme=theme, mouse=not no_mouse))
