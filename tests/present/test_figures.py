import pytest

from kvtui.present.figures import gib


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (21.714, "21.71"),
        (0.01, "0.01"),
        (0.0099, "0.0099"),
        (0.00996, "0.01"),
        (0.0041, "0.0041"),
        (-0.0041, "-0.0041"),
        (1e-5, "0.00"),
        (0.0, "0.00"),
    ],
)
def test_a_tiny_size_keeps_two_digits(size, text):
    assert gib(size) == text
