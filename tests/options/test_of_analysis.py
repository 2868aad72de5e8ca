"""What the levers see of the machine, and the same arithmetic on every real log there is."""

from dataclasses import MISSING, replace

import builders as b
import pytest
from reading import SHARED, analysis_of

from kvtui.domain.gpu import Clocks, Gpu, GpuMemory, GpuProcess, GpuReading
from kvtui.domain.health import SourceHealth
from kvtui.domain.host import HostReading
from kvtui.domain.process import FoundServer, ServerProcess
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import GIB
from kvtui.options.of_analysis import context_of
from kvtui.options.plan import best_safe, combine
from kvtui.options.registry import estimates

HEALTH = SourceHealth("nvml", "this machine", "live")


def gpu(index, *, links=0, foreign=0, clock=12_481):
    processes = [GpuProcess(100 + index, Known(80 * GIB))] + ([GpuProcess(7, Known(foreign))] if foreign else [])
    return Gpu(
        index, Known("RTX PRO 6000"), Known(f"GPU-{index}"), Known("0"), Known(GpuMemory(95 * GIB, 80 * GIB, 15 * GIB)), processes=Known(tuple(processes)),
        clocks=Clocks(memory=Known(clock), memory_max=Known(clock)), nvlinks=Known(links), bus_width=Known(512),
    )  # fmt: skip


def seen(gpus, pids=range(100, 108)):
    found = FoundServer(
        main=Known(100), processes=tuple(ServerProcess(pid, "scheduler", "sglang") for pid in pids), command=Missing("?"), **unknown_found()
    )  # fmt: skip
    base = b.founding()
    host = HostReading(HEALTH, None, memory_available=Known(396 * 10**9))
    return replace(base, frame=replace(base.frame, gpus=GpuReading(tuple(gpus), HEALTH, 0.0), host=host, found=found))


def unknown_found():
    """Fields of a FoundServer that have no default."""
    taken = {"main", "processes", "command"}
    fields = FoundServer.__dataclass_fields__.values()
    return {f.name: Missing("?") for f in fields if f.name not in taken and f.default is MISSING and f.default_factory is MISSING}


def test_the_machine_reaches_the_levers():
    made = context_of(seen([gpu(i, foreign=GIB if i == 3 else 0, clock=12_481 if i else 12_000) for i in range(8)]))
    assert made.link == "pcie"
    assert made.host_available_gb == pytest.approx(396)
    # facts/diagnoses.md V16: 2 x clock x bus / 8; the slowest GPU sets the step
    assert made.bandwidth.value == pytest.approx(2 * 12_000e6 * 512 / 8)
    assert made.foreign_gib.value == pytest.approx(1.0)
    assert context_of(seen([gpu(i, links=18) for i in range(8)])).link == "nvlink"


def test_without_a_machine_nothing_is_made_up():
    made = context_of(b.founding())
    assert made.link is None
    assert made.host_available_gb is None
    assert isinstance(made.bandwidth, Missing)
    assert isinstance(made.foreign_gib, Missing)


LOGS = sorted((SHARED / "cases").glob("*/input.log")) + sorted((SHARED / "traces").glob("*/*.log"))


@pytest.mark.skipif(not LOGS, reason="no shared logs beside the repository")
def test_on_every_real_log_a_plan_of_one_lever_is_that_lever():
    for path in LOGS:
        made = context_of(analysis_of(path.read_bytes()))
        told = estimates(made)
        for estimate in told:
            if not estimate.applies:
                assert estimate.why_not, path
                continue
            alone = combine(made, told, {estimate.id})
            assert alone.tokens == estimate.tokens, (path, estimate.id)
            assert alone.headroom_gib == pytest.approx(estimate.headroom_gib, abs=0.01), (path, estimate.id)
            if alone.tok_s is not None and estimate.tok_s is not None:
                assert alone.tok_s.mid == pytest.approx(estimate.tok_s.mid, rel=0.03), (path, estimate.id)
        best = best_safe(made, told)
        assert best is None or best.headroom_gib >= 3, path
