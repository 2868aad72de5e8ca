"""The host over a /proc and a /sys made by hand, and once over the real ones."""

import asyncio
import os
import threading

import pytest
from fake_proc import FakeProc

from kvtui.domain.reading import Known, Missing
from kvtui.sources.host import HostSource

MEMINFO = "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\nBuffers: 1 kB\nCached: 1 kB\nSwapTotal: 500 kB\nSwapFree: 300 kB\n"


@pytest.fixture
def proc(tmp_path):
    fake = FakeProc(tmp_path)
    (fake.root / "meminfo").write_text(MEMINFO)
    (fake.root / "vmstat").write_text("pswpin 10\npswpout 20\n")
    (fake.root / "pressure").mkdir()
    (fake.root / "pressure" / "memory").write_text("some avg10=7.50 avg60=0 avg300=0 total=1\nfull avg10=2.00 avg60=0 avg300=0 total=1\n")
    return fake


@pytest.fixture
def sys_root(tmp_path):
    root = tmp_path / "sys"
    for index, free in ((0, 40), (1, 60), (10, 5)):
        folder = root / f"devices/system/node/node{index}"
        folder.mkdir(parents=True)
        (folder / "meminfo").write_text(f"Node {index} MemTotal: 100 kB\nNode {index} MemFree: {free} kB\n")
    return root


def group(root, path, **files):
    folder = root / "fs/cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


async def test_memory_swap_pressure_and_nodes(proc, sys_root, clock):
    source = HostSource(clock, proc_root=proc.root, sys_root=sys_root)
    first = await source.read()
    assert (first.memory_total.value, first.memory_available.value) == (1000 << 10, 400 << 10)
    assert (first.swap_total.value, first.swap_used.value) == (500 << 10, 200 << 10)
    assert first.swap_in.reason == "a rate needs two readings"
    assert (first.pressure.value.some, first.pressure.value.full) == (7.5, 2.0)
    assert [(node.index, node.free) for node in first.nodes.value] == [(0, 40 << 10), (1, 60 << 10), (10, 5 << 10)]
    assert (first.health.state, first.at, first.stale) == ("live", clock.at, False)
    assert isinstance(first.load, Known)
    (proc.root / "vmstat").write_text("pswpin 15\npswpout 20\n")
    clock.at += 2
    second = await source.read()
    assert (second.swap_in.value, second.swap_out.value) == (5 * 4096 / 2, 0.0)
    await source.close()


async def test_the_tightest_limit_above_the_process_counts(proc, sys_root, clock):
    proc.add(100, ["x"], cgroup="0::/pods/pod1/box\n")
    group(sys_root, "pods/pod1/box", memory__max="max", memory__current=10)
    group(
        sys_root,
        "pods/pod1",
        memory__max=1000,
        memory__current=900,
        memory__stat="anon 5\ninactive_file 300",
        memory__events="oom 1\noom_kill 2",
    )
    group(sys_root, "pods", memory__max=5000, memory__current=950)
    group(sys_root, "", memory__current=99)
    found = (await HostSource(clock, [100], proc_root=proc.root, sys_root=sys_root).read()).cgroup.value
    assert (found.path, found.limit.value, found.current.value) == ("/pods/pod1", 1000, 900)
    assert (found.cache.value, found.out_of_memory_kills.value) == (300, 2)


async def test_no_limit_is_missing_and_version_one_is_read(proc, sys_root, clock):
    proc.add(100, ["x"], cgroup="0::/a\n")
    group(sys_root, "a", memory__max="max", memory__current=10)
    source = HostSource(clock, [100], proc_root=proc.root, sys_root=sys_root)
    found = (await source.read()).cgroup.value
    assert (found.limit, found.current.value) == (Missing("no limit is set"), 10)
    proc.add(100, ["x"], cgroup="4:memory:/docker/x\n0::/\n")
    group(sys_root, "memory/docker/x", memory__limit_in_bytes=2000, memory__usage_in_bytes=1500, memory__stat="total_inactive_file 7")
    group(sys_root, "memory", memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=1)
    # Limits are read seldom.
    assert (await source.read()).cgroup.value == found
    clock.at += 10
    found = (await source.read()).cgroup.value
    assert (found.path, found.limit.value, found.current.value, found.cache.value) == ("/docker/x", 2000, 1500, 7)


async def test_processes_of_the_server(proc, sys_root, clock):
    proc.add(100, ["python3", "-m", "sglang.launch_server", "--api-key", "sk-seeded12"])
    proc.add(102, ["sglang::scheduler_TP0"])
    (proc.root / "102" / "statm").write_text("9 7 1 1 0 1 0\n")
    source = HostSource(clock, proc_root=proc.root, sys_root=sys_root)
    source.watch([100, 102, 999])
    first = await source.read()
    assert [use.pid for use in first.processes] == [100, 102]
    assert "seeded" not in first.processes[0].title
    assert first.processes[1].rss.value == 7 * os.sysconf("SC_PAGE_SIZE")
    assert isinstance(first.processes[0].rss, Missing)
    assert isinstance(first.processes[1].cpu, Missing)
    ticks = os.sysconf("SC_CLK_TCK")
    proc.times(102, 5 * ticks, main=2 * ticks)
    clock.at += 2
    second = await source.read()
    assert (second.processes[1].cpu.value, second.processes[1].main_thread_cpu.value) == (250.0, 100.0)
    # A pid given to a new process starts from few ticks.
    proc.times(102, 1)
    clock.at += 2
    assert isinstance((await source.read()).processes[1].cpu, Missing)


async def test_every_file_may_be_absent(tmp_path, clock):
    (tmp_path / "proc").mkdir()
    reading = await HostSource(clock, [5], proc_root=tmp_path / "proc", sys_root=tmp_path).read()
    for figure in (reading.memory_total, reading.swap_used, reading.pressure, reading.cgroup, reading.nodes):
        assert isinstance(figure, Missing)
        assert figure.reason
    assert reading.processes == ()


async def test_a_stuck_system_costs_a_stale_mark(proc, sys_root, clock, monkeypatch):
    source = HostSource(clock, proc_root=proc.root, sys_root=sys_root, timeout=0.05)
    first = await source.read()
    go = threading.Event()
    real = source._probe.read

    def stuck(*arguments):
        go.wait()
        return real(*arguments)

    monkeypatch.setattr(source._probe, "read", stuck)
    clock.at += 2
    stale = await asyncio.wait_for(source.read(), 2)
    assert (stale.stale, stale.at, stale.memory_total) == (True, first.at, first.memory_total)
    assert (stale.health.state, stale.health.since) == ("waiting", clock.at)
    go.set()
    for _ in range(100):
        if not source._worker.hanging:
            break
        await asyncio.sleep(0.01)
    clock.at += 2
    assert (await source.read()).stale is False


async def test_this_machine(clock):
    source = HostSource(clock, [os.getpid()])
    await source.read()
    clock.at += 1
    reading = await source.read()
    assert reading.memory_total.value > reading.memory_available.value > 0
    assert reading.processes[0].rss.value > 1 << 20
    await source.close()
