"""GET from one server: an allow-list of exact paths, bounded bodies, no redirects, no key anywhere but in the request."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import zlib
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit

from kvtui.domain.http_reading import Failure
from kvtui.parse.redact import safe
from kvtui.sources.client import httpx
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.http_failures import of_error, of_status

METRICS: Final = "/metrics"
SERVER_INFO: Final = "/server_info"
OLD_SERVER_INFO: Final = "/get_server_info"
LOADS: Final = "/v1/loads"
MODEL_INFO: Final = "/model_info"
OLD_MODEL_INFO: Final = "/get_model_info"

ALLOWED: Final = frozenset((METRICS, SERVER_INFO, OLD_SERVER_INFO, LOADS, MODEL_INFO, OLD_MODEL_INFO))
"""The only paths ever asked. Many others accept GET and change the server: /flush_cache, /start_profile, /slow_down,
/release_memory_occupation ...; /health makes it generate (facts/observability.md 2.3)."""

CONNECT_S: Final = 1.0
BODY_LIMIT: Final = 10 << 20
"""Bytes of one answer after decompression; a page of 64 ranks has 4 MB."""
IDLE_S: Final = 4.0
"""Connections idle for longer are not used again: the server closes its own after 5 s."""
_SUFFIXES: Final = (*sorted(ALLOWED, key=len, reverse=True), "/v1", "/health", "/health_generate")


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with status 200."""

    body: bytes
    cut: bool
    """True: the end is missing, by our limit or because the connection broke."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address as typed, taken apart."""

    scheme: str
    host: str
    port: int
    prefix: str
    """Path in front of the server's own paths, where a proxy has one."""
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """Fit for the screen: no credentials, no query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return safe(f"{self.scheme}://{host}:{self.port}{self.prefix}", 200)

    @property
    def authority(self) -> str:
        """Host and port for the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """An address such as ``http://gpu7:30000`` or ``gpu7:30000``.

    A path that is one of the server's own (``/metrics``, ``/v1``) is dropped, and so are query and fragment.
    Raises ValueError with a sentence that repeats nothing secret.
    """
    text = text.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("This address cannot be read: write it as http://host:port.") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError("An address begins with http:// or https://.")
    if not parts.hostname or len(text) > 2_000 or any(c.isspace() or ord(c) < 32 for c in text):
        raise ValueError("This address names no host: write it as http://host:port.")
    prefix = parts.path.rstrip("/")
    for suffix in _SUFFIXES:
        if prefix.endswith(suffix):
            prefix = prefix[: -len(suffix)].rstrip("/")
            break
    return Address(
        parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), prefix, parts.username or "", parts.password or ""
    )


