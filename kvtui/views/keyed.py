"""Which key does what: the commands of this run, with the keys that the configuration gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from kvtui.views.commands import COMMANDS, Command

if TYPE_CHECKING:
    from collections.abc import Mapping


class KeyedApp(App[None]):
    """The part of the console that knows its keys; the rest is ``kvtui.app``."""

    commands: tuple[Command, ...] = COMMANDS
    """With the keys in effect."""

    @property
    def moved_keys(self) -> Mapping[str, str]:
        """Keys that are not those as delivered, as they are shown, by their command."""
        return {now.id: now.shown for now, then in zip(self.commands, COMMANDS, strict=True) if now.keys != then.keys}

    def take_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Before it runs: keys by the command's id; ones that cannot be used leave everything as it is."""
        if keys:
            from kvtui.views.keymap import remap

            told = remap(keys)
            if not told.problems:
                self.commands = told.commands
                self.set_keymap(dict(told.keymap))


def commands_of(app: App[Any]) -> tuple[Command, ...]:
    """The commands of a running app."""
    return app.commands if isinstance(app, KeyedApp) else COMMANDS


def key_of(app: App[Any], command: str) -> str:
    """The key of a command, as a sentence names it."""
    return next(one.shown for one in commands_of(app) if one.id == command)
