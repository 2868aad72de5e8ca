"""Release numbers and the tables that hang on them."""

import pytest

from kvtui.domain.release import MEASURED, NEWEST, Release, Table, neighbours, parse_release, standing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5.9", Release((0, 5, 9))),
        ("v0.5.9", Release((0, 5, 9))),
        (" 0.5.10.post1\n", Release((0, 5, 10), 1, 1)),
        ("0.5.10post1", Release((0, 5, 10), 1, 1)),
        ("0.5.3rc0", Release((0, 5, 3), -1, 0)),
        ("0.5.12.post1+g1a2b", Release((0, 5, 12), 1, 1)),
        ("0.5.15.dev12", Release((0, 5, 15), -2, 12)),
        ("0.5.15.post1.dev3+gabc", Release((0, 5, 15), 1, 1)),
        ("0.5.9-cu129", Release((0, 5, 9))),
        ("0.5.1x", None),
        ("0.5.x", None),
        ("0.5", None),
        ("main", None),
        ("", None),
        ("0.5.9; rm", None),
        ("٠.٥.٩", None),
        ("9" * 500 + ".1.1", None),
    ],
)
def test_reads_release_numbers(text, expected):
    assert parse_release(text) == expected


def test_orders_as_packages_are_ordered():
    texts = ["0.4.10.post2", "0.5.3.dev1", "0.5.3rc0", "0.5.3rc1", "0.5.3", "0.5.3.post3", "0.5.10", "0.5.10.post1", "1.0.0"]
    releases = [parse_release(text) for text in texts]
    assert sorted(releases, key=lambda release: release) == releases
    assert [str(release) for release in releases][-3:] == ["0.5.10", "0.5.10.post1", "1.0.0"]


def test_measured_releases_are_in_order_and_read_back():
    assert list(MEASURED) == sorted(MEASURED)
    assert [parse_release(str(release)) for release in MEASURED] == list(MEASURED)


def test_a_table_gives_the_newest_row_that_has_begun():
    table = Table("a topic", (("0.4.6", "a"), ("0.5.9", "b"), ("0.5.12", "c")))
    given = {
        text: table.at(parse_release(text)) for text in ("0.4.1", "0.4.6.post5", "0.5.8", "0.5.9rc1", "0.5.11", "0.5.12.post1", "0.9.0")
    }
    assert given == {"0.4.1": "a", "0.4.6.post5": "a", "0.5.8": "a", "0.5.9rc1": "b", "0.5.11": "b", "0.5.12.post1": "c", "0.9.0": "c"}
    assert table.at(None) == "c"


def test_neighbours_name_what_is_uncertain():
    assert neighbours(parse_release("0.5.10")) is None
    assert neighbours(parse_release("0.5.14")) == (Release((0, 5, 12), 1, 1), Release((0, 5, 15), 1, 1))
    assert neighbours(parse_release("0.6.0")) is None
    assert neighbours(None) is None


def test_says_whose_rules_are_used():
    assert standing(parse_release("0.5.9")) == ""
    assert "unknown" in standing(None)
    assert str(NEWEST) in standing(parse_release("0.6.1"))
    assert str(MEASURED[0]) in standing(parse_release("0.3.6"))
