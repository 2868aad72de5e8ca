"""Less memory for as long as the console runs: packages without those of their modules that are never used here.

Some packages import, whenever they are imported, what serves a few of their users: a command line, an HTTP server, a
manual, a test suite. Such modules cost a console memory for as long as it runs, and the first picture time.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType


class _StandIn(ModuleType):
    """Has every name, so that ``from … import …`` succeeds; nothing it gives can be used."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def unused(*_: object, **__: object) -> None:
            raise NotImplementedError(f"{self.__name__}.{name} was left out")

        return unused


def load(name: str, *without: str) -> ModuleType:
    """Import the module ``name`` while stand-ins take the place of the modules ``without``.

    What is loaded already stays whole, and so does a release of the package that cannot do without them.
    Raises ImportError where the package is not installed or is broken.
    """
    if name in sys.modules:
        return sys.modules[name]
    before = set(sys.modules)
    stands = {module: _StandIn(module) for module in without if module not in before}
    sys.modules.update(stands)
    try:
        return import_module(name)
    except (ImportError, AttributeError, NotImplementedError, TypeError):
        _forget(name.partition(".")[0], before)
        return import_module(name)
    finally:
        # Whoever asks for them by name later gets the real ones.
        for module, stand in stands.items():
            if sys.modules.get(module) is stand:
                del sys.modules[module]


def give_back() -> None:
    """Let go of cycles, and hand what is free back to the system, which glibc does not do by itself. Takes milliseconds."""
    gc.collect()
    with suppress(ImportError, OSError, AttributeError, TypeError):
        # The first picture has no use for it, and this module is imported before that.
        import_module("ctypes").CDLL(None).malloc_trim(0)


def _forget(package: str, before: set[str]) -> None:
    """The stand-ins and what was imported with them: it may hold what they gave."""
    for module in [module for module in sys.modules if module.partition(".")[0] == package and module not in before]:
        del sys.modules[module]
