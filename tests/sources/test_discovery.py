"""Servers found by their processes, over a /proc made by hand and over the real one."""

import asyncio
import contextlib
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_proc import FakeProc

from kvtui.domain.gpu import Gpu, GpuProcess
from kvtui.domain.process import gpus_of
from kvtui.domain.reading import Known, Missing
from kvtui.sources.daemon import DaemonWorker
from kvtui.sources.discovery import Places, discover, find

ID = "0123456789abcdef" * 4
LAUNCH = [
    "/opt/venv/bin/python3",
    "-m",
    "sglang.launch_server",
    "--model-path",
    "/m/kimi",
    "--tp",
    "2",
    "--port",
    "30001",
    "--host",
    "0.0.0.0",  # noqa: S104
]
SPAWN = ["python3", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)", "--multiprocessing-fork"]


@pytest.fixture
def proc(tmp_path):
    fake = FakeProc(tmp_path)
    fake.add(1, ["/sbin/init"], 0)
    return fake


def look(proc):
    return discover(proc.root, proc.root.parent / "log")


def a_server(proc, main=100, **named):
    """A TP2 server as SGLang starts it: spawned children with titles, one that has none yet, a resource tracker."""
    named.setdefault("env", {"CUDA_VISIBLE_DEVICES": "2,3"})
    proc.add(main, LAUNCH, 50, **named)
    proc.add(main + 1, [*SPAWN[:2], "from multiprocessing.resource_tracker import main;main(4)"], main)
    proc.add(main + 2, b"sglang::scheduler_TP0" + b"\0" * 300, main)
    proc.add(main + 3, ["sglang::scheduler_TP1"], main)
    proc.add(main + 4, ["sglang::detokenizer"], main)
    proc.add(main + 5, SPAWN, main)
    return main


def gpu(index, *pids):
    processes = Known(tuple(GpuProcess(pid, Missing("x")) for pid in pids))
    unknown = Missing("x")
    return Gpu(index, unknown, Known(f"GPU-{index}abc"), unknown, unknown, processes=processes)


def test_a_server_with_all_that_its_processes_tell(proc):
    proc.add(50, ["bash"], 1)
    a_server(proc, err="/var/log/sglang.log", out="/dev/null")
    proc.add(60, ["grep", "sglang.launch_server"], 50)
    proc.add(61, ["docker", "run", "x", *LAUNCH], 50)
    found = look(proc)
    (server,) = found.servers
    assert found.looked_for == ()
    assert (server.main.value, server.model.value, server.url) == (100, "/m/kimi", "http://127.0.0.1:30001")
    assert [(process.pid, process.role) for process in server.processes] == [
        (100, "main"),
        (101, "helper"),
        (102, "scheduler"),
        (103, "scheduler"),
        (104, "detokenizer"),
        (105, "helper"),
    ]
    assert server.processes[2].title == "sglang::scheduler_TP0"
    assert (server.settings["tp_size"], server.visible_devices.value) == (2, ("2", "3"))
    assert (server.log.kind, server.log.name) == ("file", "/var/log/sglang.log")
    assert server.own_network.value is False
    assert server.notes == ()


def test_gpus_by_the_driver_s_pids_else_by_the_environment(proc):
    a_server(proc)
    (server,) = look(proc).servers
    gpus = [gpu(0, 9), gpu(1), gpu(2, 102, 9), gpu(3, 103)]
    assert gpus_of(server, gpus).value == (2, 3)
    assert gpus_of(server, [gpu(0), gpu(1), gpu(2), gpu(3)]).value == (2, 3)
    assert gpus_of(server, [gpu(0), gpu(2)]).value == (2,)
    assert isinstance(gpus_of(server, [gpu(0)]), Missing)
    a_server(proc, env={"CUDA_VISIBLE_DEVICES": "GPU-1a,GPU-0abc"})
    assert gpus_of(look(proc).servers[0], [gpu(0), gpu(1)]).value == (1, 0)
    a_server(proc, env={})
    assert isinstance(gpus_of(look(proc).servers[0], [gpu(0)]), Missing)


