"""A feed that is made after the screen is there: finding and opening what is to be read takes longer than the first paint."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvtui.engine.beside import beside

if TYPE_CHECKING:
    from kvtui.domain.frame import Analysis
    from kvtui.ports import Feed


class LateFeed:
    """``ports.Feed`` over one that ``make`` builds, in a thread, when the first analysis is asked for.

    ``make`` may raise ``ports.RefusedError``, which ``next`` hands on; where it hangs, leaving does not wait for it.
    """

    def __init__(self, make: Callable[[], Feed]) -> None:
        self._make = make
        self._feed: Feed | None = None
        self._wanted: int | None = None
        self._closely = True

    async def next(self) -> Analysis:
        """The newest analysis; the first call opens what it comes from."""
        if self._feed is None:
            self._feed = await beside(self._make, "kvtui-open")
            if self._wanted is not None:
                self._feed.choose(self._wanted)
            if not self._closely:
                self._feed.look(closely=False)
        return await self._feed.next()

    def choose(self, boot: int) -> None:
        """Show another boot; kept until there is a feed to tell it."""
        self._wanted = boot
        if self._feed is not None:
            self._feed.choose(boot)

    def look(self, *, closely: bool) -> None:
        """Read closely, or less often; kept until there is a feed to tell it."""
        self._closely = closely
        if self._feed is not None:
            self._feed.look(closely=closely)

    async def close(self) -> None:
        """Let go of what was opened."""
        if self._feed is not None:
            await self._feed.close()
