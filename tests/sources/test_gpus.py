"""GPUs over the real nvidia-ml-py and a library without a driver: each call may fail alone, and so may each GPU."""

import asyncio
import subprocess
import sys
import time

import pytest
from process_state import alive

from kvtui.domain.reading import Known, Missing
from kvtui.sources.gpus import GpuSource
from kvtui.sources.nvidia_smi import NvidiaSmi


@pytest.fixture
def source(clock, driver, tmp_path):
    return GpuSource(clock, pci_devices=tmp_path / "pci")


async def one(source):
    reading = await source.read()
    assert len(reading.gpus) == 1
    return reading.gpus[0]


async def test_every_figure_of_a_gpu(source, driver, clock, tmp_path):
    driver.put(
        {
            "driver": "590.48.01",
            "0.name": "NVIDIA RTX PRO 6000 Server",
            "0.total": 1000,
            "0.used": 700,
            "0.reserved": 100,
            "0.proc.0": "4242 600",
            "0.proc.1": "77 NA",
            "0.graphics.0": "4242 600",
            "0.mps.0": "77 50",
            "0.gpu_util": 93,
            "0.mem_util": 41,
            "0.temp": 61,
            "0.power": 512345,
            "0.power_limit": 600000,
            "0.sm_clock": 1500,
            "0.sm_clock_max": 2400,
            "0.mem_clock": 12481,
            "0.mem_clock_max": 14001,
            "0.reasons": 0x84,
            "0.bus_width": 512,
            "0.pcie_gen": 4,
            "0.pcie_width": 8,
            "0.pcie_replays": 12,
            "0.pcie_tx": 3000,
            "0.nvlinks": 4,
            "0.nvlinks_up": 3,
            "0.ecc_corrected": 5,
            "0.ecc_uncorrected": 1,
            "0.rows_uncorrected": 2,
            "0.rows_pending": 1,
        }
    )
    (tmp_path / "pci" / "0000:1b:00.0").mkdir(parents=True)
    (tmp_path / "pci" / "0000:1b:00.0" / "numa_node").write_text("1\n")
    reading = await source.read()
    (gpu,) = reading.gpus
    assert (reading.health.state, reading.at, reading.driver.value, reading.stale, reading.notes) == (
        "live",
        clock.at,
        "590.48.01",
        False,
        (),
    )
    memory = gpu.memory.value
    assert (memory.total, memory.used, memory.free, memory.reserved.value) == (1000, 700, 200, 100)
    assert {process.pid: process.memory.value for process in gpu.processes.value} == {4242: 600, 77: 50}
    assert (gpu.utilisation.value, gpu.memory_busy.value, gpu.temperature.value) == (93, 41, 61)
    assert (gpu.power.value, gpu.power_limit.value) == (512.345, 600.0)
    assert (gpu.clocks.sm.value, gpu.clocks.sm_max.value) == (1500, 2400)
    assert gpu.clocks.reasons.value == ("software power cap", "hardware power brake")
    # facts/diagnoses.md V16: the Server edition at 12,481 MHz has 1,598 GB/s
    assert gpu.peak_bandwidth.value == pytest.approx(1597.6e9, rel=1e-4)
    assert (gpu.pcie.generation.value, gpu.pcie.max_generation.value) == (4, 5)
    assert (gpu.pcie.width.value, gpu.pcie.max_width.value) == (8, 16)
    assert (gpu.pcie.replays.value, gpu.pcie.sent.value, gpu.pcie.received.value) == (12, 3_000_000, 2_000_000)
    assert (gpu.nvlinks.value, gpu.numa_node.value, gpu.bus_id.value) == (3, 1, "00000000:1B:00.0")
    assert (gpu.errors.ecc.value, gpu.errors.corrected.value, gpu.errors.uncorrected.value) == (True, 5, 1)
    assert (gpu.errors.remapped_uncorrected.value, gpu.errors.remap_pending.value, gpu.errors.remap_failed.value) == (2, True, False)
    assert (gpu.mig.value, gpu.unified, gpu.lost) == (False, False, False)
    await source.close()


@pytest.mark.parametrize("count", [1, 8, 16])
async def test_each_gpu_of_many_has_its_own_figures(source, driver, count):
    driver.put({"count": count, **{f"{i}.used": 1000 + i for i in range(count)}})
    for _ in range(count):
        reading = await source.read()
    assert [gpu.index for gpu in reading.gpus] == list(range(count))
    assert [gpu.memory.value.used for gpu in reading.gpus] == [1000 + i for i in range(count)]
    assert all(isinstance(gpu.pcie.sent, Known) for gpu in reading.gpus)
    await source.close()


