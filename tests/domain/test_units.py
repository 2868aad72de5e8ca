from __future__ import annotations

import pytest

from kvtui.domain.admission import bolder, calmer
from kvtui.domain.units import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (31, "31 s"),
        (119, "119 s"),
        (120, "2 min"),
        (600, "10 min"),
        (7200, "2 h"),
        (9000, "2.5 h"),
        (86_400, "1 d"),
        (129_600, "1.5 d"),
    ],
)
def test_durations_as_a_person_says_them(seconds, words):
    assert duration(seconds) == words


def test_which_way_the_conservativeness_goes():
    assert (calmer(1.0), calmer(0.3), calmer(1.3), calmer(2.0)) == (1.3, 1.0, None, None)
    assert (bolder(1.0), bolder(0.5), bolder(0.3), bolder(0.1)) == (0.3, 0.3, None, None)