class HttpClient:
    """GETs of one server. One request a path at a time; several paths may be asked at once."""

    def __init__(
        self,
        base_url: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        api_key: str | None = None,
        verify: bool | str = True,
    ) -> None:
        """``verify``: False accepts any certificate, a text is the file of an authority.

        Raises ValueError for an unusable address or key.
        """
        self._address = parse_address(base_url)
        self.target = self._address.shown
        self._resolver = DaemonWorker("kvtui-resolver") if transport is None and not _is_ip(self._address.host) else None
        self._hosts: tuple[str, ...] = () if self._resolver else (self._address.host,)
        self._looking_up = asyncio.Lock()
        self.keyed = bool(api_key)
        headers = {"user-agent": "kvtui", "accept-encoding": "gzip", "host": self._address.authority}
        if api_key:
            headers["authorization"] = f"Bearer {_checked(api_key)}"
        auth = httpx.BasicAuth(unquote(self._address.user), unquote(self._address.password)) if self._address.user and not api_key else None
        self._client = httpx.AsyncClient(
            transport=transport,
            headers=headers,
            auth=auth,
            # Reading the list of authorities takes longer than a page; plain http has no use for it.
            verify=_verification(verify) if self._address.scheme == "https" else False,
            # No proxy, no netrc: what the environment says must not get the key or the traffic.
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=len(ALLOWED), keepalive_expiry=IDLE_S),
        )

    def __repr__(self) -> str:
        return f"HttpClient({self.target!r})"

    async def get(self, path: str, seconds: float, *, limit: int = BODY_LIMIT) -> Answer | Failure:
        """One GET, done within ``seconds`` plus the time to connect. Raises ValueError for a path that is not allowed."""
        if path not in ALLOWED:
            raise ValueError(f"{path} is not on the list of paths that may be read")
        try:
            return await asyncio.wait_for(self._get(path, seconds, limit), CONNECT_S + seconds)
        except StillHanging:
            return Failure(
                "unreachable", f"Looking up the host name of {self.target} takes too long: use its number, or check the resolver."
            )
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, asyncio.TimeoutError) as error:
            return of_error(error, self.target, path, seconds)

    async def _get(self, path: str, seconds: float, limit: int) -> Answer | Failure:
        async with self._looking_up:
            hosts = self._hosts or await self._resolve()
        for host in hosts[:-1]:
            try:
                answer = await self._ask(host, path, seconds, limit)
            except httpx.ConnectError:
                continue
            self._prefer(host)
            return answer
        return await self._ask(hosts[-1], path, seconds, limit)

    async def _resolve(self) -> tuple[str, ...]:
        """Addresses of a host name, looked up in a thread that does not hold the exit when it hangs."""
        host, port = self._address.host, self._address.port
        if self._resolver is None:
            return (host,)
        found = await self._resolver.run(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), CONNECT_S)
        # IPv4 first: a server that listens on 0.0.0.0 refuses the other, which costs a connection a second.
        unique = dict.fromkeys(str(entry[4][0]) for entry in sorted(found, key=lambda entry: entry[0] != socket.AF_INET))
        self._hosts = tuple(unique)[:4]
        if not self._hosts:
            raise socket.gaierror(socket.EAI_NONAME, "no address")
        return self._hosts

    def _prefer(self, host: str) -> None:
        self._hosts = (host, *(other for other in self._hosts if other != host))

    async def _ask(self, host: str, path: str, seconds: float, limit: int) -> Answer | Failure:
        address = self._address
        authority = f"[{host}]" if ":" in host else host
        request = self._client.build_request(
            "GET",
            f"{address.scheme}://{authority}:{address.port}{address.prefix}{path}",
            headers={"accept": "text/plain;version=0.0.4" if path == METRICS else "application/json"},
            timeout=httpx.Timeout(seconds, connect=CONNECT_S, pool=CONNECT_S),
            extensions={"sni_hostname": address.host} if address.scheme == "https" else {},
        )
        response = await self._client.send(request, stream=True)
        try:
            failure = of_status(response.status_code, path, response.headers.get("location", ""), keyed=self.keyed)
            return failure if failure is not None else await _body(response, path, limit)
        finally:
            # Closing a broken connection may fail again; what was read is already known.
            with contextlib.suppress(httpx.HTTPError, OSError):
                await response.aclose()

    def forget_addresses(self) -> None:
        """Look the host name up again next time: it may have moved."""
        if self._resolver is not None and not self._resolver.hanging:
            self._hosts = ()

    async def close(self) -> None:
        """Let go of connections; not to be used afterwards."""
        if self._resolver is not None:
            self._resolver.close()
        with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
            await self._client.aclose()


async def _body(response: httpx.Response, path: str, limit: int) -> Answer | Failure:
    """The body up to ``limit`` bytes; inflated piece by piece, so that a small answer cannot become a huge one."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        return Failure("broken", f"{path} answers in the coding {safe(coding, 30)}, which was not asked for.")
    unzip = zlib.decompressobj(wbits=31) if coding == "gzip" else None
    body = bytearray()
    cut = False
    try:
        async for chunk in response.aiter_raw():
            room = limit - len(body)
            piece = unzip.decompress(chunk, room + 1) if unzip else chunk
            body += piece[:room]
            if len(piece) > room or (unzip and unzip.unconsumed_tail):
                cut = True
                break
    except zlib.error:
        return Failure("broken", f"The answer of {path} is said to be gzip and is not.")
    except (httpx.RemoteProtocolError, httpx.ReadError):
        # Half a metrics page still tells its gauges.
        if path != METRICS or not body:
            raise
        cut = True
    if cut and path != METRICS:
        return Failure("too-big", f"The answer of {path} is larger than {limit >> 20} MiB and was not read.")
    return Answer(bytes(body), cut)


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _checked(key: str) -> str:
    key = key.strip()
    if not key.isascii() or not key.isprintable() or len(key) > 4_096:
        raise ValueError("The API key holds characters that no key has.")
    return key


def _verification(verify: bool | str) -> bool | ssl.SSLContext:
    return verify if isinstance(verify, bool) else ssl.create_default_context(cafile=verify)