def test_several_servers_stay_apart_and_a_fork_is_no_second_one(proc):
    a_server(proc, 100)
    a_server(proc, 200)
    proc.add(110, LAUNCH, 100)
    proc.add(111, ["sglang::scheduler_TP9"], 110)
    proc.add(300, ["sglang::data_parallel_controller"], 200)
    proc.add(301, ["sglang::scheduler_DP1_TP0"], 300)
    servers = look(proc).servers
    assert [server.main.value for server in servers] == [100, 200]
    assert {110, 111} <= servers[0].pids
    assert {300, 301} <= servers[1].pids
    assert not servers[0].pids & servers[1].pids


def test_workers_whose_main_process_is_gone(proc):
    for pid in (102, 103):
        proc.add(pid, [f"sglang::scheduler_TP{pid - 102}"], 1, group=100)
    proc.add(400, ["sglang::scheduler"], 1, group=400)
    servers = look(proc).servers
    assert [sorted(server.pids) for server in servers] == [[400], [102, 103]]
    assert isinstance(servers[1].main, Missing)
    assert servers[1].notes == ("the main process is gone but its workers are left and may hold GPU memory: pids 102 103",)
    assert servers[1].url is None


def test_an_engine_in_a_script_of_its_own(proc):
    proc.add(100, ["python3", "offline.py", "--api-key", "sk-abcdefgh1234"], 50)
    proc.add(102, ["sglang::scheduler"], 100)
    (server,) = look(proc).servers
    assert (server.main.value, server.command.value) == (100, "python3 offline.py --api-key ***")
    assert isinstance(server.port, Missing)
    assert any("script of its own" in note for note in server.notes)


@pytest.mark.parametrize(
    ("cgroup", "out", "env", "kind", "name"),
    [
        ("0::/system.slice/sglang.service\n", "socket:[7]", {"JOURNAL_STREAM": "8:7"}, "journal", "sglang.service"),
        (f"0::/system.slice/docker-{ID}.scope\n", "pipe:[7]", {}, "docker", ID),
        (f"4:memory:/docker/{ID}\n1:name=systemd:/docker/{ID}\n", "/dev/pts/0", {}, "docker", ID),
        (f"0::/machine.slice/libpod-{ID}.scope/container\n", "pipe:[7]", {}, "podman", ID),
        (f"0::/kubepods.slice/cri-containerd-{ID}.scope\n", "pipe:[7]", {"HOSTNAME": "sglang-0"}, "kubernetes", "sglang-0"),
        ("0::/user.slice/x.scope\n", "/dev/pts/3", {}, "terminal", "/dev/pts/3"),
        ("0::/user.slice/x.scope\n", "/dev/null", {}, "none", ""),
        ("0::/user.slice/x.scope\n", "socket:[7]", {}, "unknown", ""),
        ("0::/user.slice/x.scope\n", "pipe:[7]", {}, "unknown", ""),
        ("0::/user.slice/x.scope\n", None, {}, "unknown", ""),
        ("0::/system.slice/sglang.service\n", None, {}, "journal", "sglang.service"),
    ],
)
def test_where_the_log_is(proc, cgroup, out, env, kind, name):
    a_server(proc, cgroup=cgroup, out=out, err=out, env=env)
    log = look(proc).servers[0].log
    assert (log.kind, log.name) == (kind, name)
    assert log.note or kind in {"journal", "docker", "podman"}


def test_a_pipe_into_tee_and_into_something_else(proc):
    a_server(proc, err="pipe:[7]")
    proc.add(130, ["tee", "-a", "run/server.log"], 50)
    proc.link(130, "fd/0", "pipe:[7]")
    proc.link(130, "cwd", "/data")
    assert look(proc).servers[0].log.name == "/data/run/server.log"
    proc.add(130, ["/usr/bin/rotatelogs", "x"], 50)
    assert "piped into rotatelogs" in look(proc).servers[0].log.note


