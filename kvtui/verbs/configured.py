"""The settings that hold for one run of a verb, or every mistake in them and exit status 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from kvtui.verbs.shared import EXIT_USAGE, unreadable

if TYPE_CHECKING:
    from kvtui.domain.effective import Effective, Given, Problem
    from kvtui.domain.settings import Settings, Target

VARIABLES: Final = "KVTUI_"
"""How the names of the variables begin that set anything."""
MOST_SHOWN: Final = 20
"""Mistakes that are named; the rest is counted."""

CONFIG = click.option(
    "--config",
    "config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Configuration file. Default: the variable KVTUI_CONFIG, else what kvtui config --path says.",
)


@dataclass(frozen=True, slots=True)
class Configured:
    """Settings, and where they come from."""

    settings: Settings
    file: Path
    found: Effective

    def place(self, path: str) -> Path:
        """A path of the file: ``~`` is the home folder, and a relative one begins at the file's folder."""
        return self.file.parent / Path(path).expanduser()


def configured(config: Path | None, **given: tuple[object, str] | None) -> Configured:
    """Read file, environment and command line; ends with status 2 where anything in them is wrong.

    Palette and keys are judged where nothing is drawn, too: one file serves all verbs. ``given``: value and option of each
    setting of the command line.
    """
    from kvtui.sources.config_place import config_file
    from kvtui.sources.errors import Unreadable

    try:
        found = look(config, {name: told for name, told in given.items() if told is not None})
    except Unreadable as error:
        click.echo(f"kvtui: the configuration file {shown(config_file(config, os.environ)[0])} {error}.", err=True)
        sys.exit(EXIT_USAGE)
    problems = [*found.found.problems, *_palette(found.found), *_keys(found.found)]
    if problems:
        _end(found.file, sorted(problems, key=lambda problem: problem.line or 0))
    return found


def of_screen(theme: str | None, *, no_mouse: bool) -> dict[str, tuple[object, str] | None]:
    """What the command line gives of the settings of a screen."""
    return {
        "palette": (theme, "--theme") if theme is not None else None,
        "mouse": (False, "--no-mouse") if no_mouse else None,
    }


def look(config: Path | None, given: Given) -> Configured:
    """As ``configured``, with what is wrong in ``found.problems``; raises sources.errors.Unreadable where the file cannot be read."""
    from kvtui.domain.effective import Effective
    from kvtui.sources.config_place import config_file, read_config

    file, named = config_file(config, os.environ)
    text = read_config(file, named=named)
    if text or any(name.startswith(VARIABLES) for name in os.environ):
        from kvtui.parse.effective import effective
        from kvtui.parse.settings_file import read_settings

        found = effective(read_settings(text, words()), os.environ, given)
    else:
        # Most starts have neither, and the first paint waits for no reader then.
        found = Effective().with_given(given)
    return Configured(found.settings, file, found)


def words() -> tuple[str, ...]:
    """The commands of the command line."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ()
    top = context.find_root().command
    return tuple(top.list_commands(context)) if isinstance(top, click.Group) else ()


def shown(path: Path) -> str:
    """A path as a person reads it."""
    from kvtui.parse.redact import safe

    try:
        return safe(f"~/{path.relative_to(Path.home())}", 300)
    except (ValueError, RuntimeError):
        return safe(str(path), 300)


def _palette(found: Effective) -> list[Problem]:
    """The palette of file or environment, judged as that of ``--theme``."""
    from kvtui.domain.effective import Problem
    from kvtui.verbs.palette_name import PaletteName

    name, origin = found.asked.palette, found.origins.get("palette", "")
    if name is None or origin.startswith("--"):
        return []
    try:
        PaletteName().convert(name, None, None)
    except click.UsageError as error:
        by_file = origin.startswith("line")
        return [Problem(found.line("palette") if by_file else None, f"{'palette' if by_file else origin}: {error.message}")]
    return []


def _keys(found: Effective) -> list[Problem]:
    if not found.asked.keys:
        return []
    from kvtui.domain.effective import Problem
    from kvtui.views.keymap import remap

    return [Problem(found.line("keys", name), text) for name, text in remap(found.asked.keys).problems]


def _end(file: Path, problems: list[Problem]) -> None:
    """Say everything that is wrong, and end."""
    told = [_sentence(one) for one in problems[:MOST_SHOWN]]
    here = f"kvtui: {shown(file)}" if any(one.line is not None for one in problems) else "kvtui"
    if len(problems) == 1:
        click.echo(f"{here}{', ' if problems[0].line is not None else ': '}{told[0]}", err=True)
    else:
        click.echo(f"{here}: {len(problems)} mistakes", err=True)
        for line in told:
            click.echo(f"  {line}", err=True)
        if len(problems) > MOST_SHOWN:
            click.echo(f"  … and {len(problems) - MOST_SHOWN} more.", err=True)
    sys.exit(EXIT_USAGE)


def _sentence(problem: Problem) -> str:
    text = f"line {problem.line}: {problem.text}" if problem.line is not None else problem.text
    return text if text.endswith("?") else f"{text}."


def opened(chosen: Configured, target: str | None, options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """What is to be read: a target of the file by its name, with what the file says of it, else ``target`` as it is.

    What the command line gives goes before what the file says. Ends with status 3 for a name that looks like a target and is none.
    """
    targets = chosen.settings.targets
    named = targets.get(target or "")
    if named is None:
        _mistyped(target, targets)
        return target, options
    filled = dict(options)
    for name, value, made in _parts(chosen, named):
        if filled.get(name) is None and value is not None:
            filled[name] = made(value)
    if named.url is None:
        target, filled["log"] = filled["log"], None
    return named.url or target, filled


def _parts(chosen: Configured, named: Target) -> tuple[tuple[str, str | None, Callable[[str], object]], ...]:
    """Option, what the file says of it, and how it becomes the option's value."""
    return (
        ("log", named.log, lambda path: str(chosen.place(path))),
        ("api_key_file", named.api_key_file, chosen.place),
        ("model", named.model, chosen.place),
    )


def _mistyped(target: str | None, targets: Mapping[str, object]) -> None:
    from kvtui.present.target import is_address

    if not targets or target is None or target == "-" or is_address(target) or "/" in target or Path(target).exists():
        return
    from kvtui.parse.setting_value import nearest, quoted

    hint = nearest(target, targets)
    if hint:
        unreadable(FileNotFoundError(f"There is neither a target nor a file {quoted(target)}{hint}"))
