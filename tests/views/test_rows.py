"""Which cells of a row are sent again."""

import pytest

from kvtui.present.line import Edge, Span
from kvtui.views.widgets.rows import changed


@pytest.mark.parametrize(
    ("old", "new", "columns"),
    [
        ((Span("running  50 now"),), (Span("running  51 now"),), (10, 11)),
        ((Span("abc"),), (Span("abc", "bad"),), (0, 3)),
        ((Span("abc"),), (Span("abcd"),), (3, 4)),
        ((Span("abcd"),), (Span("abc"),), (3, 4)),
        ((), (Span("x"),), (0, 1)),
        ((Span("ab"), Span("cd")), (Span("abcd"),), (19, 20)),
        ((Span("▌", "weights"),), (Edge("▌", "weights", "free"),), (0, 1)),
        ((Span("日本 1"),), (Span("日本 2"),), (0, 20)),
    ],
    ids=["figure", "tone", "longer", "shorter", "from nothing", "cut elsewhere", "ground", "wide characters"],
)
def test_only_what_differs(old, new, columns):
    assert changed(old, new, 20) == columns
