"""One SGLang server over HTTP: each endpoint at its own pace in its own task, merged into one reading.

Paces (facts/observability.md 2.3), unless a person asks for slower ones: ``/metrics`` each second; ``/server_info`` at most
once a minute, since it waits for the scheduler; ``/v1/loads`` each five seconds from 0.5.15 on, where it costs the scheduler
nothing, and as often as ``/metrics`` where that is not there; else once a minute; ``/model_info`` once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from kvtui.domain.frame import SourceHealth
from kvtui.domain.http_reading import Failure, HttpReading
from kvtui.domain.reading import Missing
from kvtui.domain.scrape import Scrape
from kvtui.domain.settings import Intervals
from kvtui.parse.json_body import decode
from kvtui.parse.loads import read_loads
from kvtui.parse.page_lines import PageLines
from kvtui.parse.server_info import read_model_info, read_server_info
from kvtui.ports import Clock
from kvtui.sources.daemon import DaemonWorker, StillHanging
from kvtui.sources.endpoint import UNREACHED, Endpoint
from kvtui.sources.exposition_reader import PageReader
from kvtui.sources.http import LOADS, METRICS, MODEL_INFO, OLD_MODEL_INFO, OLD_SERVER_INFO, SERVER_INFO, HttpClient
from kvtui.sources.http_failures import of_page, of_scrape
from kvtui.sources.server_memory import ServerMemory

if TYPE_CHECKING:
    import httpx

USUAL: Final = Intervals()
SLOW_S: Final = 60.0
METRICS_TIMEOUT_S: Final = 2.0
INFO_TIMEOUT_S: Final = 3.0
_STEP_S: Final = 1.0
_SOON_S: Final = 0.1
_CANCELS: Final = 20
_CANCEL_S: Final = 0.02
_OFF_LOOP: Final = 1 << 20
"""Bodies larger than this are read in a thread: they take longer than a frame."""

T = TypeVar("T")


class SglangSource:
    """Reads one server. ``read`` never waits for the network and never raises for what a server does."""

    name = "server"
    every = USUAL.metrics

    def __init__(
        self,
        base_url: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
        api_key: str | None = None,
        *,
        verify: bool | str = True,
        intervals: Intervals = USUAL,
    ) -> None:
        """Raises ValueError for an address or key that cannot be used."""
        self._http = HttpClient(base_url, transport=transport, api_key=api_key, verify=verify)
        self.target = self._http.target
        self._clock = clock
        self.every = min(intervals.metrics, intervals.loads)
        self._metrics_every, self._loads_every = intervals.metrics, intervals.loads
        self._metrics = Endpoint("metrics", intervals.metrics)
        self._info = Endpoint("server_info", intervals.server_info, costly=True)
        self._loads = Endpoint("loads", SLOW_S, costly=True)
        self._model = Endpoint("model_info", SLOW_S)
        self._lines, self._pages = PageLines(), PageReader()
        self._known = ServerMemory()
        self._model_wanted, self._info_wanted = True, False
        self._info_path, self._model_path = SERVER_INFO, MODEL_INFO
        self._news = asyncio.Event()
        self._worker = DaemonWorker("kvtui-bodies")
        self._tasks: list[asyncio.Task[None]] = []

    async def read(self) -> HttpReading:
        """What is known now; the first call starts the tasks. Rows and events are those since the read before."""
        self._start()
        known = self._known
        return HttpReading(
            now=self._clock.now(),
            target=self.target,
            health=self._health(),
            failures=self._failures(),
            model=known.model,
            notes=known.scrape.notes if isinstance(known.scrape, Scrape) else (),
            **known.told(),
        )

    def rest(self, least: float) -> None:
        """Seconds that lie between two pages at least; 0: as many as were asked for."""
        self._metrics.every = max(self._metrics_every, least)

    async def settle(self, seconds: float, pages: int = 1) -> HttpReading:
        """For one look: wait until every endpoint was tried and ``pages`` pages are there, at most ``seconds``; then ``read``."""
        self._start()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._settled(pages), seconds)
        return await self.read()

    async def _settled(self, pages: int) -> None:
        while True:
            tried = self._metrics.tried and self._info.tried and self._model.tried and (self._loads.tried or not self._known.loads_exist)
            if tried and (self._metrics.failure is not None or self._known.pages >= pages):
                return
            self._news.clear()
            await self._news.wait()

    async def close(self) -> None:
        """End the tasks and let go of connections."""
        pending = set(self._tasks)
        for _ in range(_CANCELS):
            if not pending:
                break
            # wait_for of Python 3.10 and 3.11 loses a cancellation that meets the result: so it is said again.
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=_CANCEL_S)
        self._tasks = []
        self._worker.close()
        await self._http.close()

    def _start(self) -> None:
        if not self._tasks:
            jobs = ((self._metrics, self._read_metrics), (self._info, self._read_info), (self._loads, self._read_loads))
            self._tasks = [asyncio.ensure_future(self._poll(endpoint, job)) for endpoint, job in (*jobs, (self._model, self._read_model))]

    async def _poll(self, endpoint: Endpoint, job: Callable[[], Awaitable[Failure | None]]) -> None:
        """Ask for ever. Waiting is counted in sleeps, not read off the clock, which may be set."""
        while True:
            begun = self._clock.now()
            if self._wants(endpoint):
                failure = await self._outcome(endpoint, job)
                at = self._clock.now()
                if failure is None:
                    endpoint.succeeded(at)
                else:
                    endpoint.failed(failure, at)
                    if failure.kind in UNREACHED:
                        self._http.forget_addresses()
                self._news.set()
                left = endpoint.pause - (0.0 if endpoint.costly else min(max(0.0, at - begun), endpoint.pause / 2))
            else:
                left = _STEP_S if self._info.tried else _SOON_S
            await self._rest(endpoint, left)

    async def _rest(self, endpoint: Endpoint, left: float) -> None:
        """Sleep in steps, since a pause may become shorter.

        The release is learnt, another endpoint reaches the server again, or the page claims work and shows none.
        """
        waited = 0.0
        while waited < left:
            step = min(_STEP_S, left - waited)
            await self._clock.sleep(step)
            waited += step
            failure = endpoint.failure
            if failure is None and (waited >= self._pace(endpoint) or self._is_new_to(endpoint)):
                return
            if failure is not None and failure.kind in UNREACHED and self._back:
                return

    async def _outcome(self, endpoint: Endpoint, job: Callable[[], Awaitable[Failure | None]]) -> Failure | None:
        try:
            return await job()
        except StillHanging:
            return Failure("too-big", f"The answer of {endpoint.name} takes too long to read.")
        except Exception as error:  # noqa: BLE001 (one endpoint's fault must not end the others, nor pass unseen)
            return Failure("broken", f"kvtui failed on an answer of {endpoint.name} ({type(error).__name__}): please report it.")

    def _is_new_to(self, endpoint: Endpoint) -> bool:
        """True where the server is another process than the one that this endpoint told of: it may be asked at once."""
        return (endpoint is self._model and self._model_wanted) or (endpoint is self._info and self._info_wanted)

    def _pace(self, endpoint: Endpoint) -> float:
        return self._loads_pace if endpoint is self._loads else endpoint.every

    @property
    def _loads_pace(self) -> float:
        """Seconds between two answers of ``/v1/loads``."""
        if self._known.motion.rest.doubtful:
            return _STEP_S
        if not self._known.loads_are_free:
            return SLOW_S
        return self._loads_every if self._metrics.failure is None else min(self._loads_every, self._metrics.every)

    @property
    def _back(self) -> bool:
        """True where another endpoint reaches the server: no need to wait out a long pause."""
        return self._metrics.tried and (self._metrics.failure is None or self._metrics.failure.kind not in UNREACHED)

    def _wants(self, endpoint: Endpoint) -> bool:
        if endpoint is self._model:
            return self._model_wanted
        if endpoint is self._loads:
            return self._info.tried and self._known.loads_exist
        return True

    async def _off_loop(self, size: int, call: Callable[[], T]) -> T:
        return call() if size <= _OFF_LOOP else await self._worker.run(call, 10.0)

    async def _read_metrics(self) -> Failure | None:
        answer = await self._http.get(METRICS, METRICS_TIMEOUT_S)
        if isinstance(answer, Failure):
            if answer.kind == "refused":
                self._known.went_away(self._clock.now())
            return answer
        at = self._clock.now()
        page = await self._off_loop(len(answer.body), lambda: self._lines.read(answer.body, cut=answer.cut))
        failure = of_page(page)
        if failure is not None:
            return failure
        scrape = await self._off_loop(len(answer.body), lambda: self._pages.scrape(page, at, self._known.release))
        if (failure := of_scrape(scrape)) is not None:
            return failure
        if self._known.page(scrape):
            self._model_wanted = self._info_wanted = True
            self._info_path, self._model_path = SERVER_INFO, MODEL_INFO
        return None

    async def _json(self, path: str, seconds: float) -> Mapping[str, object] | Failure:
        answer = await self._http.get(path, seconds)
        if isinstance(answer, Failure):
            return answer
        document = await self._off_loop(len(answer.body), lambda: decode(answer.body))
        return Failure("not-json", f"{path}: {document.reason}.") if isinstance(document, Missing) else document

    async def _read_info(self) -> Failure | None:
        self._info_wanted = False
        found = await self._json(self._info_path, INFO_TIMEOUT_S)
        if isinstance(found, Failure) and found.kind == "not-found":
            # Releases up to 0.5.3 know only the old name; later ones write a warning into their log for it.
            self._info_path = OLD_SERVER_INFO if self._info_path == SERVER_INFO else SERVER_INFO
            if self._info_path == OLD_SERVER_INFO:
                found = await self._json(self._info_path, INFO_TIMEOUT_S)
        if isinstance(found, Failure):
            # Does the HTTP process still answer? That tells a hung scheduler from a hung server.
            self._model_wanted = self._model_wanted or found.kind == "timeout"
            return found
        info = read_server_info(found, self._clock.now())
        if isinstance(info, Missing):
            return Failure("not-json", f"{self._info_path}: {info.reason}.")
        self._known.info = info
        return None

    async def _read_loads(self) -> Failure | None:
        found = await self._json(LOADS, METRICS_TIMEOUT_S)
        if isinstance(found, Failure):
            return found
        loads = read_loads(found, self._clock.now())
        if isinstance(loads, Missing):
            return Failure("not-json", f"{LOADS}: {loads.reason}.")
        self._known.loads(loads, alone=self._metrics.failure is not None)
        self._loads.every = self._loads_pace
        return None

    async def _read_model(self) -> Failure | None:
        found = await self._json(self._model_path, METRICS_TIMEOUT_S)
        if isinstance(found, Failure) and found.kind == "not-found":
            self._model_path = OLD_MODEL_INFO if self._model_path == MODEL_INFO else MODEL_INFO
            if self._model_path == OLD_MODEL_INFO:
                found = await self._json(self._model_path, METRICS_TIMEOUT_S)
        if isinstance(found, Failure):
            return found
        model = read_model_info(found, self._clock.now())
        if isinstance(model, Missing):
            return Failure("not-json", f"{self._model_path}: {model.reason}.")
        self._known.model, self._model_wanted = model, False
        return None

    def _failures(self) -> Mapping[str, Failure]:
        found = {endpoint.name: endpoint.failure for endpoint in (self._metrics, self._info, self._loads, self._model)}
        return MappingProxyType({name: failure for name, failure in found.items() if failure is not None})

    def _health(self) -> tuple[SourceHealth, ...]:
        parts = [
            self._metrics.health(self.target + METRICS, self._metrics_reason()),
            self._info.health(self.target + self._info_path, self._info_reason()),
            self._model.health(self.target + self._model_path),
        ]
        if self._known.loads_exist:
            parts.append(self._loads.health(self.target + LOADS))
        return tuple(parts)

    def _metrics_reason(self) -> str | None:
        failure = self._metrics.failure
        if failure is None and isinstance(self._known.scrape, Scrape) and (self._known.scrape.refused or not self._known.scrape.whole):
            return " ".join(self._known.scrape.notes)
        if failure is None or failure.kind != "not-found":
            return None
        if self._info.tried and self._info.failure is None:
            return "The server runs without --enable-metrics, so it has no /metrics: start it with that flag."
        others = [endpoint.failure.kind for endpoint in (self._info, self._model) if endpoint.failure is not None]
        if others == ["not-found", "not-found"]:
            return "This port answers and knows none of SGLang's paths: it is another program's, or a proxy needs a path in front."
        return "/metrics does not exist here (404): if this is the server, start it with --enable-metrics."

    def _info_reason(self) -> str | None:
        failure = self._info.failure
        if failure is None or failure.kind != "timeout" or self._model.failure is not None or not self._model.tried or self._model_wanted:
            return None
        if not self._known.has_served:
            return f"{self._info_path} does not answer yet: a server that skipped its warm-up answers it only after its first request."
        return (
            f"The HTTP process answers, the scheduler does not ({self._info_path} took over {INFO_TIMEOUT_S:.0f} s): a long step or a hang."
        )
