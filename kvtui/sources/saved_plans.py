"""Saved plans in the user's state folder: one line each, readable by the user alone."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kvtui.sources.errors import Unreadable
from kvtui.sources.state_file import state_folder

# The console opens with a shelf and needs no plan until one is saved or looked for.
if TYPE_CHECKING:
    from kvtui.domain.saved_plan import SavedPlan

_KEPT: Final = 200
"""Newest plans that are looked at."""
_LONGEST: Final = 64 << 10
"""Bytes of one line."""
_LARGEST: Final = 8 << 20
"""Bytes of the file that are read; the newest."""


class SavedPlans:
    """``ports.PlanShelf`` over one file."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file = (folder if folder is not None else state_folder()) / "plans.jsonl"

    def save(self, plan: SavedPlan) -> str:
        """Add a plan; gives where. Raises Unreadable with one sentence where it cannot be written."""
        from kvtui.parse.saved_plan import plan_line

        data = plan_line(plan).encode("ascii") + b"\n"
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Appended in one write, so that two consoles do not mix their lines; a link that someone left there is not followed.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._file, flags, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "the state folder is not known"
            raise Unreadable(f"The plan cannot be saved: {reason}.") from error
        return str(self._file)

    def load(self) -> tuple[SavedPlan, ...]:
        """The plans, oldest first; none where there is no file or it cannot be read."""
        try:
            with self._file.open("rb") as lines:
                size = os.fstat(lines.fileno()).st_size
                if size > _LARGEST:
                    lines.seek(size - _LARGEST)
                    lines.readline(_LONGEST)
                newest = deque(iter(lambda: lines.readline(_LONGEST), b""), maxlen=_KEPT)
        except (OSError, RuntimeError):
            return ()
        from kvtui.parse.saved_plan import plan_of_line

        return tuple(plan for line in newest if (plan := plan_of_line(line)) is not None)
