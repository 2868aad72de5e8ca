"""``kvtui config``: the settings that hold, and where each comes from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from kvtui.verbs.configured import CONFIG, configured, of_screen, shown
from kvtui.verbs.shared import NO_MOUSE, THEME


@click.command(short_help="Show the settings that hold, and where each comes from.")
@click.option("--path", is_flag=True, help="Where the configuration file is looked for, and nothing else.")
@click.option("--example", is_flag=True, help="A file with every setting at its default, each with its meaning and range.")
@CONFIG
@THEME
@NO_MOUSE
def config(config: Path | None, theme: str | None, no_mouse: bool, path: bool, example: bool) -> None:
    """Show every setting, and whether it is the default or set by a line of the file, a variable or an option.

    \b
    kvtui config --example > kvtui.toml; kvtui --config kvtui.toml

    \b
    Variables: KVTUI_CONFIG (the file), KVTUI_THEME, KVTUI_ASCII, KVTUI_MOUSE.
    Command line before variables before file before default.

    \b
    Exit status: 0, or 2 with every mistake of the file and its line.
    """  # noqa: D301 (click reads a backspace as: keep these lines)
    from kvtui.present import settings_text
    from kvtui.sources.config_place import config_file, config_folder
    from kvtui.views.commands import COMMANDS

    if path:
        click.echo(config_file(config, os.environ)[0])
    elif example:
        place = shown(config_folder() / "config.toml")
        rows = (settings_text.KeyRow(c.id, c.keys, f"{c.title}: {c.help}" if c.help else c.title) for c in COMMANDS)
        click.echo(settings_text.example(rows, place), nl=False)
    else:
        found = configured(config, **of_screen(theme, no_mouse=no_mouse))
        there = shown(found.file) if found.file.exists() else f"{shown(found.file)}: there is no such file, all is as delivered"
        click.echo("\n".join(settings_text.listing(found.settings, found.found.origins, there)))
