"""The program's table, with the holes that real drivers leave in it."""

from hypothesis import given
from hypothesis import strategies as st

from kvtui.domain.reading import Missing
from kvtui.parse.nvidia_smi import gpus_of_csv

HEAD = (
    "index, name, uuid, pci.bus_id, driver_version, memory.total [MiB], memory.used [MiB], memory.free [MiB], utilization.gpu [%], "
    "power.draw [W], clocks.current.sm [MHz], clocks_event_reasons.active, mig.mode.current, ecc.errors.uncorrected.volatile.total"
)


def test_a_row_is_read_by_its_header():
    row = "0, NVIDIA H100, GPU-a, 00000000:17:00.0, 550.1, 81559, 70000, 11000, 98, 512.5, 1980, 0x0000000000000004, Disabled, 3"
    (gpu,), driver = gpus_of_csv(f"{HEAD}\n{row}\n", "", 5.0)
    assert (gpu.memory.value.total, gpu.utilisation.value, gpu.power.value) == (81559 << 20, 98, 512.5)
    assert gpu.clocks.reasons.value == ("software power cap",)
    assert (gpu.mig.value, gpu.errors.uncorrected.value, driver.value, gpu.memory.at) == (False, 3, "550.1", 5.0)
    assert "does not report it" in gpu.temperature.reason
    assert isinstance(gpu.processes, Missing)


def test_what_is_not_available_is_missing_and_unified_memory_is_named():
    row = "0, NVIDIA GB10, GPU-a, 0000000F:01:00.0, 580, [N/A], [N/A], [N/A], 3, [N/A], 2400, [Not Supported], [N/A], [N/A]"
    (gpu,), _ = gpus_of_csv(f"{HEAD}\n{row}\n", "gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-a, 7, 100\n", 5.0)
    assert gpu.unified
    assert gpu.clocks.reasons.reason == "nvidia-smi: Not Supported"
    assert gpu.processes.value[0].memory.value == 100 << 20


def test_what_is_no_table_gives_no_gpu():
    for text in ("", "NVIDIA-SMI has failed because it couldn't communicate, see log", HEAD, "a, b\n1, 2\n", "index\n0"):
        gpus, driver = gpus_of_csv(text, "", 0.0)
        assert gpus == ()
        assert isinstance(driver, Missing)


@given(st.text(max_size=300), st.text(max_size=100))
def test_no_text_can_make_it_fail(text, processes):
    gpus_of_csv(text, processes, 0.0)
    gpus_of_csv(f"{HEAD}\n{text}", "gpu_uuid, pid\n" + processes, 0.0)
