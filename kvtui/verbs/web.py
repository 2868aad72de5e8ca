"""The page of ``kvtui serve``: textual-serve, and who may open it.

Every user of a machine reaches its loopback addresses, and so does every page that a browser there
shows. So the page is opened with a key, by a name of this machine, and from no other page.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import os
import secrets
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from aiohttp import web
from textual_serve.server import Server

from kvtui.views.style import folder

MOST: Final = 4
"""Pages that are open at once: each asks the SGLang server once a second."""
GOODBYE_S: Final = 0.5
"""Seconds that a page has to answer at the end."""
END_S: Final = 5.0
"""Seconds that consoles have to end then."""
POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""Nothing of another site is fetched, and no other site shows the page."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def serve_console(words: list[str], host: str, port: int, tell: Callable[[str], object], forward: str) -> None:
    """Serve the console that ``words`` start until SIGINT or SIGTERM; ``tell`` says where.

    Raises OSError where the port cannot be had.
    """
    # The console's terminal is the page, whatever this one is.
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", LC_ALL="C.UTF-8", PYTHONUTF8="1")
    ConsoleServer(words, host, port, tell, forward).serve()


class ConsoleServer(Server):
    """One console a page."""

    def __init__(self, words: list[str], host: str, port: int, tell: Callable[[str], object], forward: str) -> None:
        """``words``: the console's command line. ``forward``: the command that brings the page to another machine."""
        # No shell stays between this server and a console.
        super().__init__("exec " + shlex.join(words), host=host, port=port, title="kvtui", templates_path=folder())
        self._key = secrets.token_urlsafe(18)
        self._cookie = f"kvtui-{port}"
        self._tell = tell
        self._forward = forward
        self._open: set[asyncio.Task[object]] = set()

    @property
    def address(self) -> str:
        """Of the page, with its key."""
        return f"{self.public_url}/?key={self._key}"

    def initialize_logging(self) -> None:
        """Only what goes wrong, in plain lines: a traceback's variables may hold secrets."""
        logging.basicConfig(level="ERROR", format="kvtui serve: %(message)s")

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        app.on_response_prepare.append(_secure)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Nothing yet: nobody listens."""

    def serve(self, debug: bool = False) -> None:  # noqa: ARG002 (textual-serve's signature)
        """Serve until SIGINT or SIGTERM; raises OSError where the port cannot be had."""
        self.initialize_logging()
        web.run_app(self._make_app(), host=self.host, port=self.port, print=self._listening, shutdown_timeout=END_S, access_log=None)

    def _listening(self, *_words: object) -> None:
        """Say where the page is; aiohttp calls this once it can be opened."""
        self._tell(f"The console is at {self.address}")
        self._tell(f"From another machine: {self._forward}, then the same address. Ctrl-C ends it.")

    async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002 (textual-serve's signature)
        """End every console: aiohttp would wait a minute for its page to go."""
        # The first cancellation says goodbye to the page; the second ends the wait for a page that does not answer.
        for patience in (GOODBYE_S, END_S):
            for task in self._open:
                task.cancel()
            if self._open:
                await asyncio.wait(self._open, timeout=patience)

    async def handle_index(self, request: web.Request) -> Any:  # noqa: ANN401 (textual-serve's decorator hides the type)
        """The page; it goes on under the name and the port that it was opened by, which may be forwarded."""
        self.public_url = f"http://{request.host}"
        return await super().handle_index(request)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One page's console, from its start to its end."""
        if len(self._open) >= MOST:
            raise web.HTTPServiceUnavailable(text=f"{MOST} consoles are open: close one of their pages.")
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
        try:
            return await super().handle_websocket(request)
        finally:
            if task is not None:
                self._open.discard(task)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse whoever has no key, other names for this machine (DNS rebinding), and other pages."""
        if not is_loopback(request.host) or request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
            raise web.HTTPForbidden(text="The console is opened by 127.0.0.1 or localhost, and from no other page.")
        told = request.query.get("key", "")
        if told and request.path == "/" and hmac.compare_digest(told.encode(), self._key.encode()):
            # The key leaves the address: histories keep addresses.
            answer = web.HTTPSeeOther("/")
            answer.set_cookie(self._cookie, self._key, httponly=True, samesite="Lax")
            raise answer
        if not hmac.compare_digest(request.cookies.get(self._cookie, "").encode(), self._key.encode()):
            raise web.HTTPForbidden(text="The key is missing: open the whole address that kvtui serve printed.")
        return await handler(request)


async def _secure(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def is_loopback(host: str) -> bool:
    """True where a Host header names this machine as such, with or without a port."""
    name = host
    if host.startswith("["):
        name = host[1:].partition("]")[0]
    elif ":" in host:
        name = host.rpartition(":")[0]
    if name.lower() == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(name).is_loopback
    return False
