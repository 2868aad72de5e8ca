"""What a target opens."""

import pytest

from kvtui import wiring
from kvtui.domain.process import Discovery, FoundServer, ServerProcess
from kvtui.domain.reading import Known
from kvtui.wiring import Request, open_source


def bound_to(host):
    return FoundServer(
        main=Known(7), processes=(ServerProcess(7, "main", "sglang"),), command=Known("sglang"), host=Known(host), port=Known(30_000)
    )


@pytest.mark.parametrize(
    ("target", "host", "asked"),
    [
        (":30000", "10.0.0.7", "http://10.0.0.7:30000"),
        (":30000", "0.0.0.0", "http://127.0.0.1:30000"),  # noqa: S104 (what a server binds)
        ("http://127.0.0.1:30000", "10.0.0.7", "http://127.0.0.1:30000"),
        (":30001", "10.0.0.7", "http://127.0.0.1:30001"),
    ],
)
async def test_a_port_alone_is_asked_where_its_server_listens(monkeypatch, target, host, asked):
    monkeypatch.setattr(wiring, "servers_here", lambda: Discovery((bound_to(host),), ()))
    source = open_source(Request(target))
    try:
        assert source._http.source.target == asked
    finally:
        await source.close()
