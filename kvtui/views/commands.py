"""Every command once: keys, title, help and action. Footer, help, palette and bindings come from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from textual.binding import Binding

Scope = Literal["app", "main", "formula", "options", "text", "timeline", "boots", "ask", "demo", "lesson", "card", "search"]
SECTIONS: Final[dict[Scope, str]] = {
    "app": "Everywhere",
    "main": "Main screen",
    "formula": "Formula",
    "options": "Options",
    "text": "Pages of text",
    "timeline": "Timeline",
    "boots": "Boots",
    "ask": "Where something is typed",
    "demo": "Demo: the server is simulated",
    "lesson": "Lesson",
    "card": "The card of a lesson",
    "search": "No server found, or several",
}
IN_SEARCH: Final = frozenset({"quit", "quit-typing", "suspend"})
"""Commands of the scope ``app`` that hold where no server was found, too."""


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
    Command("row-up", "main", ("up", "k"), "↑", "row above", "point at the row above, in the pane with the focus", "row(-1)"),
    Command("row-down", "main", ("down", "j"), "↓", "row below", "point at the row below: y copies it", "row(1)"),
    Command("up", "options", ("up", "k"), "↑", "up", "the option above", "move(-1)"),
    Command("down", "options", ("down", "j"), "↓", "down", "the option below", "move(1)"),
    Command("mark", "options", ("space",), "space", "plan", "mark the option for the plan, or take it out", "mark", footer=True),
    Command("detail", "options", ("enter",), "⏎", "detail", "flags, gain with its basis, risk, how to check", "detail", footer=True),
    Command(
        "simulate-option",
        "options",
        ("s",),
        "s",
        "simulate",
        "play the load with this option, or with the plan it is part of",
        "simulate",
        footer=True,
    ),
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
    Command("machine", "main", ("m",), "m", "machine", "GPUs, host, processes and sources, each with its age", "app.machine", footer=True),
    Command("where", "main", ("o",), "o", "origin", "where every number comes from", "app.where", footer=True),
    Command(
        "load",
        "main",
        ("w",),
        "w",
        "what would it take",
        "state a load and a goal: 64 users, 4k in, 500 out, 900 tok/s; an empty line: as measured",
        "app.state_load",
    ),
    Command(
        "simulate",
        "main",
        ("s",),
        "s",
        "simulate",
        "play the load before and after the plan and the what-if, with its spread",
        "app.simulate",
    ),
    Command("save-plan", "main", ("S",), "S", "save plan", "keep the plan: the next start is shown beside it", "app.save_plan"),
    Command("explain", "main", ("question_mark",), "?", "explain", "what has the focus, in two sentences a word", "explain"),
    Command("copy-focus", "main", ("y",), "y", "copy", "copy the row that ↑↓ point at, the verdicts from their strip", "copy_focus"),
    Command("copy-pane", "main", ("Y",), "Y", "copy pane", "copy the whole pane as text", "copy_pane"),
    Command(
        "report",
        "main",
        ("e",),
        "e",
        "write report",
        "the report as Markdown, secrets removed, in a file only you can read",
        "app.write_report",
    ),
    Command("text-close", "text", ("escape", "q", "enter", "ctrl+c"), "esc", "close", "back to the screen below", "close", footer=True),
    Command("text-up", "text", ("up", "k"), "↑", "up", "point at the entry above", "move(-1)", footer=True),
    Command("text-down", "text", ("down", "j"), "↓", "down", "point at the entry below", "move(1)", footer=True),
    Command("text-copy", "text", ("y", "c"), "y", "copy", "copy the entry that is pointed at; of a fix its flags", "copy", footer=True),
    Command("text-copy-page", "text", ("Y",), "Y", "copy page", "copy the whole page", "copy_page"),
    Command("text-page-up", "text", ("pageup", "b"), "PgUp", "page up", "scroll by a page", "scroll_text('page_up')"),
    Command("text-page-down", "text", ("pagedown", "space"), "PgDn", "page down", "scroll by a page", "scroll_text('page_down')"),
    Command("text-home", "text", ("home", "g"), "Home", "first line", "to the top", "scroll_text('home')"),
    Command("text-end", "text", ("end", "G"), "End", "last line", "to the end", "scroll_text('end')"),
    Command("zoom-in", "timeline", ("plus", "equals_sign"), "+", "zoom in", "show a shorter stretch", "zoom(-1)"),
    Command("zoom-out", "timeline", ("minus",), "-", "zoom out", "show a longer stretch", "zoom(1)"),
    Command("charts-down", "timeline", ("down", "j"), "↓", "next chart", "the charts that have no room", "scroll_charts(1)"),
    Command("charts-up", "timeline", ("up", "k"), "↑", "previous chart", "back to the first charts", "scroll_charts(-1)"),
    Command("cursor-back", "timeline", ("left", "comma"), "←", "scrub back", "look at an earlier time", "scrub(-0.01)"),
    Command("cursor-on", "timeline", ("right", "full_stop"), "→", "scrub on", "look at a later time", "scrub(0.01)"),
    Command("cursor-far-back", "timeline", ("shift+left", "less_than_sign"), "⇧←", "scrub far back", "ten times that", "scrub(-0.1)"),
    Command("cursor-far-on", "timeline", ("shift+right", "greater_than_sign"), "⇧→", "scrub far on", "ten times that", "scrub(0.1)"),
    Command("cursor-first", "timeline", ("home",), "Home", "first sample", "the cursor to the oldest sample", "first_sample"),
    Command("cursor-newest", "timeline", ("end",), "End", "newest sample", "let the cursor go: the newest values", "newest_sample"),
    Command("timeline-close", "timeline", ("escape", "t", "q"), "esc", "close", "back to the main screen", "close"),
    Command(
        "ask-close", "ask", ("escape", "ctrl+c"), "esc", "close", "leave things as they are; ⏎ takes what was typed", "close", priority=True
    ),
    Command("ask-help", "ask", ("f1",), "F1", "help", "keys, words and signs", "app.help"),
    Command("boots-up", "boots", ("up", "k"), "↑", "up", "the boot above", "move(-1)"),
    Command("boots-down", "boots", ("down", "j"), "↓", "down", "the boot below", "move(1)"),
    Command("boots-show", "boots", ("enter",), "⏎", "show", "show that boot in all panes", "choose", footer=True),
    Command(
        "boots-mark", "boots", ("space",), "space", "compare", "mark the boot to compare it with the selected one", "mark", footer=True
    ),
    Command("boots-close", "boots", ("escape", "b", "q"), "esc", "close", "back to the main screen", "close", footer=True),
    Command(
        "apply",
        "demo",
        ("A",),
        "A",
        "apply",
        "restart the simulated server with the plan and the what-if's fraction",
        "app.apply",
        footer=True,
    ),
    Command("faster", "demo", ("greater_than_sign",), ">", "faster", "time runs faster, up to 60×", "app.speed(1)", footer=True),
    Command("slower", "demo", ("less_than_sign",), "<", "slower", "time runs slower, down to 1×", "app.speed(-1)"),
    Command("hold", "demo", ("P",), "P", "hold time", "the simulated time stands, or runs again", "app.hold"),
    Command("forward", "demo", ("N",), "N", "ten seconds on", "ten seconds of the server go by at once", "app.forward"),
    Command("answer", "lesson", ("enter",), "⏎", "answer", "answer the question, or go on; from a pane: back to the lesson", "to_lesson"),
    Command("hint", "lesson", ("H",), "H", "hint", "a hint; after the last one, the answer", "hint"),
    Command("again", "lesson", ("R",), "R", "again", "the lesson from its start, on its last card", "again"),
    Command("lesson", "lesson", ("G",), "G", "lesson", "back to the lesson; from the lesson: the console alone, or both again", "lesson"),
    Command("card-reply", "card", ("enter",), "⏎", "answer", "answer the question, or go on", "reply", footer=True),
    Command("card-back", "card", ("backspace",), "⌫", "back", "the card before", "go_back"),
    Command("card-up", "card", ("up", "k"), "↑", "up", "point at the answer above; its number does it, too", "point(-1)"),
    Command("card-down", "card", ("down", "j"), "↓", "down", "point at the answer below", "point(1)"),
    Command("card-page-up", "card", ("pageup",), "PgUp", "page up", "scroll a long card", "scroll_card(-1)"),
    Command("card-page-down", "card", ("pagedown", "space"), "PgDn", "page down", "scroll a long card", "scroll_card(1)"),
    Command("search-up", "search", ("up", "k"), "↑", "up", "the server above", "move(-1)"),
    Command("search-down", "search", ("down", "j"), "↓", "down", "the server below", "move(1)"),
    Command("search-open", "search", ("enter",), "⏎", "open", "the console on that server", "open"),
    Command("search-again", "search", ("r",), "r", "look again", "at once; a server that appears opens by itself", "again"),
    Command("search-type", "search", ("t", "slash"), "t", "type", "an address or the path of a log", "type"),
    Command("search-demo", "search", ("d",), "d", "demo", "the console on a simulated server", "demo"),
    Command("search-guide", "search", ("g",), "g", "guide", "eight lessons of triage on simulated servers", "guide"),
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
    Command("help", "app", ("f1", "question_mark"), "F1", "help", "keys, words and signs", "app.help", footer=True),
    Command("palette", "app", ("ctrl+p",), "^p", "commands", "find a command by its name", "app.command_palette"),
    Command("suspend", "app", ("ctrl+z",), "^z", "suspend", "back to the shell; fg returns", "app.suspend_process", priority=True),
    Command("quit", "app", ("q", "ctrl+c"), "q", "quit", "leave; the server is not touched", "app.quit", footer=True),
    Command(
        "quit-typing", "app", ("ctrl+q",), "^q", "quit at once", "leave, also from where something is typed", "app.quit", priority=True
    ),
)


def bindings(scope: Scope) -> list[Binding]:
    """Textual bindings of a scope."""
    # The keys of a configuration are judged where no Textual is loaded.
    from textual.binding import Binding

    return [
        Binding(",".join(c.keys), c.action, c.title, show=c.footer, key_display=c.shown, tooltip=c.help, id=c.id, priority=c.priority)
        for c in COMMANDS
        if c.scope == scope
    ]


def of(*scopes: Scope, commands: tuple[Command, ...] = COMMANDS) -> tuple[Command, ...]:
    """Commands of these scopes; a key that an earlier scope takes is not offered by a later one."""
    found: list[Command] = []
    taken: set[str] = set()
    for scope in scopes:
        here = [c for c in commands if c.scope == scope and c.keys[0] not in taken]
        found += here
        taken |= {key for c in here for key in c.keys}
    return tuple(found)


def help_sections(commands: tuple[Command, ...] = COMMANDS) -> tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]:
    """(section, ((keys, title, help), ...)) for the help screen."""
    return tuple(
        (title, tuple((c.shown, c.title, c.help) for c in commands if c.scope == scope)) for scope, title in SECTIONS.items() if of(scope)
    )
