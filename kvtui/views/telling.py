"""What the app says to a key: one line in the footer's row, where it covers nothing that is being read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

SIGNS: dict[SeverityLevel, str] = {"information": "✓", "warning": "▲", "error": "✖"}
"""A word and a sign beside the colour; every message is a sentence of its own."""


class TellingApp(App[None]):
    """The part of the console that answers a key with a sentence; the rest is ``kvtui.app``."""

    _saying = False
    """True while the messages of one key are being said."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Say it in place of what an earlier key said; ``title`` stands before it in the same line. Never read as markup."""
        if not self._saying:
            self.clear_notifications()
            self._saying = self.call_later(self._said)
        told = f"{SIGNS[severity]} {title}: {message}" if title else f"{SIGNS[severity]} {message}"
        super().notify(told, severity=severity, timeout=timeout, markup=markup)

    def _said(self) -> None:
        self._saying = False
