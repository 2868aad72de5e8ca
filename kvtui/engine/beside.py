"""One call in a thread of its own that holds up no exit: the loop's own threads are waited for when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def beside(call: Callable[[], T], name: str) -> T:
    """What ``call`` returns or raises. Where nobody waits any more its thread is left to end by itself, or with the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def told(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def failed(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    def job() -> None:
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 (it is raised again where it was asked for)
            tell(failed, error)
        else:
            tell(told, result)

    def tell(how: Callable[..., None], what: object) -> None:
        # A closed loop means that nobody waits any more.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(how, what)

    threading.Thread(target=job, name=name, daemon=True).start()
    return await future
