"""What every test shares: nothing of the developer's own configuration reaches it."""

import pytest

VARIABLES = ("KVTUI_CONFIG", "KVTUI_THEME", "KVTUI_ASCII", "KVTUI_MOUSE", "_KVTUI_COMPLETE")


@pytest.fixture(autouse=True)
def _as_delivered(monkeypatch, tmp_path_factory):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-configuration"))
