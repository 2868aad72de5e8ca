from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from loads import Log, account, boot, event
from machines import failure, gpu, host, http, info, known, machine, page, steady

from kvtui.diagnose.registry import ORDER, diagnose, registered
from kvtui.diagnose.rules import server_stuck
from kvtui.domain.account import Identity
from kvtui.domain.answers import LoadRow, Loads
from kvtui.domain.estimate import OPTION_IDS
from kvtui.domain.geometry import Attention, Geometry
from kvtui.domain.gpu import Clocks, MemoryErrors, PcieLink
from kvtui.domain.host import CgroupMemory, Pressure, ProcessUse
from kvtui.domain.latency import Latency, Quantile, Spread
from kvtui.domain.motion import Motion
from kvtui.domain.rates import Rates
from kvtui.domain.reading import Known, Missing
from kvtui.domain.units import GB, GIB

LOST = gpu(0, lost=True)
DENSE = Geometry("m", "M", Attention.GQA, 80, 8, 128, 128, parameters=70e9, active_parameters=70e9)


def ids(context):
    return [finding.id for finding in diagnose(context)]


def found(context, verdict):
    return next(finding for finding in diagnose(context) if finding.id == verdict)


def clocks_of(*reasons, sm=1200):
    return Clocks(sm=known(sm), sm_max=known(1980), memory=known(2619), memory_max=known(2619), reasons=known(reasons))


def roofline(step_s, *, tp=8, gpus=None, nvlinks=0, weights=17.0, **load):
    """A dense model whose step reads 17 GiB of weights and a little KV a GPU; the peak is 3.35 TB/s."""
    none = account().identity
    identity = dataclasses.replace(none, geometry=DENSE, tp=known(tp))
    assert isinstance(identity, Identity)
    log = Log()
    for _ in range(80):
        log.decode(20, tput=20 / step_s, graph=1.0, **load)
    cards = gpus or tuple(gpu(i, nvlinks=known(nvlinks)) for i in range(tp))
    context = machine(log, gpus=cards, host_reading=host(), cell_bytes=10_000.0, weights_gib=weights)
    return dataclasses.replace(context, account=dataclasses.replace(context.account, identity=identity))


def pages(**more):
    return steady(pages=True, **more)


def grammar(waiting):
    return machine(pages(), logged=False, http_reading=http(scrape=page(running=20, queued=0, grammar_queued=waiting), server_info=info()))


def frozen():
    motion = Motion("stuck", "Nothing has moved for 40 s although 9 requests run and 4 wait: the scheduler seems to hang.", 960, 960)
    return machine(pages(), logged=False, http_reading=http(scrape=page(running=9, queued=4), motion=motion, server_info=info()), now=1000)


def pd(**columns):
    return machine(_pd_log(columns))


def _pd_log(columns):
    log = Log()
    for _ in range(60):
        log.decode(20, **columns)
    return log


def late_tokens(itl):
    spread = Spread(500, 60, itl, *(Quantile(0.0, 1.0, itl) for _ in range(4)))
    missing = Missing("none")
    latency = Latency(1000.0, missing, spread, missing, missing)
    return machine(pages(), logged=False, http_reading=http(scrape=page(running=20), latency=latency, server_info=info()))


SITUATIONS = {
    "hardware-fault": lambda: machine(events=(event("warning", "NVRM: Xid (PCI:0000:81:00): 79, GPU has fallen off the bus"),)),
    "host-pressure": lambda: machine(host_reading=host(swap_in=known(5e7), memory_available=known(10 * GIB))),
    "server-stuck": frozen,
    "grammar": lambda: grammar(12),
    "pd-queue": lambda: pd(transfer=14.0),
    "clocks": lambda: machine(gpus=(gpu(0), gpu(1, clocks=clocks_of("hardware slowdown"))), host_reading=host()),
    "foreign-memory": lambda: machine(gpus=(gpu(0, processes=((100, 60 * GIB), (999, 4 * GIB))),), host_reading=host(), fraction=0.88),
    "decode-bandwidth": lambda: roofline(0.007, nvlinks=18),
    "allreduce": lambda: roofline(0.015),
    "cpu": lambda: machine(steady(occupancy=55.0)),
    "headroom": lambda: machine(gpus=(gpu(0, free=GIB),), host_reading=host()),
    "measurement": lambda: machine(
        pages(), logged=False, http_reading=http(scrape=page(running=20), failures={"metrics": failure("not-found")})
    ),
    "leftover-flags": lambda: machine(start=boot(enable_deterministic_inference=True)),
}


