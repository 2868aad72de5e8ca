"""From tick to tick only figures change: nothing of a pane moves sideways while a server works."""

import pytest

from kvtui.domain.settings import Settings
from kvtui.present.line import cells, line_cells, plain
from kvtui.present.server import server_model
from kvtui.present.state import ViewState
from kvtui.staging import open_demo

WIDTH = 58


async def ticks(scenario, count):
    feed = open_demo(scenario, Settings(), speed=60)
    try:
        yield await feed.next()
        for _ in range(count):
            feed.step(3)
            yield await feed.next()
    finally:
        await feed.close()


def places(line):
    """Where the first spans of a row of figures begin: label, figure, and what follows it; None for another row."""
    if not line or line[0].tone != "label" or line[0].text.startswith(("━", "─")):
        return None
    return tuple(sum(cells(span.text) for span in line[:count]) for count in range(4))


@pytest.mark.parametrize("scenario", ["kv-full", "retraction", "dp-uneven"])
async def test_rows_of_the_server_keep_their_columns(scenario):
    found = set()
    figures = set()
    async for analysis in ticks(scenario, 8):
        for line in server_model(ViewState(analysis), WIDTH, 18).rows:
            if (here := places(line)) is not None:
                found.add(here)
                figures.add(plain(line[1:2]).strip())
                assert line_cells(line) == WIDTH, plain(line)
    assert len(figures) > 10
    assert len(found) == 1, found
