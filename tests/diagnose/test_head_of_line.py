"""On pages, few running beside free tokens is a large request at the head only where more ran before."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log
from machines import http, info, machine, page

from kvtui.diagnose.registry import diagnose


def pages(*parts):
    """Samples without log lines: (seconds, running), 20 waiting, 100 tokens a request in a pool of 10,000."""
    log = Log()
    for seconds, running in parts:
        for _ in range(seconds):
            log.decode(running, queued=20, m=100)
    line = log.store._columns[1]
    line[:] = type(line)("d", [float("nan")] * len(line))
    reading = http(now=log.at, scrape=page(log.at, running=4, queued=20), server_info=info())
    return [f.id for f in diagnose(machine(log, http_reading=reading, logged=False, now=log.at))]


def test_running_that_falls_while_requests_wait_is_held_at_the_head():
    assert "head-of-line" in pages((10, 30), (10, 8), (10, 30), (10, 8))


def test_running_that_still_grows_is_not():
    assert "head-of-line" not in pages((10, 8), (10, 12), (15, 30))
