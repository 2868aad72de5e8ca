"""What went wrong with a request, told apart, each as a sentence that says what to do."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from kvtui.domain.http_reading import Failure
from kvtui.domain.scrape import Scrape
from kvtui.parse.exposition import Page
from kvtui.parse.redact import safe
from kvtui.sources.client import httpx

_CHAIN_LIMIT: Final = 12
_NO_ROUTE: Final = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL))


def of_error(error: Exception, target: str, path: str, seconds: float) -> Failure:
    """An exception of httpx, of the name look-up or a time-out."""
    chain = list(_chain(error))
    found = _of_connection(chain, target)
    if found is not None:
        return found
    if isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout)):
        return Failure("timeout", f"{target} accepts no connection in time: wrong host, a firewall, or a machine that hangs.")
    if isinstance(error, (httpx.TimeoutException, TimeoutError)) or type(error).__name__ == "TimeoutError":
        return Failure("timeout", _slow(path, seconds))
    if isinstance(error, httpx.RemoteProtocolError) and "without sending a response" in str(error):
        return Failure(
            "broken",
            f"{target} closed the connection without an answer: it is ending, speaks no HTTP, or wants https:// instead of http://.",
        )
    if isinstance(error, httpx.HTTPError):
        return Failure("broken", f"The answer of {path} broke off or is no HTTP ({type(error).__name__}): kvtui asks again by itself.")
    return Failure("broken", f"{path} cannot be read ({type(error).__name__}).")


def _slow(path: str, seconds: float) -> str:
    if path in ("/server_info", "/get_server_info"):
        return f"{path} did not answer within {seconds:.0f} s: it waits for the scheduler, which is in a long step or hangs."
    return f"{path} did not answer within {seconds:.0f} s: the server's HTTP process is overloaded or hangs."


def _of_connection(chain: list[BaseException], target: str) -> Failure | None:
    for error in chain:
        if isinstance(error, ssl.SSLError):
            return _tls(error, target)
        if isinstance(error, socket.gaierror):
            return Failure("unreachable", f"The host name in {target} cannot be resolved: check its spelling.")
        if isinstance(error, ConnectionRefusedError):
            return Failure(
                "refused",
                f"Nothing listens at {target}: the server has ended, uses another port or is still starting, for 2 to 10 minutes.",
            )
        if isinstance(error, OSError) and error.errno in _NO_ROUTE:
            return Failure("unreachable", f"{target} cannot be reached from this machine: check the address and the network.")
    return None


def _tls(error: ssl.SSLError, target: str) -> Failure:
    # An error that was not raised by OpenSSL itself has no reason at all.
    reason = str(getattr(error, "reason", None) or "").upper()
    if isinstance(error, ssl.SSLCertVerificationError):
        why = safe(str(getattr(error, "verify_message", "") or "not trusted"), 120)
        return Failure(
            "tls", f"The certificate of {target} is not accepted ({why}): use the name it was issued for, and trust its authority."
        )
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"):
        return Failure("tls", f"{target} does not speak TLS: try http:// instead of https://.")
    return Failure("tls", f"TLS with {target} fails ({safe(reason or 'no reason told', 80)}).")


def _chain(error: BaseException) -> Iterator[BaseException]:
    pending: list[BaseException] = [error]
    seen: set[int] = set()
    while pending and len(seen) < _CHAIN_LIMIT:
        current = pending.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        # One connection attempt an address: their errors come as a group (3.11 and later) or as a list.
        pending += [inner for inner in getattr(current, "exceptions", ()) if isinstance(inner, BaseException)]
        pending += [inner for inner in (current.__cause__, current.__context__) if inner is not None]


def of_status(status: int, path: str, location: str, *, keyed: bool) -> Failure | None:
    """A status that is not 200; None where it is."""
    if status == 200:
        return None
    if status == 401:
        return Failure("unauthorized", _key_words(path, status, keyed=keyed))
    if status == 403:
        return Failure("forbidden", _key_words(path, status, keyed=keyed))
    if status == 404:
        return Failure("not-found", f"{path} does not exist here (404).")
    if 300 <= status < 400:
        where = f" to {safe(location.partition('?')[0], 80)}" if location else ""
        return Failure("redirect", f"{path} redirects{where}; redirects are not followed: point kvtui at the server itself.")
    if status == 503:
        return Failure("server-error", f"{path} answers 503: the server is starting or is about to end.")
    if status >= 500:
        return Failure("server-error", f"{path} answers {status}: the server failed; its log says why.")
    return Failure("status", f"{path} answers {status}, which SGLang does not: a proxy or another program stands there.")


def _key_words(path: str, status: int, *, keyed: bool) -> str:
    if path == "/metrics":
        return f"/metrics asks for credentials ({status}), which SGLang never does: a proxy in front of it wants them."
    if keyed:
        return f"{path} refuses the API key ({status}): it is not this server's --api-key."
    return f"{path} asks for the API key ({status}): give it in SGLANG_API_KEY or a key file; /metrics needs none."


_PAGES: Final = {
    "empty": "The metrics page is empty: no process of the server has written any yet.",
    "no-series": "The metrics page names SGLang's metrics and holds no values yet.",
    "vllm": "This is a vLLM server (its metrics begin with vllm:), not SGLang.",
    "router": "This is an SGLang router, not a server: point kvtui at the servers behind it.",
    "prometheus": "The metrics page is another program's: it has no sglang: series. Is this the server's own port?",
    "html": "A web page answers instead of metrics: wrong port, or a proxy's login page.",
    "json": "JSON answers instead of metrics: this port is not the server's.",
    "binary": "Bytes that are no text answer instead of metrics: wrong port.",
    "text": "The answer of /metrics is not a metrics page: wrong port?",
}


def of_scrape(scrape: Scrape) -> Failure | None:
    """A page whose numbers say nothing of the load; None where they do."""
    if scrape.usable:
        return None
    return Failure(
        "not-metrics",
        f"The metrics page holds {scrape.refused:,} values that are no numbers or cannot be true (NaN, infinite, negative) and no load: "
        "what is shown is from before.",
    )


def of_page(page: Page) -> Failure | None:
    """A body that holds no values of SGLang, or only its first part; None where it can be read."""
    if page.broken_off:
        return Failure("not-metrics", "The metrics page ends within a line: what it lacks is not known, so what is shown is from before.")
    words = _PAGES.get(page.kind)
    if words is None:
        return None
    # An empty page is the server's own and will fill; the others are not ours.
    return Failure("not-metrics", words)
