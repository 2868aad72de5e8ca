"""What the command line offers without a server: the demo and the walkthrough."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kvtui.verbs.completion import lessons as lessons_named
from kvtui.verbs.configured import CONFIG, configured, of_screen
from kvtui.verbs.shared import NO_MOUSE, THEME, needs_terminal


def play_demo(scenario: str, *, speed: float, config: Path | None, given: dict[str, tuple[object, str] | None]) -> int:
    """The console on a simulated server; ``list`` names them. Gives the exit status. ``given``: as for ``configured``.

    Raises click.UsageError for a scenario that does not exist.
    """
    from kvtui.staging import demo_lines, open_demo

    if scenario == "list":
        for line in demo_lines():
            click.echo(line)
        return 0
    needs_terminal("The demo")
    settings = configured(config, **given).settings
    try:
        feed = open_demo(scenario or None, settings, speed=speed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    from kvtui.learn import run_demo
    from kvtui.sources.report_file import write_report
    from kvtui.sources.user_palettes import user_palettes

    return run_demo(feed, settings, palettes=user_palettes, target=f"demo {scenario}".rstrip(), write_report=write_report)


def play_guide(lesson: str | None, *, config: Path | None, given: dict[str, tuple[object, str] | None]) -> int:
    """A lesson on the console; None: where the learner left off. Gives the exit status. ``given``: as for ``configured``.

    Raises click.UsageError for a lesson that does not exist.
    """
    from kvtui.staging import open_shelf

    try:
        shelf = open_shelf(lesson)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    needs_terminal("A lesson")
    settings = configured(config, **given).settings
    from kvtui.learn import run_guide
    from kvtui.sources.report_file import write_report
    from kvtui.sources.user_palettes import user_palettes

    return run_guide(shelf, settings, palettes=user_palettes, write_report=write_report)


@click.command(short_help="Learn triage on a simulated server.")
@click.argument("lesson", required=False, shell_complete=lessons_named)
@click.option("--list", "listing", is_flag=True, help="Name the lessons, and say which are done.")
@THEME
@NO_MOUSE
@CONFIG
def guide(lesson: str | None, listing: bool, theme: str | None, no_mouse: bool, config: Path | None) -> None:
    """Play a LESSON by its name or number; without one, go on where you left off.

    Needs no server and no GPU. Your place is kept; the keys stand below each card.
    """
    from kvtui.guide.card import listed
    from kvtui.staging import lessons, saved_progress

    if listing:
        progress = saved_progress()
        for one in lessons():
            kept = progress.get(one.id)
            state = "done" if kept is not None and kept.finished else f"at step {kept.at + 1}" if kept is not None and kept.at else ""
            click.echo(f"{one.id:<24} {listed(one)}{f'  [{state}]' if state else ''}")
        return
    sys.exit(play_guide(lesson, config=config, given=of_screen(theme, no_mouse=no_mouse)))