CALLS = {
    "nvmlDeviceGetName": lambda gpu: gpu.name,
    "nvmlDeviceGetUUID": lambda gpu: gpu.uuid,
    "nvmlDeviceGetPciInfo_v3": lambda gpu: gpu.bus_id,
    "nvmlDeviceGetComputeRunningProcesses_v3": lambda gpu: gpu.processes,
    "nvmlDeviceGetUtilizationRates": lambda gpu: gpu.utilisation,
    "nvmlDeviceGetTemperatureV": lambda gpu: gpu.temperature,
    "nvmlDeviceGetPowerUsage": lambda gpu: gpu.power,
    "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: gpu.power_limit,
    "nvmlDeviceGetClockInfo": lambda gpu: gpu.clocks.sm,
    "nvmlDeviceGetMaxClockInfo": lambda gpu: gpu.clocks.sm_max,
    "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: gpu.clocks.reasons,
    "nvmlDeviceGetMemoryBusWidth": lambda gpu: gpu.bus_width,
    "nvmlDeviceGetCurrPcieLinkGeneration": lambda gpu: gpu.pcie.generation,
    "nvmlDeviceGetMaxPcieLinkGeneration": lambda gpu: gpu.pcie.max_generation,
    "nvmlDeviceGetCurrPcieLinkWidth": lambda gpu: gpu.pcie.width,
    "nvmlDeviceGetMaxPcieLinkWidth": lambda gpu: gpu.pcie.max_width,
    "nvmlDeviceGetPcieReplayCounter": lambda gpu: gpu.pcie.replays,
    "nvmlDeviceGetPcieThroughput": lambda gpu: gpu.pcie.sent,
    "nvmlDeviceGetNvLinkState": lambda gpu: gpu.nvlinks,
    "nvmlDeviceGetEccMode": lambda gpu: gpu.errors.ecc,
    "nvmlDeviceGetTotalEccErrors": lambda gpu: gpu.errors.corrected,
    "nvmlDeviceGetRemappedRows": lambda gpu: gpu.errors.remap_pending,
    "nvmlDeviceGetMigMode": lambda gpu: gpu.mig,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("code", "word"), [(4, "no permission"), (999, "code 999")])
async def test_a_call_that_fails_costs_its_own_figure_only(source, driver, call, code, word):
    driver.put({f"fail.{call}": code})
    gpu = await one(source)
    assert word in CALLS[call](gpu).reason
    assert isinstance(gpu.memory, Known)
    missing = [name for name, figure in CALLS.items() if isinstance(figure(gpu), Missing)]
    # The NUMA node is found by the PCI address; nothing else hangs together.
    assert missing == [call]
    await source.close()


async def test_older_drivers_are_asked_in_their_own_way(source, driver):
    driver.put({"0.total": 1000, "0.used": 700, "0.reserved": 100, "0.reasons": 4})
    for call in ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetCurrentClocksEventReasons"):
        driver.put({f"fail.{call}": 13})
    gpu = await one(source)
    assert (gpu.memory.value.used, gpu.memory.value.free) == (800, 200)
    assert "does not tell reserved memory apart" in gpu.memory.value.reserved.reason
    assert gpu.clocks.reasons.value == ("software power cap",)
    assert isinstance(gpu.temperature, Known)
    await source.close()


async def test_no_nvlink_is_none_and_not_unknown(source, driver):
    driver.put({"0.nvlinks": 0})
    assert (await one(source)).nvlinks.value == 0
    await source.close()


async def test_unified_memory_is_named_and_the_processes_stay(source, driver):
    driver.put({"0.name": "NVIDIA GB10", "fail.nvmlDeviceGetMemoryInfo_v2": 3, "fail.nvmlDeviceGetMemoryInfo": 3, "0.proc.0": "42 9000"})
    gpu = await one(source)
    assert gpu.unified
    assert "host memory is what counts" in gpu.memory.reason
    assert gpu.processes.value[0].memory.value == 9000
    await source.close()


async def test_memory_that_may_not_be_asked_is_not_taken_for_unified(source, driver):
    driver.put({"fail.nvmlDeviceGetMemoryInfo_v2": 4, "fail.nvmlDeviceGetMemoryInfo": 4})
    gpu = await one(source)
    assert not gpu.unified
    assert "no permission" in gpu.memory.reason
    await source.close()


async def test_mig_instances_are_listed_with_their_memory(source, driver):
    driver.put({"0.mig": 1, "fail.nvmlDeviceGetUtilizationRates": 3, "0.proc.0": "42 9000 5"})
    driver.put({"0.mig.1.total": 500, "0.mig.1.used": 100, "0.mig.1.reserved": 0, "0.mig.1.gpu_instance": 5, "0.mig.3.total": 600})
    gpu = await one(source)
    assert [(part.index, part.memory.value.total) for part in gpu.instances] == [(1, 500), (3, 600)]
    assert (gpu.instances[0].gpu_instance.value, gpu.processes.value[0].instance) == (5, 5)
    assert isinstance(gpu.utilisation, Missing)
    await source.close()