def test_files_that_are_deleted_or_inside_a_container(proc):
    a_server(proc, err="/l/s.log (deleted)")
    assert look(proc).servers[0].log.name == str(proc.root / "100/fd/2")
    a_server(proc, err="/l/s.log")
    proc.link(100, "ns/mnt", "mnt:[2]")
    assert look(proc).servers[0].log.name == str(proc.root / "100/root") + "/l/s.log"


def test_a_pod_s_file_is_found_without_kubectl(proc):
    a_server(proc, err="pipe:[7]", cgroup=f"0::/kubepods/pod1/{ID}\n")
    folder = proc.root.parent / "log" / "containers"
    folder.mkdir(parents=True)
    (folder / f"sglang-0_prod_server-{ID}.log").write_text("")
    log = look(proc).servers[0].log
    assert (log.kind, log.name) == ("file", str(folder / f"sglang-0_prod_server-{ID}.log"))


def test_a_container_with_its_own_network_and_pids(proc):
    a_server(proc, cgroup=f"0::/docker/{ID}\n", inner=1)
    proc.link(100, "ns/net", "net:[2]")
    (server,) = look(proc).servers
    assert (server.container.value, server.own_network.value, server.processes[0].inner_pid) == (ID, True, 1)
    assert "give the URL at which it is published" in server.notes[0]


def test_what_another_user_may_not_see_is_said(proc):
    a_server(proc, cgroup=None)
    (proc.root / "100" / "environ").unlink()
    for name in ("ns/net", "ns/mnt"):
        (proc.root / "100" / name).unlink()
    (server,) = look(proc).servers
    assert [note.split(",")[0] for note in server.notes] == [
        "its environment cannot be read",
        "its control group cannot be read",
    ]
    assert "run kvtui as root" in server.own_network.reason
    assert server.model.value == "/m/kimi"
    assert isinstance(server.visible_devices, Missing)


def test_no_secret_of_the_environment_or_the_command_line_comes_out(proc):
    env = {
        "HF_TOKEN": "hf_seeded1",
        "SGLANG_API_KEY": "seeded2",
        "SGLANG_X_TOKEN": "seeded3",
        "SGLANG_LOG": "http://u:seeded4@h/",
        "NCCL_DEBUG": "INFO",
    }
    a_server(proc, env=env)
    proc.add(100, [*LAUNCH, "--api-key", "seeded5", "--admin-api-key=seeded6", "--x", "https://h/?token=seeded7"], 50, env=env)
    found = look(proc)
    assert "seeded" not in repr(found)
    assert found.servers[0].environment["NCCL_DEBUG"] == "INFO"


def test_nothing_found_says_what_was_looked_for(proc):
    said = " ".join(look(proc).looked_for)
    for word in ("sglang.launch_server", "sglang serve", "sglang::scheduler", "container"):
        assert word in said
    proc.add(70, ["python3", "-m", "sglang_router.launch_router"])
    assert "a router runs here (pid 70)" in look(proc).looked_for[-1]
    assert "cannot be read" in discover(proc.root / "none").looked_for[0]


LISTENS = "  0: 00000000:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"
CONNECTED = "  1: 0100007F:9C40 0100007F:7530 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"
CLIENT = "  2: 0100007F:7530 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({}, "/net/tcp cannot be read"),
        ({"tcp": CONNECTED + CLIENT + "  3:\n"}, "nothing listens there"),
        ({"tcp": CONNECTED + LISTENS}, "to ask it, give :30000"),
        ({"tcp": CONNECTED, "tcp6": LISTENS.replace("00000000:7530", "0" * 32 + ":7530")}, "to ask it, give :30000"),
    ],
)
def test_the_port_that_nothing_is_seen_at_is_looked_up_and_not_asked(proc, tables, said):
    (proc.root / "net").mkdir()
    for name, rows in tables.items():
        (proc.root / "net" / name).write_text(f"  sl  local_address rem_address   st tx_queue\n{rows}")
    (line,) = [line for line in look(proc).looked_for if line.startswith("port 30000")]
    assert said in line


