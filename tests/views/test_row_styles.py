"""Rows are made without Textual's text machinery; they look as it would make them, in every palette."""

import builders as b
import pytest
from feeds import HandFeed
from textual.strip import Strip
from textual.visual import Visual

from kvtui.app import KvtuiApp
from kvtui.present.line import Edge, Span
from kvtui.views import style
from kvtui.views.widgets import rows
from kvtui.views.widgets.rows import Rows


def told(strip):
    """Each cell's character and style."""
    return [(char, segment.style.clear_meta_and_links()) for segment in strip for char in segment.text]


def by_textual(widget, line):
    return Visual.to_strips(widget, widget.row_content(line), widget.size.width, 1, widget.visual_style, apply_selection=False)[0]


@pytest.mark.parametrize("palette", style.palettes(), ids=lambda palette: palette.name)
async def test_rows_look_as_textual_would_make_them(palette):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="x")
    async with app.run_test(size=(120, 40)) as pilot:
        while app.view_state is None:
            await pilot.pause()
        # What was worked out for one palette must not stay for the next.
        app.register_theme(palette)
        app.theme = palette.name
        await pilot.pause()
        seen = 0
        for widget in (found for found in app.screen.walk_children() if isinstance(found, Rows)):
            for y, line in enumerate(widget.rows[: widget.size.height]):
                made = widget.render_line(y)
                assert isinstance(made, Strip)
                assert made.cell_length == widget.size.width
                cells, wanted = told(made), told(by_textual(widget, line))
                assert cells[: len(wanted)] == wanted, (widget, y)
                assert "".join(char for char, _ in cells[len(wanted) :]).strip() == ""
                # A mouse that selects text finds the place of each cell.
                starts = [segment.style.meta["offset"] for segment in made]
                assert starts[0] == (0, y)
                assert [x for x, _ in starts] == sorted({x for x, _ in starts})
                seen += 1
        assert seen > 30


async def test_a_row_that_is_too_long_wide_or_empty():
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="x")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        pane = app.screen.query_one("#server", Rows)
        pane.rows = ((Span("x" * 300, "bad"),), (Span("日本語" * 40, "dim"), Edge("▍", "weights", "free")), (), (Span(""),))
        for y in range(5):
            assert pane.render_line(y).cell_length == pane.size.width


async def test_a_place_has_one_style_again_and_again_and_few_are_kept(monkeypatch):
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="x")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        pane = app.screen.query_one("#server", Rows)
        pane.rows = ((Span("one", "bad"), Span(" two")),)
        first, second = ([segment.style for segment in pane.render_line(0)] for _ in range(2))
        assert all(one is other for one, other in zip(first, second, strict=True))
        monkeypatch.setattr(rows, "_MOST_PLACES", 5)
        for number in range(50):
            pane.rows = ((Span("x" * number), Span("bad", "bad")),)
            pane.render_line(0)
        assert len(pane._places) <= 5


async def test_rows_are_as_wide_as_the_pane_after_each_change_of_it():
    app = KvtuiApp(HandFeed(b.founding()), lambda _analysis, fraction: b.estimates(fraction), target="x")
    async with app.run_test(size=(120, 40)) as pilot:
        pane = app.screen.query_one("#server", Rows)

        async def widths():
            await pilot.pause()
            return pane.render_line(0).cell_length, pane.size.width

        made, wanted = await widths()
        assert made == wanted > 0
        await pilot.resize_terminal(140, 40)
        wider = await widths()
        assert wider[0] == wider[1] != wanted
        pane.styles.padding = (0, 3)
        narrower = await widths()
        assert narrower[0] == narrower[1] == wider[1] - 6, "no other size of the widget, and less room in it"
