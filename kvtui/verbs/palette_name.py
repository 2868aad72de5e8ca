"""What ``--theme`` takes: a palette of kvtui's own, or one of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kvtui.present.terminal import PALETTES

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class PaletteName(click.ParamType):  # type: ignore[type-arg] # not generic in each release of click
    """A palette of kvtui's own, or one of the user."""

    name = "palette"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 (click's signature)
        """The name; a usage error where there is no such palette."""
        wanted = str(value)
        if wanted in PALETTES:
            return wanted
        known = _names()
        if wanted not in known:
            from kvtui.parse.setting_value import nearest, quoted

            self.fail(f"there is no palette {quoted(wanted)}{nearest(wanted, known) or '; kvtui palettes lists them'}", param, ctx)
        return wanted

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 (click's signature)
        """Names that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in _names() if name.startswith(incomplete)]


def _names() -> tuple[str, ...]:
    from kvtui.sources.user_palettes import user_palettes

    return (*PALETTES, *(file.name for file in user_palettes()))
