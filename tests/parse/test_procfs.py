"""Files of /proc and /sys as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.parse import procfs


def test_arguments_drop_the_padding_of_a_title():
    assert procfs.arguments(b"sglang::scheduler_TP0\0\0\0\0") == ("sglang::scheduler_TP0",)
    assert procfs.arguments(b"a\0\0b\0") == ("a", "", "b")
    assert procfs.arguments(b"") == ()
    assert procfs.arguments(b"caf\xe9\0") == ("caf\ufffd",)


def test_variables_keep_only_what_is_asked_for():
    raw = b"CUDA_VISIBLE_DEVICES=0,1\0HF_TOKEN=hf_x\0SGLANG_X=1=2\0broken\0=y\0"
    assert procfs.variables(raw, ["CUDA_VISIBLE_DEVICES"], ("SGLANG_",)) == {"CUDA_VISIBLE_DEVICES": "0,1", "SGLANG_X": "1=2"}


def test_status_and_stat():
    status = procfs.status("Name:\tx\nState:\tS (sleeping)\nPPid:\t7\nNSpid:\t4242\t17\n")
    assert (status.parent, status.inner_pids, status.state) == (7, (4242, 17), "S")
    stat = procfs.stat("5 (a) b) (c) S 1 77 5 0 -1 4194560 9 9 0 0 150 50 0 0 20")
    assert (stat.group, stat.ticks) == (77, 200)
    assert procfs.stat("5 (x) S 1") is None


def test_pressure_and_nodes():
    text = "some avg10=5.25 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=1\n"
    pressure = procfs.pressure(text)
    assert (pressure.some, pressure.full) == (5.25, 1.0)
    assert procfs.pressure("some avg10=nan") is None
    assert procfs.node_memory("Node 0 MemTotal:  100 kB\nNode 0 MemFree: 40 kB\n") == (102_400, 40_960)


def test_control_groups_of_both_versions():
    assert procfs.control_groups("0::/a/b.scope\n") == {"": "/a/b.scope"}
    assert procfs.control_groups("4:memory:/docker/x\n3:cpu,cpuacct:/y\nbad\n") == {"memory": "/docker/x", "cpu": "/y", "cpuacct": "/y"}
    assert procfs.ancestors("/a/../b") == ("a/b", "a", "")


@pytest.mark.parametrize(
    ("text", "limit"), [("max\n", None), ("9223372036854771712\n", None), ("1073741824\n", 1 << 30), ("x", None), ("", None)]
)
def test_limits(text, limit):
    assert procfs.limit(text) == limit


def test_pci_addresses_and_nodes():
    assert procfs.sysfs_address("00000000:1B:00.0") == "0000:1b:00.0"
    assert procfs.sysfs_address("00010000:1B:00.0") == "10000:1b:00.0"
    assert procfs.sysfs_address("../../etc") is None
    assert (procfs.numa_node("-1\n"), procfs.numa_node("1\n")) == (None, 1)


@given(st.text(max_size=200), st.binary(max_size=200))
def test_nothing_read_can_make_it_fail(text, raw):
    for read in (procfs.status, procfs.stat, procfs.pressure, procfs.node_memory, procfs.control_groups, procfs.ancestors, procfs.limit):
        read(text)
    procfs.keyed(text, "a")
    procfs.arguments(raw)
    procfs.variables(raw, ["A"], ("B",))
