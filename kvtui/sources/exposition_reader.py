"""Metrics pages to scrapes. prometheus_client reads each series' name and labels the first time it is met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kvtui.domain.release import Release
from kvtui.domain.scrape import Scrape
from kvtui.lean import load
from kvtui.parse.exposition import KEPT_LIMIT, Page
from kvtui.parse.page_layout import Merger
from kvtui.parse.series import Series, series_of

if TYPE_CHECKING:
    from prometheus_client.parser import text_string_to_metric_families
else:
    # Of a library that programs publish metrics with, the parser alone is used: no collectors of its own, no HTTP server.
    _ABSENT = ("exposition", "gc_collector", "metrics", "platform_collector", "process_collector", "registry")
    text_string_to_metric_families = load(
        "prometheus_client.parser", *(f"prometheus_client.{name}" for name in _ABSENT)
    ).text_string_to_metric_families

_BYTES_LIMIT: Final = 32 << 20


class PageReader:
    """Reads the pages of one server. Parsing labels is most of the cost, and a server's series hardly change."""

    def __init__(self) -> None:
        self._known: dict[bytes, Series | None] = {}
        self._bytes = 0
        self._merger = Merger()

    def scrape(self, page: Page, at: float, release: Release | None = None) -> Scrape:
        """A page of kind ``sglang``; series that the parser refuses are left out and make it not whole."""
        found = [(self._series(key), value) for key, value in page.samples]
        usable = [(series, value) for series, value in found if series is not None]
        return self._merger.merge(usable, at, release, whole=page.whole and len(usable) == len(found))

    def _series(self, key: bytes) -> Series | None:
        try:
            return self._known[key]
        except KeyError:
            pass
        # A server whose labels never repeat must not fill the memory.
        if len(self._known) >= KEPT_LIMIT or self._bytes > _BYTES_LIMIT:
            self._known.clear()
            self._bytes = 0
        self._bytes += len(key)
        self._known[key] = series = _parse(key)
        return series


def _parse(key: bytes) -> Series | None:
    try:
        families = list(text_string_to_metric_families(key.decode("utf-8", "replace") + " 0\n"))
    except ValueError:
        return None
    samples = [sample for family in families for sample in family.samples]
    return series_of(samples[0].name, samples[0].labels) if len(samples) == 1 else None
