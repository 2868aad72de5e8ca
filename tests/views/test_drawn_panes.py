from __future__ import annotations

from dataclasses import replace

import builders
import pytest
from textual.app import App

from kvtui.domain.admission import Band, Interval
from kvtui.present.cuts import Edge
from kvtui.present.line import Span
from kvtui.present.state import ViewState
from kvtui.views import style
from kvtui.views.messages import Scrub
from kvtui.views.screens.timeline import TimelineScreen, TimelineView
from kvtui.views.widgets import chart as chart_module
from kvtui.views.widgets.gpu_bars import bars, edge_style
from kvtui.views.widgets.memory_pane import MemoryPane
from kvtui.views.widgets.server_pane import ServerPane

SOME = Interval(0.1, 0.2, "by hand")
STATE = ViewState(builders.founding(band=Band(44.2, 55.8, 2_048, 0.80, 0.86, SOME, SOME, "by hand")))


class Host(App[None]):
    def __init__(self, *panes, theme=style.DEFAULT):
        super().__init__(css_path=[style.folder() / "base.tcss"])
        self.panes, self.wanted, self.scrubbed = panes, theme, []

    def get_theme_variable_defaults(self):
        return style.meanings()

    def compose(self):
        yield from self.panes

    def on_mount(self):
        for palette in style.palettes():
            self.register_theme(palette)
        self.theme = self.wanted

    def on_scrub(self, message: Scrub):
        self.scrubbed.append(message.at)


def lines_of(widget):
    return ["".join(segment.text for segment in strip) for strip in widget.render_lines(widget.size.region)]


@pytest.mark.parametrize("theme", sorted(palette.name for palette in style.palettes()))
@pytest.mark.parametrize("size", [(80, 24), (20, 5), (2, 2)])
async def test_panes_paint_with_every_palette_and_size(theme, size):
    memory, server = MemoryPane(), ServerPane()
    async with Host(memory, server, theme=theme).run_test(size=size) as pilot:
        for state in (
            STATE,
            replace(STATE, fraction=0.91, what_if=builders.what_if(0.91)),
            ViewState(builders.hostile()),
            ViewState(builders.bare()),
        ):
            memory.state = server.state = state
            await pilot.pause()
        assert "\x1b" not in "".join(lines_of(memory) + lines_of(server))


async def test_only_rows_that_differ_are_painted():
    pane = ServerPane()
    async with Host(pane).run_test(size=(60, 16)) as pilot:
        pane.state = STATE
        await pilot.pause()
        painted = []
        pane.refresh = lambda *regions, **_: painted.append(regions)
        pane.state = replace(STATE, plan=frozenset({"hicache"}))
        assert painted == [], "the plan is not in this pane"
        account = replace(STATE.analysis.account, running_cap=builders.known(50))
        pane.state = replace(STATE, analysis=replace(STATE.analysis, account=account))
        rows = {region.y for regions in painted for region in regions}
        assert 0 in rows
        assert 1 not in rows


async def test_a_chart_is_drawn_once_for_equal_data():
    pane = ServerPane()
    chart_module.chart.cache_clear()
    async with Host(pane).run_test(size=(60, 16)) as pilot:
        pane.state = STATE
        await pilot.pause()
        first = chart_module.chart.cache_info().misses
        pane.state = replace(STATE, analysis=replace(STATE.analysis, notes=("another",)))
        await pilot.pause()
        assert chart_module.chart.cache_info().misses == first


async def test_keys_of_the_timeline():
    app = Host()
    async with app.run_test(size=(100, 30)) as pilot:
        screen = TimelineScreen()
        screen.state = STATE
        await app.push_screen(screen)
        view = screen.query_one(TimelineView)
        assert view.shown is not None
        await pilot.press("plus")
        assert view.span == 300.0
        assert view.shown.length == pytest.approx(300.0)
        await pilot.press("minus", "minus")
        assert view.span == 1_800.0
        await pilot.press("down")
        assert view.first == 1
        await pilot.press("up", "up")
        assert view.first == 0
        await pilot.press("home", "left", "end", "right")
        first, last = view.shown.ends
        assert app.scrubbed == [first, pytest.approx(last - view.shown.length / 100), None, None]
        await pilot.press("escape")
        assert app.screen is not screen


def test_a_shared_cell_shows_both_colours_where_they_can_be_mixed():
    edge = Edge("▌", "weights", "kv-used")
    assert edge_style(edge) == "$kv-weights on $kv-pool-used 75%"
    assert edge_style(edge, blend=False) == "$kv-weights"
    # An underline would be a second stroke, below the value.
    assert edge_style(Edge("⠤", "kv-used", "warn"), blend=False) == "$kv-pool-used"
    assert bars(((Span("[red]x"), edge),)).plain == "[red]x▌"


@pytest.mark.parametrize(("eighths", "shown"), [("▏", "▓"), ("▍", "▓"), ("▌", "█"), ("▉", "█")])
def test_a_shared_cell_is_the_larger_part_s_where_colours_cannot_be_mixed(eighths, shown):
    row = (Span("██", "weights"), Edge(eighths, "weights", "kv-used"), Span("▓▓", "kv-used"))
    assert bars((row,), blend=False).plain == f"██{shown}▓▓"
    assert bars((row,)).plain == f"██{eighths}▓▓"
    # A solid fill can be the ground of the other.
    assert bars(((Edge(eighths, "context", "weights"),),), blend=False).plain == eighths
