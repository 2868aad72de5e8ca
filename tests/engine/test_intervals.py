"""The pace that a person asks for is the pace at which a server is asked."""

import asyncio

import pytest
from fakes.sglang_server import FakeSglang, StepClock

from kvtui.domain.process import FoundServer
from kvtui.domain.reading import Known
from kvtui.domain.settings import Intervals, Settings
from kvtui.sources.sglang import SglangSource
from kvtui.wiring import Request, open_source


async def requests(intervals, seconds, version="0.5.23"):
    clock, fake = StepClock(), FakeSglang(version)
    source = SglangSource("http://127.0.0.1:30000", clock, fake.transport(), intervals=intervals)
    reading = asyncio.ensure_future(source.read())
    await clock.advance(seconds)
    await reading
    await source.close()
    return [path for _, path in fake.requests]


async def test_slower_paces():
    asked = await requests(Intervals(metrics=5.0, loads=4.0, server_info=120.0), 121)
    assert 24 <= asked.count("/metrics") <= 26
    # The first answer tells that it costs nothing; it comes with the slow pace.
    assert 28 <= asked.count("/v1/loads") <= 32
    assert asked.count("/server_info") == 2


async def test_loads_of_an_old_server_stay_at_once_a_minute():
    asked = await requests(Intervals(loads=1.0), 121, "0.5.9")
    assert asked.count("/v1/loads") <= 3


async def test_a_source_is_read_as_often_as_it_is_asked():
    source = SglangSource("http://127.0.0.1:30000", StepClock(), FakeSglang().transport(), intervals=Intervals(metrics=5.0, loads=3.0))
    assert source.every == 3.0
    await source.close()


@pytest.mark.parametrize("with_log", [True, False])
async def test_every_source_of_a_server_has_its_pace(tmp_path, with_log):
    log = tmp_path / "a.log"
    log.write_text("")
    pace = Intervals(metrics=2.0, loads=4.0, gpu=7.0, host=11.0, log=3.0, server_info=600.0)
    found = FoundServer(Known(1), (), Known("m"), port=Known(30000))
    source = open_source(Request(found, log=str(log) if with_log else None, settings=Settings(intervals=pace)))
    assert (source._http.source.every, source._gpus.source.every, source._host.source.every) == (2.0, 7.0, 11.0)
    assert source._http.source._info.every == 600.0
    assert source._http.source._metrics.every == 2.0
    if with_log:
        assert source._log.source.every == 3.0
    await source.close()


async def test_a_log_alone_has_its_pace(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("")
    source = open_source(Request(str(log), settings=Settings(intervals=Intervals(log=5.0))))
    assert source._log.source.every == 5.0
    await source.close()
