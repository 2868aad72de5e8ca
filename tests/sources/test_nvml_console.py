"""The console over the NVML library without a driver: what the driver tells is on the bars and the machine page, or in words."""

from types import MappingProxyType

import pytest
from fake_proc import FakeProc
from fakes.sglang_server import FakeSglang
from screen import screen_text

from kvtui.app import KvtuiApp
from kvtui.domain.process import FoundServer, ServerProcess
from kvtui.domain.reading import Known
from kvtui.engine.analyse import analyse, estimates
from kvtui.engine.clock import WallClock
from kvtui.engine.feed import SourceFeed
from kvtui.engine.live import LiveSource
from kvtui.sources.gpus import GpuSource
from kvtui.sources.host import HostSource
from kvtui.sources.sglang import SglangSource

GIB = 1 << 30


def server():
    processes = tuple(ServerProcess(4000 + i, "main" if i == 0 else "scheduler", f"sglang::scheduler_TP{i}") for i in range(17))
    return FoundServer(Known(4000), processes, Known("python -m sglang.launch_server"), MappingProxyType({}), port=Known(30000))


def card(driver, count, **more):
    values = {"count": count, "*.total": 80 * GIB, "*.used": 40 * GIB, "*.reserved": GIB, "*.power": 512_345, "*.power_limit": 600_000}
    values |= {"*.temp": 61, "*.sm_clock": 1500, "*.sm_clock_max": 2400, "*.gpu_util": 93}
    values |= {f"{i}.proc.0": f"{4001 + i} {39 * GIB}" for i in range(count)}
    driver.put(values | more)


class Console:
    def __init__(self, tmp_path, timeout=2.0):
        clock = WallClock()
        proc = FakeProc(tmp_path)
        for process in server().processes:
            proc.add(process.pid, [process.title])
        (proc.root / "meminfo").write_text("MemTotal: 1000000 kB\nMemAvailable: 600000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
        self.gpus = GpuSource(clock, timeout=timeout, pci_devices=tmp_path / "pci")
        self.source = LiveSource(
            clock,
            http=SglangSource("http://127.0.0.1:30000", clock, FakeSglang().transport()),
            gpus=self.gpus,
            host=HostSource(clock, [p.pid for p in server().processes], proc_root=proc.root, sys_root=tmp_path / "sys"),
            found=server(),
        )
        self.app = KvtuiApp(SourceFeed(self.source, clock, analyse), estimates, target="http://127.0.0.1:30000")

    async def screens(self, wanted, *keys, size=(120, 40), seconds=25.0):
        """The screen, once it holds ``wanted``."""
        async with self.app.run_test(size=size) as pilot:
            await pilot.press(*keys)
            text = ""
            for _ in range(int(seconds / 0.1)):
                await pilot.pause(0.1)
                if self.app.view_state is not None and keys and len(self.app.screen_stack) < 3:
                    await pilot.press(*keys)
                text = screen_text(self.app)
                if all(word in text for word in ([wanted] if isinstance(wanted, str) else wanted)):
                    return text
        raise AssertionError(f"never on the screen: {wanted}\n{text}")


@pytest.mark.parametrize("count", [1, 8, 16])
async def test_bars_of_all_gpus(driver, tmp_path, count):
    card(driver, count)
    text = await Console(tmp_path).screens([f"{count} × 80.00 GiB", "512 W"])
    assert "weights" in text
    assert "39.00" in text or "40.00" in text


async def test_the_machine_page(driver, tmp_path):
    card(driver, 2, **{"0.proc.1": f"99 {3 * GIB}", "1.reasons": 0x40, "0.nvlinks": 4, "0.nvlinks_up": 4, "0.ecc_corrected": 5})
    wanted = [
        "0.57 GiB available of 0.95 GiB",
        "sglang::scheduler_TP3",
        "server_info",
        "GPU 0",
        "GPU 1",
        "512/600 W",
        "1,500/2,400 MHz",
        "clocks held by hardware thermal slowdown",
        "not this server's",
        "4 NVLinks",
    ]
    text = await Console(tmp_path).screens(wanted, "m", size=(140, 50))
    assert "3.00 GiB" in text.split("not this server's")[1].split("Host")[0]


async def test_a_faulty_gpu_is_named_on_the_memory_pane(driver, tmp_path):
    card(driver, 2, **{"1.rows_pending": 1})
    await Console(tmp_path).screens("row remap pending")


async def test_mig_parts_are_listed(driver, tmp_path):
    card(driver, 1, **{"0.mig": 1, "0.mig.0.total": 10 * GIB, "0.mig.0.used": GIB, "0.mig.1.total": 20 * GIB})
    text = await Console(tmp_path).screens(["MIG 0", "MIG 1", "MIG on"], "m")
    assert "20.00 GiB" in text


async def test_a_lost_gpu_is_named(driver, tmp_path):
    card(driver, 2, **{"1.fail.nvmlDeviceGetMemoryInfo_v2": 15, "1.fail.nvmlDeviceGetMemoryInfo": 15, "1.fail.nvmlDeviceGetName": 15})
    await Console(tmp_path).screens(["GPU 1", "is lost"])


@pytest.mark.parametrize(
    "call", ["nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetComputeRunningProcesses_v3"]
)
async def test_one_failing_call_leaves_the_rest(driver, tmp_path, call):
    card(driver, 1, **{f"fail.{call}": 3})
    await Console(tmp_path).screens("1 × 80.00 GiB")


async def test_no_memory_figures_are_said(driver, tmp_path):
    card(driver, 1, **{"fail.nvmlDeviceGetMemoryInfo_v2": 3, "fail.nvmlDeviceGetMemoryInfo": 3, "fail.nvmlDeviceGetName": 3})
    await Console(tmp_path).screens(["GPU memory", "unknown"])


async def test_a_driver_that_hangs_is_named_and_keys_are_answered(driver, tmp_path):
    card(driver, 1)
    driver.put({"delay_ms": 30_000})
    console = Console(tmp_path, timeout=0.2)
    await console.screens(["driver does not answer", "◌ nvml"], "m")


async def test_no_driver_is_said_in_words(driver, tmp_path):
    driver.put({"fail.nvmlInitWithFlags": 9})
    text = await Console(tmp_path).screens("no GPU seen here", "m")
    assert "nvidia-smi" in text
