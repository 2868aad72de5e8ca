"""What the app hands on: texts to the terminal's clipboard, and the report to a file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual.app import App

from kvtui.ports import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvtui.present.state import ViewState
    from kvtui.views.messages import Copy

    WriteReport = Callable[[str, str], str]
    """Writes a text to a new file of that name; gives its path or raises RefusedError."""


class HandoverApp(App[None]):
    """The part of the console that hands over; the rest is ``kvtui.app``."""

    write_report: WriteReport | None = None
    """None: nowhere to write."""

    @property
    def view_state(self) -> ViewState | None:
        """What the screens show; None until the first analysis."""
        raise NotImplementedError

    @property
    def target(self) -> str:
        """What is read, secrets removed."""
        raise NotImplementedError

    def on_copy(self, message: Copy) -> None:
        """To the terminal's clipboard."""
        self.copy_to_clipboard(message.text)
        self.notify(message.said, title="copied", markup=False, timeout=3)

    async def action_write_report(self) -> None:
        """Write the report to a file and say where it is."""
        from kvtui.present.copied import report_name
        from kvtui.present.report_doc import document
        from kvtui.present.report_markdown import report_markdown

        state = self.view_state
        if state is None or self.write_report is None:
            problem = "nothing has been read yet" if state is None else "there is no server here to write a report on"
            self.notify(problem, severity="warning", markup=False, timeout=4)
            return
        text = report_markdown(document(state.analysis, self.target))
        try:
            # A folder may be on a file system that hangs.
            path = await asyncio.to_thread(self.write_report, report_name(state.analysis.frame.now), text)
        except RefusedError as refusal:
            self.notify(str(refusal), severity="warning", markup=False, timeout=6)
        else:
            self.notify(path, title="report written, mode 0600", markup=False, timeout=8)