@pytest.mark.parametrize("verdict", SITUATIONS)
def test_each_situation_gets_its_verdict_with_proof(verdict):
    finding = found(SITUATIONS[verdict](), verdict)
    assert finding.evidence
    assert finding.advice or finding.fixes
    assert finding.verify
    assert finding.sentence.endswith(".")
    assert set(finding.fixes) <= set(OPTION_IDS)
    assert not re.search(r"\bNone\b|\bnan\b", finding.sentence + str(finding.advice))


@pytest.mark.parametrize("verdict", SITUATIONS)
def test_a_well_server_has_none_of_them(verdict):
    cards = tuple(gpu(i, nvlinks=known(18), clocks=clocks_of("software power cap", sm=1900)) for i in range(8))
    context = machine(
        gpus=cards, host_reading=host(), http_reading=http(scrape=page(running=20, queued=0, grammar_queued=0), server_info=info())
    )
    assert ids(context)[0] == "healthy"
    assert verdict not in ids(context)


def test_every_verdict_has_a_rule():
    assert set(registered()) == set(ORDER)


@pytest.mark.parametrize("verdict", ["foreign-memory", "headroom", "measurement", "leftover-flags"])
def test_a_banner_never_hides_a_limit(verdict):
    context = SITUATIONS[verdict]()
    limited = dataclasses.replace(context, frame=dataclasses.replace(context.frame, events=(event("watchdog", line=9_999),)))
    assert diagnose(limited)[0].axis == "concurrency"


def test_a_stale_driver_proves_nothing():
    assert "hardware-fault" not in ids(machine(gpus=(LOST,), host_reading=host(), stale=True))
    assert ids(machine(gpus=(LOST,), host_reading=host()))[0] == "hardware-fault"


@pytest.mark.parametrize("number", [13, 31, 43])
def test_an_xid_of_a_program_is_no_hardware_fault(number):
    assert "hardware-fault" not in ids(machine(events=(event("warning", f"NVRM: Xid (PCI:0000:81:00): {number}, pid=1"),)))


def test_hints_of_hardware_are_banners():
    narrow = PcieLink(generation=known(5), width=known(8), max_generation=known(5), max_width=known(16))
    for card in (gpu(0, pcie=narrow), gpu(0, errors=MemoryErrors(remap_pending=known(True)))):
        finding = found(machine(gpus=(card,), host_reading=host()), "hardware-fault")
        assert (finding.axis, finding.confidence) == ("banner", "medium")
    assert "hardware-fault" not in ids(machine(gpus=(gpu(0, pcie=narrow, busy=False),), host_reading=host()))


def test_clocks_a_power_cap_and_an_idle_gpu_are_ordinary():
    capped = gpu(0, clocks=clocks_of("software power cap"))
    idle = gpu(1, busy=False, clocks=clocks_of("hardware slowdown"))
    assert "clocks" not in ids(machine(gpus=(capped, idle), host_reading=host()))
    straggler = (gpu(0), gpu(1), gpu(2, sm=1500))
    assert "1500 MHz" in str(found(machine(gpus=straggler, host_reading=host()), "clocks").evidence)


def test_without_the_servers_pids_no_process_is_called_foreign():
    held = gpu(0, processes=((1, 60 * GIB), (2, 4 * GIB)))
    assert "foreign-memory" not in ids(machine(gpus=(held,), host_reading=host()))


def test_the_gain_of_foreign_memory_is_its_size_times_the_fraction():
    text = str(found(SITUATIONS["foreign-memory"](), "foreign-memory").advice)
    assert "3.5 GiB" in text  # 4 GiB x 0.88


