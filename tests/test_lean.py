"""Packages are loaded without the modules that nothing here uses."""

import ctypes
import importlib
import subprocess
import sys
import weakref

import pytest

from kvtui.lean import give_back, load


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that imports its server whenever it is imported."""
    home = tmp_path / "heavypack"
    home.mkdir()
    (home / "__init__.py").write_text("from . import server\nfrom .server import start, PORT\nfrom .core import answer\n")
    (home / "core.py").write_text("def answer(): return 42\n")
    (home / "server.py").write_text("PORT = 80\ndef start(): return 'started'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield home
    for name in [name for name in sys.modules if name.partition(".")[0] == "heavypack"]:
        del sys.modules[name]


def test_a_module_that_is_left_out_is_not_imported_and_says_so_when_used(package):
    loaded = load("heavypack", "heavypack.server")

    assert loaded.answer() == 42
    assert "heavypack.server" not in sys.modules
    with pytest.raises(NotImplementedError, match=r"heavypack\.server\.start was left out"):
        loaded.start()


def test_who_asks_for_it_by_name_later_gets_the_real_one(package):
    load("heavypack", "heavypack.server")

    assert importlib.import_module("heavypack.server").start() == "started"


def test_a_submodule_is_loaded_without_its_siblings(package):
    assert load("heavypack.core", "heavypack.server").answer() == 42
    assert "heavypack.server" not in sys.modules


def test_a_package_that_is_loaded_already_stays_whole(package):
    whole = importlib.import_module("heavypack")

    assert load("heavypack", "heavypack.server") is whole
    assert whole.start() == "started"


@pytest.mark.parametrize("line", ["NEXT = PORT + 1", "start()", "start.missing"])
def test_a_release_that_needs_what_is_left_out_is_loaded_whole(package, line):
    (package / "__init__.py").write_text(f"from .core import answer\nfrom .server import start, PORT\n{line}\n")
    (package / "server.py").write_text("PORT = 80\ndef start(): return 'started'\nstart.missing = 1\n")

    loaded = load("heavypack", "heavypack.server")

    assert loaded.start() == "started"
    assert loaded.answer() == 42


def test_a_package_that_is_not_there_is_an_import_error():
    with pytest.raises(ImportError):
        load("heavypack_that_is_nowhere", "heavypack_that_is_nowhere.server")


def test_the_console_carries_no_manual_no_test_suite_no_server_and_no_highlighter():
    probe = (
        "import sys, kvtui.views.widgets.chart, kvtui.sources.sglang, kvtui.sources.exposition_reader; "
        "import httpx; print(httpx.AsyncClient.__module__, *sorted(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    heavy = ("plotext._doc", "plotext.prettydoc", "plotext._tests", "unittest", "httpx._main", "pygments", "http.server", "wsgiref", "html")
    assert "plotext._plotter.plot" in loaded
    assert "httpx._client" in loaded
    assert "prometheus_client.parser" in loaded
    assert not [name for name in loaded if name.startswith(heavy)]


def test_memory_is_handed_back_where_the_library_can_and_nothing_happens_elsewhere(monkeypatch):
    asked = []

    class Glibc:
        def __init__(self, name):
            assert name is None

        def malloc_trim(self, kept):
            asked.append(kept)

    class Cycle:
        def __init__(self):
            self.itself = self

    cycle = weakref.ref(Cycle())
    monkeypatch.setattr(ctypes, "CDLL", Glibc)
    give_back()
    assert asked == [0]
    assert cycle() is None
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    give_back()
