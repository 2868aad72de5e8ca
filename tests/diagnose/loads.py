"""Builders: a server's log as samples, without a parser."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType

from kvtui.diagnose.context import Context, context_of
from kvtui.domain.account import Account, Identity
from kvtui.domain.boot import Boot, FinalLine, RankMemory, Setting
from kvtui.domain.events import Event
from kvtui.domain.frame import Frame
from kvtui.domain.rank import MAIN
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.samples import DECODE, PREFILL, SampleStore

NONE = Missing("not in this log")
LOG = Where("log", "test", 1)


class Log:
    """Batch lines one after the other, one second a decode line."""

    def __init__(self, *, at: float = 1000.0, dp: int = 0, store: SampleStore | None = None) -> None:
        self.at, self.dp, self.line = at, dp, 10
        self.store = SampleStore() if store is None else store

    def _add(self, **values: float) -> None:
        self.line += 1
        self.store.append({"at": self.at, "line": self.line, "dp": self.dp, "pp": 0, **values})

    def decode(self, running: float, *, queued: float = 0, pool: int = 10_000, m: float = 300, tput: float = 0, **more: float) -> None:
        self.at += 1
        rate = tput or running * 40
        self._add(kind=DECODE, running=running, queued=queued, tokens=running * m, usage=running * m / pool, gen_tput=rate, **more)

    def prefill(self, new: float, *, running: float = 4, seqs: float = 1, cached: float = 0, queued: float = 0, usage: float = 0.3) -> None:
        self._add(kind=PREFILL, running=running, queued=queued, usage=usage, new_token=new, new_seq=seqs, cached_token=cached)


def account(**given: object) -> Account:
    identity = Identity(NONE, NONE, NONE, NONE, NONE, NONE, NONE, False, NONE, NONE, None, "")
    fields: dict[str, object] = {field.name: NONE for field in dataclasses.fields(Account)}
    fields.update(identity=identity, cell_basis="unknown", cell_formula="", tolerance_tokens=0, running_cap_why="", causes=(), notes=())
    for name, value in given.items():
        fields[name] = value if isinstance(value, (str, tuple)) else Known(value, None, LOG)
    return Account(**fields)  # type: ignore[arg-type]


def boot(
    *,
    pool: int | None = 10_000,
    cap: int = 64,
    chunk: int = 8192,
    state: str = "up",
    captures: tuple = (),
    host: tuple = (),
    **settings: object,
) -> Boot:
    final = None if pool is None else FinalLine(pool, chunk, None, cap, 4096, None, None, LOG)
    memory = RankMemory(MAIN, NONE, captures=captures, host_pools=host, final=final)
    options = {name: Setting(name, value, "server_args", LOG) for name, value in settings.items()}  # type: ignore[arg-type]
    return Boot(0, 1, 9, None, None, state, NONE, settings=MappingProxyType(options), ranks=(memory,))  # type: ignore[arg-type]


def context(
    log: Log | None = None,
    *,
    events: tuple[Event, ...] = (),
    start: Boot | None = None,
    now: float | None = None,
    finished: bool = True,
    **given: object,
) -> Context:
    started = boot() if start is None else start
    if started.final is not None:
        given = {"tokens_reported": started.final.max_total_num_tokens, "running_cap": started.final.max_running_requests, **given}
    view = (log or Log()).store.view()
    when = now if now is not None else (log.at if log is not None else None)
    frame = Frame(when, finished, (started,), -1, view, events)
    return context_of(frame, account(**given))


def event(kind: str, text: str = "line", *, at: float = 1010.0, line: int = 500, **fields: float) -> Event:
    return Event(kind, at, line, text, fields=MappingProxyType(fields))  # type: ignore[arg-type]
