"""The GPU memory pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.views.widgets.gpu_bars import BarsPanel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.geometry import Size

    from kvtui.present.line import Line
    from kvtui.present.memory import MemoryModel
    from kvtui.present.state import ViewState


class MemoryPane(BarsPanel["MemoryModel"]):
    """A bar a GPU, the legend, and the what-if's edge."""

    TITLE = "GPU memory"
    HELP_TOPIC = "memory"

    def model(self, state: ViewState, size: Size) -> MemoryModel:
        """What to show in the pane's inner size."""
        from kvtui.present.memory import memory_model

        return memory_model(state, size.width, size.height)

    def lines(self, model: MemoryModel) -> tuple[Line, ...]:
        """The model's rows."""
        return model.rows

    def copies(self, model: MemoryModel) -> Mapping[int, str]:
        """A bar in words."""
        return dict(model.copies)

    def heading(self, model: MemoryModel) -> Line:
        """How many GPUs of which size."""
        return model.heading

    def note(self, model: MemoryModel) -> Line:
        """Nothing, unless the model says so."""
        return model.note