def test_bandwidth_and_allreduce_part_at_the_efficiency():
    assert "allreduce" not in ids(roofline(0.007))
    assert "decode-bandwidth" not in ids(roofline(0.015))
    assert "allreduce" not in ids(roofline(0.015, nvlinks=18))
    eta = found(roofline(0.007, nvlinks=18), "decode-bandwidth").evidence[0].text
    assert "weights 18.3 GB" in eta  # 17 GiB


def test_an_impossible_efficiency_tells_nothing():
    assert not {"decode-bandwidth", "allreduce"} & set(ids(roofline(0.001)))


def test_without_geometry_no_bandwidth_verdict():
    log = Log()
    for _ in range(80):
        log.decode(20, tput=20 / 0.007, graph=1.0)
    assert "decode-bandwidth" not in ids(machine(log, gpus=tuple(gpu(i) for i in range(8)), host_reading=host(), weights_gib=17.0))


def test_host_stalls_limit_and_little_memory_is_a_banner():
    little = machine(host_reading=host(memory_available=known(int(10 * GB))))
    assert found(little, "host-pressure").axis == "banner"
    assert ids(little)[0] == "healthy"
    for stall in ({"pressure": known(Pressure(20.0, 5.0))}, {"swap_out": known(5e6)}):
        assert ids(machine(host_reading=host(**stall)))[0] == "host-pressure"
    group = CgroupMemory("/x", known(100 * GIB), known(99 * GIB), known(2 * GIB), known(0))
    assert "97%" in found(machine(host_reading=host(cgroup=known(group))), "host-pressure").sentence


def test_a_stuck_page_and_a_dead_server():
    assert diagnose(frozen())[0].id == "server-stuck"
    assert diagnose(frozen())[0].confidence == "high"
    gone = http(now=1100, scrape=page(at=1070, running=9), failures={"metrics": failure()}, server_info=info())
    assert ids(machine(pages(), logged=False, http_reading=gone, now=1100))[0] == "server-stuck"
    told = diagnose(machine(pages(), logged=False, http_reading=gone, now=1100))[0]
    assert told.sentence.startswith("The server is gone: ")
    assert "scheduler does not move" not in told.sentence
    assert told.advice[0].startswith("Nothing listens on its port")
    silent = http(now=1100, scrape=page(at=1070, running=9), failures={"metrics": failure("timeout")}, server_info=info())
    hung = diagnose(machine(pages(), logged=False, http_reading=silent, now=1100))[0]
    assert hung.sentence.startswith("The scheduler does not move: ")
    # Behind the colon it is not named again.
    assert server_stuck._after("The scheduler has written nothing") == "it has written nothing"


def test_a_server_that_drained_is_not_stuck():
    quiet = Motion("idle", "", 1075, 1075)
    context = machine(
        pages(), logged=False, http_reading=http(now=1110, scrape=page(at=1110, running=0), motion=quiet, server_info=info()), now=1110
    )
    assert "server-stuck" not in ids(context)


def test_a_silent_log_beside_moving_pages_is_not_stuck():
    moving = http(now=1120, scrape=page(at=1120, running=20), motion=Motion("moving", "", 1119, 1119))
    assert "server-stuck" not in ids(machine(http_reading=moving, now=1120))
    assert ids(machine(now=1120))[0] == "server-stuck"


def test_grammar_wants_more_than_one_request_and_a_tenth_of_the_load():
    assert ids(grammar(12))[0] == "grammar"
    assert "grammar" not in ids(grammar(1))


def test_pd_queues_that_come_and_go_are_no_limit():
    assert "pd-queue" not in ids(pd(transfer=1.0))
    assert "bootstrap" in found(pd(bootstrap=30.0), "pd-queue").sentence
    full = found(pd(prealloc=20.0, preallocated_usage=0.95), "pd-queue")
    assert full.confidence == "medium"
    assert found(pd(prealloc=20.0), "pd-queue").confidence == "low"


def test_late_tokens_are_told_from_slow_steps():
    assert "cpu" in ids(late_tokens(0.2))
    assert "cpu" not in ids(late_tokens(0.026))  # a step takes 25 ms


