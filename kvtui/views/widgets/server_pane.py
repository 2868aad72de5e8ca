"""The server pane: signals with their course, and the chart of running and queued requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.views.widgets.gpu_bars import BarsPanel

if TYPE_CHECKING:
    from textual.geometry import Size

    from kvtui.present.line import Line
    from kvtui.present.server import ServerModel
    from kvtui.present.state import ViewState


class ServerPane(BarsPanel["ServerModel"]):
    """Rows change with each sample; the chart is drawn anew only when its data differ."""

    TITLE = "Server"
    HELP_TOPIC = "server"

    def model(self, state: ViewState, size: Size) -> ServerModel:
        """What to show in the pane's inner size."""
        from kvtui.present.server import server_model

        return server_model(state, size.width, size.height, before=self.shown.courses if self.shown is not None else None)

    def lines(self, model: ServerModel) -> tuple[Line, ...]:
        """The rows, then the chart."""
        if model.plot is None:
            return model.rows
        from kvtui.views.widgets.chart import chart

        return (*model.rows, *chart(model.plot, self.size.width, model.chart_rows))

    def heading(self, model: ServerModel) -> Line:
        """The stretch of time that is shown."""
        return model.heading

    def note(self, model: ServerModel) -> Line:
        """The time cursor, where it is set."""
        return model.note
