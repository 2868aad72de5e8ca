"""``kvtui`` without a target: the one server of this machine, else what a person chooses on a screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvtui.present.target import is_address
from kvtui.verbs.configured import Configured, opened
from kvtui.verbs.guide import play_demo, play_guide
from kvtui.verbs.shared import EXIT_UNREADABLE, server_here

if TYPE_CHECKING:
    from kvtui.domain.process import Discovery, FoundServer


def wanted_here(
    chosen: Configured, options: dict[str, Any], config: Path | None, given: dict[str, tuple[object, str] | None]
) -> tuple[str | FoundServer, dict[str, Any]]:
    """What the console is to open, and its options; plays the demo or the lessons, where those are chosen, and ends.

    Ends with status 3 where nothing is chosen. Raises sources.errors.Unreadable where there is no terminal to choose on.
    """
    from kvtui.sources.discovery import discover

    seen = discover()
    if len(seen.servers) == 1 or not _has_keys():
        return server_here(seen), options
    choice, status = _ask(seen, chosen)
    if choice is None:
        sys.exit(status or EXIT_UNREADABLE)
    if choice.kind == "demo":
        sys.exit(play_demo("", speed=1.0, config=config, given=given))
    if choice.kind == "guide":
        sys.exit(play_guide(None, config=config, given=given))
    if choice.server is not None:
        return choice.server, options
    if is_address(choice.target):
        return choice.target, options
    target, options = opened(chosen, choice.target, options)
    return str(Path(target or choice.target).expanduser()), options


def _has_keys() -> bool:
    return sys.stdin.isatty() or "web_driver" in os.environ.get("TEXTUAL_DRIVER", "")


def _ask(seen: Discovery, chosen: Configured) -> tuple[Any, int]:
    from kvtui.search import run_search
    from kvtui.sources.daemon import DaemonWorker
    from kvtui.sources.discovery import find
    from kvtui.sources.user_palettes import user_palettes

    worker = DaemonWorker("kvtui-search")
    try:
        return run_search(seen, lambda: find(worker), lambda text: _refused(text, chosen), chosen.settings, palettes=user_palettes)
    finally:
        worker.close()


def _refused(text: str, chosen: Configured) -> str:
    """Why a target cannot be opened, or an empty text; what only reading shows is said by the console."""
    from kvtui.parse.redact import safe

    if not text:
        return "an address (http://gpu7:30000, :30000) or the path of a log"
    if is_address(text) or text in chosen.settings.targets or Path(text).expanduser().is_file():
        return ""
    return f"there is no file {safe(text, 100)}; an address begins with http:// or is :PORT"