def test_open_requests_alone_do_not_make_a_cpu_limit():
    crowd = http(scrape=page(running=4, queued=0, http_active=200), server_info=info())
    assert "cpu" not in ids(machine(pages(running=4), logged=False, http_reading=crowd))
    worker = ProcessUse(101, "sglang::detokenizer", known(GIB), known(99.0), known(99.0))
    context = machine(pages(running=4), logged=False, http_reading=crowd, host_reading=host(processes=(worker,)))
    assert "cpu" in ids(context)
    assert "client" not in ids(context)


def test_finished_tokens_below_generated_ones():
    rates = Rates(1000.0, finished_tok_s=known(100.0), aborted_s=known(0.5))
    context = machine(pages(), logged=False, http_reading=http(scrape=page(running=20), rates=rates, server_info=info()))
    assert "100 tok/s" in found(context, "measurement").sentence
    assert "30.0 requests a minute" in found(context, "measurement").sentence


def test_a_log_level_that_hides_the_batches():
    assert "--log-level" in found(machine(Log(), start=boot(log_level="error")), "measurement").sentence


def test_flags_the_server_set_itself_are_not_left_over():
    settings = {"disable_overlap_schedule": True, "speculative_algorithm": "EAGLE"}
    assert "leftover-flags" not in ids(machine(start=boot(**settings)))
    told = dataclasses.replace(info(disable_radix_cache=True), launch_command="sglang serve --model m")
    assert "leftover-flags" not in ids(machine(pages(), logged=False, http_reading=http(scrape=page(running=20), server_info=told)))


def test_metrics_alone_give_pool_and_cap():
    log = Log()
    for _ in range(80):
        log.decode(30, queued=20)
    line = log.store._columns[1]
    for i in range(len(line)):
        line[i] = float("nan")
    context = machine(log, logged=False, http_reading=http(scrape=page(running=30, queued=20), server_info=info(cap=30)))
    assert isinstance(context.account.tokens_reported, Known)
    assert ids(context)[0] == "running-cap"
    assert ids(machine(log, logged=False, http_reading=http(scrape=page(running=30, queued=20), server_info=info())))[0] == "kv-capacity"


def test_a_gauge_of_the_last_pass_is_no_share_of_graphs():
    prefilled = pages(graph=0.0)
    reading = http(scrape=page(running=20), server_info=info())
    assert "cuda-graph" not in ids(machine(prefilled, logged=False, http_reading=reading))
    eager = dataclasses.replace(reading, rates=Rates(1000.0, graph_share=known(0.1)))
    assert "cuda-graph" in ids(machine(prefilled, logged=False, http_reading=eager))


@pytest.mark.parametrize(("stamp", "stuck"), [(1_060.0, True), (None, False)])
def test_a_snapshot_that_is_not_written_any_more_proves_a_hang_before_an_idle_server_would_refresh(stamp, stuck):
    log = steady(pages=True)
    told = Loads(1_095.0, rows=(LoadRow(0, stamp=stamp, running=known(20.0)),))
    hangs = Motion("stuck", "The scheduler has written nothing for 16 s.", gauges_at=1_080.0, counters_at=1_080.0, loads_at=1_080.0)
    reading = http(now=1_096.0, scrape=page(at=1_096.0, running=20, queued=0), server_info=info(), loads=told, motion=hangs)
    found = next((f for f in diagnose(machine(log, http_reading=reading, logged=False, now=1_089.0)) if f.id == "server-stuck"), None)
    assert (found is not None and found.confidence == "high") is stuck


@pytest.mark.parametrize(("changed_at", "stuck"), [(None, True), (1_081.0, True), (1_100.0, False)])
def test_an_error_after_which_pages_still_change_is_no_end(changed_at, stuck):
    log = steady()
    failed = event("exception", "Traceback: bad request", at=1_081.0, line=9_000)
    reading = http(scrape=page(at=1_100.0), motion=Motion("idle", changed_at=changed_at))
    found = diagnose(machine(log, events=(failed,), http_reading=reading, now=1_100.0))
    assert ("server-stuck" in {f.id for f in found}) is stuck