def test_what_the_kernel_keeps_from_this_user_is_said(proc, monkeypatch):
    opened = Path.open

    def guarded(path, *args, **named):
        if path.match("90/cmdline"):
            raise PermissionError(1, "hidden")
        return opened(path, *args, **named)

    proc.add(90, ["a"])
    assert not [line for line in look(proc).looked_for if "may not be read" in line]
    monkeypatch.setattr(Path, "open", guarded)
    assert "1 of 2 processes: their command lines may not be read; run kvtui as root or as the server's user" in look(proc).looked_for
    shutil.rmtree(proc.root / "1")
    assert any(line.startswith("other users' processes") for line in look(proc).looked_for)


def test_hostile_processes(proc):
    proc.add(80, b"\xff\xfe\x1b[2J\0" * 30_000)
    proc.add(81, [*LAUNCH, "--model-path", "\x1b]0;x\x07[red]", "--port", "9" * 5000], 50)
    proc.add(82, ["sglang::scheduler_\x1b[2J" + "x" * 100_000], 82)
    (proc.root / "83").mkdir()
    (proc.root / "84").write_text("no folder")
    proc.add(85, ["sglang::detokenizer"], 86)
    proc.add(86, ["sglang::scheduler"], 85)
    found = look(proc)
    assert "\x1b" not in "".join(process.title for server in found.servers for process in server.processes)
    assert all(len(process.title) <= 200 for server in found.servers for process in server.processes)
    models = [server.model.value for server in found.servers if isinstance(server.model, Known)]
    assert models == ["\\x1b]0;x\\x07[red]"]


def test_processes_that_vanish_while_they_are_read(proc):
    """Folders are taken away in another thread while the tree is read again and again."""
    stop = threading.Event()

    def churn():
        number = 0
        while not stop.is_set():
            number += 1
            main = 1000 + 10 * (number % 5)
            with contextlib.suppress(OSError):
                a_server(proc, main)
            for pid in range(main, main + 6):
                shutil.rmtree(proc.root / str(pid), ignore_errors=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(60):
            look(proc)
    finally:
        stop.set()
        thread.join()


async def test_a_stuck_process_does_not_hold_the_loop(proc, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr("kvtui.sources.discovery.discover", lambda *_: go.wait())
    worker = DaemonWorker("d")
    found = await asyncio.wait_for(find(worker, 0.05, Places(proc.root)), 2)
    assert "did not answer" in found.looked_for[0]
    go.set()


def test_a_real_process_with_the_words_and_a_child_with_a_title(tmp_path):
    """The module is a stub; argv, environment and log are those of a live process."""
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "launch_server.py").write_text(
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sglang::scheduler_TP0', '-c', 'import sys; sys.stdin.read()'], executable=sys.executable, stdin=sys.stdin)\n"
        "print('up', flush=True)\nsys.stdin.read()\nchild.wait()\n"
    )
    log = tmp_path / "server.log"
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", "tiny", "--port", "31999", "--api-key", "sk-seeded12"]
    env = {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "0", "SGLANG_TEST": "1", "HF_TOKEN": "hf_seeded"}
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, env=env)
    try:
        for _ in range(1000):
            if log.read_text():
                break
            threading.Event().wait(0.01)
        found = next(found for found in discover().servers if found.main == Known(server.pid, None, found.main.where))
    finally:
        server.communicate(timeout=10)
    assert (found.port.value, found.model.value, found.log.kind, found.log.name) == (31999, "tiny", "file", str(log))
    assert [process.role for process in found.processes] == ["main", "scheduler"]
    assert (found.visible_devices.value, found.environment["SGLANG_TEST"]) == (("0",), "1")
    assert found.own_network.value is False
    assert "seeded" not in repr(found)
