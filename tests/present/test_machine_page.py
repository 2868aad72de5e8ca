"""The machine page and the line on the memory pane: what is known in figures, what is not in words, whatever the driver says."""

import math
from dataclasses import replace

import builders as b
import pytest

from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, GpuReading, MemoryErrors
from kvtui.domain.health import SourceHealth
from kvtui.domain.host import HostReading, ProcessUse
from kvtui.domain.process import FoundServer, ServerProcess
from kvtui.domain.reading import Known, Missing
from kvtui.present.line import line_cells, plain
from kvtui.present.machine import gpu_hint, machine_lines
from kvtui.present.state import ViewState

GIB = 1 << 30
LIVE = SourceHealth("nvml", "this machine", "live", "", 0.0, 100.0)
HOSTILE = "\x1b[2J\u202e[bold]" + "x" * 5_000


def gpu(index=0, **more):
    given = {"memory": Known(GpuMemory(80 * GIB, 40 * GIB, 40 * GIB)), "power": Known(500.0), "temperature": Known(60)}
    return Gpu(index, Known("H200"), Missing("?"), Missing("?"), **{**given, **more})


def frame(*gpus, host=None, found=None, health=LIVE, stale=False, now=103.0):
    base = b.founding().frame
    return replace(base, now=now, gpus=GpuReading(gpus, health, 100.0, stale=stale), host=host, found=found, sources=(health,))


def page(shown, width=120):
    analysis = replace(b.founding(), frame=shown)
    lines = machine_lines(ViewState(analysis), width)
    assert all(line_cells(line) <= width for line in lines)
    return "\n".join(plain(line) for line in lines)


def test_what_is_not_read_is_said():
    base = b.founding().frame
    text = page(replace(base, gpus=None, host=None))
    assert "no GPU is read" in text
    assert "its host is not read" in text


def test_ages_are_shown_and_old_ones_grow():
    assert "read 3 s ago" in page(frame(gpu()))
    assert "read 63 s ago" in page(frame(gpu(), now=163.0))


def test_processes_of_others_are_named_apart():
    ours = FoundServer(Known(7), (ServerProcess(7, "scheduler", "sglang::scheduler_TP0"),), Known("x"))
    held = Known((GpuProcess(7, Known(30 * GIB)), GpuProcess(9, Known(5 * GIB)), GpuProcess(11, Missing("no permission"))))
    mine, others = page(frame(gpu(processes=held), found=ours)).split("other processes on the GPUs, not this server's")
    assert "30.00 GiB  sglang::scheduler_TP0" in mine
    assert "5.00 GiB" in others
    assert "GPU 0 –" in others


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"clocks": Clocks(reasons=Known(("hardware thermal slowdown",)))}, "GPU 0 clocks held by hardware thermal slowdown"),
        ({"errors": MemoryErrors(remap_failed=Known(True))}, "row remap failed: exchange the card"),
        ({"errors": MemoryErrors(uncorrected=Known(3))}, "3 uncorrected ECC errors"),
        ({"lost": True}, "GPU 0 is lost"),
        ({"clocks": Clocks(reasons=Known(("software power cap",)))}, "500 W · 60 °C"),
    ],
)
def test_the_line_on_the_memory_pane(more, words):
    assert words in gpu_hint(frame(gpu(**more)))[0]


def test_a_driver_that_hangs_or_is_absent_is_the_line():
    waiting = replace(LIVE, state="waiting", reason="the NVIDIA driver does not answer")
    assert gpu_hint(frame(gpu(), health=waiting, stale=True)) == ("the NVIDIA driver does not answer", "warn")
    assert gpu_hint(frame(health=replace(LIVE, state="failed", reason="no GPU seen here")))[0] == "no GPU seen here"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_nothing_that_is_read_breaks_the_page(width):
    odd = gpu(power=Known(math.nan), temperature=Known(10**30), memory=Missing(HOSTILE), processes=Known((GpuProcess(1, Known(-5)),) * 500))
    odd = replace(odd, name=Known(HOSTILE))
    use = ProcessUse(1, HOSTILE, Missing(HOSTILE), Known(math.inf), Known(99.0))
    host = HostReading(replace(LIVE, reason=HOSTILE), None, memory_total=Known(10**25), processes=(use,) * 500)
    text = page(frame(odd, host=host, health=replace(LIVE, reason=HOSTILE)), width)
    assert "\x1b" not in text
    assert "\u202e" not in text