async def test_a_lost_gpu_is_said_and_comes_back_with_a_fresh_handle(source, driver, clock):
    driver.put({"count": 2})
    await source.read()
    driver.put({"1.lost": 1})
    clock.at += 1
    reading = await source.read()
    assert [gpu.lost for gpu in reading.gpus] == [False, True]
    assert isinstance(reading.gpus[0].power, Known)
    assert "Xid 79" in reading.gpus[1].power.reason
    assert reading.gpus[1].bus_id.value == "00000000:1C:00.0"
    assert reading.notes == (f"GPU 1: {reading.gpus[1].memory.reason}",)
    # After a new start of the library the driver may refuse its handle, or not list it at all.
    clock.at += 20
    await source.read()
    driver.put({"1.fail.nvmlDeviceGetHandleByIndex_v2": 15})
    clock.at += 1
    assert [gpu.lost for gpu in (await source.read()).gpus] == [False, True]
    driver.put({"count": 1})
    clock.at += 20
    await source.read()
    clock.at += 1
    gone = await source.read()
    assert len(gone.gpus) == 1
    assert gone.notes == ("the GPU at 00000000:1C:00.0 is no longer listed by the driver; see dmesg",)
    driver.put({"count": 2, "1.lost": None, "1.fail.nvmlDeviceGetHandleByIndex_v2": None})
    clock.at += 20
    await source.read()
    clock.at += 1
    back = await source.read()
    assert [gpu.lost for gpu in back.gpus] == [False, False]
    assert (back.notes, back.health.state) == ((), "live")
    await source.close()


async def test_a_driver_that_hangs_costs_a_stale_mark_and_no_time(clock, driver, tmp_path):
    source = GpuSource(clock, timeout=0.1, pci_devices=tmp_path)
    first = await source.read()
    driver.put({"delay_ms.nvmlDeviceGetPowerUsage": 400})
    since = clock.at = clock.at + 1
    gaps, last = [], time.perf_counter()

    async def beat():
        nonlocal last
        while True:
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    beating = asyncio.create_task(beat())
    for _ in range(3):
        begun = time.perf_counter()
        stale = await source.read()
        assert time.perf_counter() - begun < 0.3
        assert (stale.stale, stale.gpus, stale.at) == (True, first.gpus, first.at)
        assert (stale.health.state, stale.health.since) == ("waiting", since)
        assert "does not answer" in stale.health.reason
        clock.at += 1
    beating.cancel()
    assert max(gaps) < 0.1
    driver.put({"delay_ms.nvmlDeviceGetPowerUsage": None})
    for _ in range(100):
        await asyncio.sleep(0.02)
        if not source._worker.hanging:
            break
    # The late answer is not lost: it is the newest there is until the next one.
    assert source._arrived.at == since
    fresh = await source.read()
    assert (fresh.stale, fresh.at, fresh.health.state) == (False, clock.at, "live")
    await source.close()


def test_a_driver_that_hangs_30_seconds_does_not_hold_up_the_exit(nvml_library, tmp_path):
    state = tmp_path / "state"
    state.write_text("count 1\ndelay_ms 30000\n")
    code = (
        "import asyncio\nfrom kvtui.engine.clock import WallClock\nfrom kvtui.sources.gpus import GpuSource\n"
        "async def main():\n    s = GpuSource(WallClock(), timeout=0.1)\n    r = await s.read()\n    print(r.stale, r.health.reason)\n    await s.close()\n"
        "asyncio.run(main())"
    )
    env = {"LD_LIBRARY_PATH": str(nvml_library.parent), "FAKE_NVML_STATE": str(state), "PATH": str(tmp_path)}
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=25, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("True the NVIDIA driver does not answer")
    assert time.perf_counter() - begun < 5


