"""Every command once: keys, title, help and action. Footer, help, palette and bindings come from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from textual.binding import Binding

Scope = Literal["app", "main", "formula", "options", "boots"]
SECTIONS: Final[dict[Scope, str]] = {
    "app": "Everywhere",
    "main": "Main screen",
    "formula": "Formula",
    "options": "Options",
    "boots": "Boots",
}


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do."""

    id: str
    scope: Scope
    keys: tuple[str, ...]
    """Textual's key names."""
    shown: str
    """The keys as a person reads them."""
    title: str
    help: str
    action: str
    """In Textual's action syntax; ``app.`` for the app's own, else of the scope's widget or screen."""
    footer: bool = False
    priority: bool = False


COMMANDS: Final = (
    Command("why", "main", ("enter", "v"), "⏎", "why", "the proof of the verdicts, what was ruled out, what to do", "app.why", footer=True),
    Command("pane-memory", "main", ("1",), "1", "GPU memory pane", "go to that pane", "pane('memory')"),
    Command("pane-server", "main", ("2",), "2", "server pane", "go to that pane", "pane('server')"),
    Command("pane-formula", "main", ("3",), "3", "formula pane", "go to that pane", "pane('formula')"),
    Command("pane-options", "main", ("4",), "4", "options pane", "go to that pane", "pane('options')"),
    Command("next", "main", ("tab",), "tab", "pane", "go to the next pane", "next_pane(1)", footer=True),
    Command("previous", "main", ("shift+tab",), "⇧tab", "previous pane", "go to the pane before", "next_pane(-1)"),
    Command("lower", "main", ("left",), "←", "lower fraction", "what if the fraction were 0.01 lower", "app.nudge(-0.01)"),
    Command("raise", "main", ("right",), "→", "raise fraction", "what if the fraction were 0.01 higher", "app.nudge(0.01)"),
    Command(
        "lower-fine", "main", ("shift+left", "comma"), "⇧← ,", "lower fraction finely", "the fraction 0.001 lower", "app.nudge(-0.001)"
    ),
    Command(
        "raise-fine", "main", ("shift+right", "full_stop"), "⇧→ .", "raise fraction finely", "the fraction 0.001 higher", "app.nudge(0.001)"
    ),
    Command(
        "type", "main", ("equals_sign", "f", "0"), "=", "type fraction", "type a fraction: 0.93 or 93", "app.type_fraction", footer=True
    ),
    Command("today", "main", ("escape",), "esc", "today's fraction", "back to today's fraction and to the newest sample", "app.today"),
    Command("up", "options", ("up", "k"), "↑", "up", "the option above", "move(-1)"),
    Command("down", "options", ("down", "j"), "↓", "down", "the option below", "move(1)"),
    Command("mark", "options", ("space",), "space", "plan", "mark the option for the plan, or take it out", "mark", footer=True),
    Command("detail", "options", ("enter",), "⏎", "detail", "flags, gain with its basis, risk, how to check", "detail", footer=True),
    Command("copy", "options", ("y",), "y", "copy flags", "copy the option's flags", "copy", footer=True),
    Command("copy-plan", "options", ("c",), "c", "copy plan", "copy the flags of all marked options", "copy_plan"),
    Command(
        "best-plan",
        "main",
        ("a",),
        "a",
        "best plan",
        "mark the best safe plan and move to its fraction; again: unmark",
        "app.best_plan",
        footer=True,
    ),
    Command("timeline", "main", ("t",), "t", "timeline", "large charts, and a cursor to scrub back", "app.timeline", footer=True),
    Command("log", "main", ("l",), "l", "log", "the lines of the log that matter", "app.log_lines", footer=True),
    Command("boots", "main", ("b",), "b", "boots", "the starts in this log, and what changed between two", "app.boots", footer=True),
    Command("where", "main", ("w",), "w", "where from", "the origin of every number", "app.where", footer=True),
    Command("boots-up", "boots", ("up", "k"), "↑", "up", "the boot above", "move(-1)"),
    Command("boots-down", "boots", ("down", "j"), "↓", "down", "the boot below", "move(1)"),
    Command("boots-show", "boots", ("enter",), "⏎", "show", "show that boot in all panes", "choose", footer=True),
    Command(
        "boots-mark", "boots", ("space",), "space", "compare", "mark the boot to compare it with the selected one", "mark", footer=True
    ),
    Command("boots-close", "boots", ("escape", "b", "q"), "esc", "close", "back to the main screen", "close", footer=True),
    Command(
        "scrub-back",
        "app",
        ("left_square_bracket", "left"),
        "[",
        "scrub back",
        "look at an earlier time; on the timeline also ←",
        "app.scrub(-0.01)",
    ),
    Command(
        "scrub-on",
        "app",
        ("right_square_bracket", "right"),
        "]",
        "scrub on",
        "look at a later time; on the timeline also →",
        "app.scrub(0.01)",
    ),
    Command("scrub-far-back", "app", ("left_curly_bracket", "shift+left"), "{", "scrub far back", "ten times that", "app.scrub(-0.1)"),
    Command("scrub-far-on", "app", ("right_curly_bracket", "shift+right"), "}", "scrub far on", "ten times that", "app.scrub(0.1)"),
    Command("pause", "app", ("p",), "p", "pause", "hold what is shown still; reading goes on", "app.pause"),
    Command("help", "app", ("f1", "question_mark"), "?", "help", "keys, words and signs", "app.help", footer=True),
    Command("palette", "app", ("ctrl+p",), "^p", "commands", "find a command by its name", "app.command_palette"),
    Command("suspend", "app", ("ctrl+z",), "^z", "suspend", "back to the shell; fg returns", "app.suspend_process", priority=True),
    Command("quit", "app", ("q", "ctrl+c", "ctrl+q"), "q", "quit", "leave; the server is not touched", "app.quit", footer=True),
)


def bindings(scope: Scope) -> list[Binding]:
    """Textual bindings of a scope."""
    return [
        Binding(",".join(c.keys), c.action, c.title, show=c.footer, key_display=c.shown, tooltip=c.help, id=c.id, priority=c.priority)
        for c in COMMANDS
        if c.scope == scope
    ]


def of(*scopes: Scope) -> tuple[Command, ...]:
    """Commands of these scopes; a key that an earlier scope takes is not offered by a later one."""
    found: list[Command] = []
    taken: set[str] = set()
    for scope in scopes:
        here = [c for c in COMMANDS if c.scope == scope and c.keys[0] not in taken]
        found += here
        taken |= {key for c in here for key in c.keys}
    return tuple(found)


def help_sections() -> tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]:
    """(section, ((keys, title, help), ...)) for the help screen."""
    return tuple(
        (title, tuple((c.shown, c.title, c.help) for c in COMMANDS if c.scope == scope)) for scope, title in SECTIONS.items() if of(scope)
    )
