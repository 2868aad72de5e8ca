"""Numbers of the command line that a comparison can be made with."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number between two others; nan, which lies in every range, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 (as click hands it over)
        """The number; click says of anything else what is wrong."""
        number: float = click.FLOAT.convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number that can be used here.", param, ctx)
        converted: float = super().convert(number, param, ctx)
        return converted