def test_without_driver_and_without_nvidia_smi_there_is_one_sentence(tmp_path):
    code = (
        "import asyncio\nfrom kvtui.engine.clock import WallClock\nfrom kvtui.sources.gpus import GpuSource\n"
        "async def main():\n    s = GpuSource(WallClock())\n    r = await s.read()\n    print(r.gpus, r.health.state, r.health.reason)\n    await s.close()\n"
        "asyncio.run(main())"
    )
    # LD_LIBRARY_PATH hides a real library behind an empty file of its name.
    (tmp_path / "libnvidia-ml.so.1").write_text("")
    env = {"LD_LIBRARY_PATH": str(tmp_path), "PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=25, check=False)
    assert done.stdout.startswith("() failed no GPU seen here: the NVIDIA driver's library libnvidia-ml.so.1 is not here")
    assert "nvidia-smi is not installed either" in done.stdout


async def test_the_driver_is_asked_again_with_growing_pauses(source, driver, clock):
    driver.put({"fail.nvmlInitWithFlags": 9})
    pauses = []
    for _ in range(7):
        reading = await source.read()
        assert "kernel driver is not loaded" in reading.health.reason
        pauses.append(source._nvml_again_at - clock.at)
        clock.at = source._nvml_again_at
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    driver.put({"fail.nvmlInitWithFlags": None})
    assert (await source.read()).health.state == "live"
    await source.close()


async def test_a_driver_unloaded_under_way_keeps_the_last_figures_as_old(source, driver, clock):
    first = await source.read()
    driver.put({"fail.nvmlDeviceGetMemoryInfo_v2": 1, "fail.nvmlDeviceGetMemoryInfo": 1, "fail.nvmlInitWithFlags": 9})
    clock.at += 1
    reading = await source.read()
    assert (reading.stale, reading.gpus, reading.at, reading.health.state) == (True, first.gpus, first.at, "failed")
    driver.values = {"count": 1}
    driver.put({})
    clock.at += 40
    assert (await source.read()).stale is False
    await source.close()


@pytest.mark.parametrize("old", [False, True])
async def test_nvidia_smi_is_the_second_choice(clock, driver, tmp_path, monkeypatch, old):
    driver.put({"fail.nvmlInitWithFlags": 12})
    head = "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%]"
    script = tmp_path / "nvidia-smi"
    script.write_text(
        '#!/bin/sh\ncase "$1" in\n'
        '*compute-apps*) echo "gpu_uuid, pid, used_gpu_memory [MiB]"; echo "GPU-1, 42, 900"; echo "GPU-1, 43, [N/A]";;\n'
        + ('*memory.reserved*) echo "Field \\"memory.reserved\\" is not a valid field to query."; exit 2;;\n' if old else "")
        + f'*) echo "{head}"; echo "0, NVIDIA A100, GPU-1, 00000000:17:00.0, 535.1, 81920, 1000, 80920, 50";;\nesac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    source = GpuSource(clock)
    reading = await source.read()
    (gpu,) = reading.gpus
    assert (reading.health.state, reading.driver.value) == ("live", "535.1")
    assert "through nvidia-smi" in reading.health.reason
    assert gpu.memory.value.total == 81920 << 20
    assert [process.pid for process in gpu.processes.value] == [42, 43]
    assert (await source.read()) is reading
    await source.close()


async def test_a_hung_nvidia_smi_is_killed(clock, driver, tmp_path, monkeypatch):
    driver.put({"fail.nvmlInitWithFlags": 12})
    script = tmp_path / "nvidia-smi"
    script.write_text('#!/bin/sh\ntrap "" TERM\necho $$ >"$0.pid"\nwhile :; do sleep 0.05; done\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    source = GpuSource(clock, smi=NvidiaSmi(timeout=0.3))
    reading = await source.read()
    assert "the driver hangs" in reading.health.reason
    assert not alive(int((tmp_path / "nvidia-smi.pid").read_text()))
    await source.close()


async def test_processes_are_listed_again_where_the_memory_in_use_moves_and_now_and_then(source, driver, clock):
    driver.put({"0.used": 700, "0.proc.0": "42 600"})

    async def pids(later):
        clock.at += later
        return [process.pid for process in (await one(source)).processes.value]

    assert await pids(0) == [42]
    driver.put({"0.proc.0": "43 600"})
    assert await pids(2) == [42], "six calls for what has not moved"
    driver.put({"0.used": 701})
    assert await pids(2) == [43]
    driver.put({"0.proc.0": "44 600"})
    assert await pids(8) == [43]
    assert await pids(2) == [44], "an exchange to the byte shows within ten seconds"
    driver.put({"0.used": 800, "fail.nvmlDeviceGetComputeRunningProcesses_v3": 4})
    clock.at += 1
    assert "no permission" in (await one(source)).processes.reason
    driver.put({"fail.nvmlDeviceGetComputeRunningProcesses_v3": None})
    assert await pids(1) == [44], "a list that failed is asked for again at once"
    await source.close()


async def test_links_are_counted_once_a_minute(source, driver, clock):
    driver.put({"0.nvlinks": 4, "0.nvlinks_up": 4})
    assert (await one(source)).nvlinks.value == 4
    driver.put({"0.nvlinks_up": 3})
    clock.at += 50
    assert (await one(source)).nvlinks.value == 4
    clock.at += 11
    assert (await one(source)).nvlinks.value == 3
    await source.close()
