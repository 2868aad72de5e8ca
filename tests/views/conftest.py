import pytest

COLOUR = ("NO_COLOR", "COLORTERM", "FORCE_COLOR", "TEXTUAL_ANIMATIONS", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "COLUMNS", "LINES")


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch):
    """The developer's terminal is not an input."""
    for name in COLOUR:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
