"""Processes told apart by their words, and flags read from a command line without its secrets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.domain.reading import Known, Missing
from kvtui.parse.launch import confines, is_helper, launch_role, read_launch, shown_command, title_role

ID = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("words", "role"),
    [
        (["python", "-m", "sglang.launch_server", "--tp", "8"], "main"),
        (["/opt/venv/bin/python3.12", "-u", "-X", "dev", "-m", "sglang.launch_server"], "main"),
        (["python3", "-um", "sglang.launch_server"], "main"),
        (["python3", "/src/sglang/python/sglang/launch_server.py", "--tp", "8"], "main"),
        (["/usr/bin/python3", "/usr/local/bin/sglang", "serve", "--model-path", "m"], "main"),
        (["/usr/local/bin/sglang", "serve"], "main"),
        (["python3", "-m", "sglang.cli.main", "serve"], "main"),
        (["python3", "-m", "sglang_router.launch_router"], "router"),
        (["bash", "-c", "python -m sglang.launch_server --tp 8"], None),
        (["docker", "run", "img", "python", "-m", "sglang.launch_server"], None),
        (["grep", "sglang.launch_server"], None),
        (["vim", "sglang/launch_server.py"], None),
        (["python3", "-c", "import sglang", "-m", "sglang.launch_server"], None),
        (["python3", "-m", "sglang.bench_serving"], None),
        (["python3", "-m", "pytest", "sglang.launch_server"], None),
        (["/usr/local/bin/sglang", "generate"], None),
        (["python3"], None),
        ([], None),
    ],
)
def test_only_the_program_itself_is_a_server(words, role):
    assert launch_role(words) == role


@pytest.mark.parametrize(
    ("title", "role"),
    [
        ("sglang::scheduler", "scheduler"),
        ("sglang::scheduler_DP0_TP0_EP0", "scheduler"),
        ("sglang::detokenizer", "detokenizer"),
        ("sglang::detokenizer_router", "detokenizer"),
        ("sglang::data_parallel_controller", "dp controller"),
        ("sglang::tokenizer_worker:4242", "tokenizer"),
        ("xsglang::scheduler", None),
        ("sglang::schedulerx", None),
        ("sglang::schedul", None),
    ],
)
def test_titles(title, role):
    assert title_role([title]) == role


def test_a_child_before_its_title_is_a_helper():
    assert is_helper(["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"])
    assert not is_helper(["python", "-c", "print('from multiprocessing.spawn import ')"])


def test_flags_and_where_they_come_from():
    launch = read_launch(["python", "-m", "sglang.launch_server", "--model", "/m/x y", "--tp=8", "--port", "30001", "--trust-remote-code"])
    assert (launch.model.value, launch.port.value, launch.settings["tp_size"]) == ("/m/x y", 30001, 8)
    assert launch.settings["trust_remote_code"] is True
    assert (launch.host.value, launch.host.where.detail) == ("127.0.0.1", "SGLang's default host")
    assert read_launch(["sglang", "serve"]).port.value == 30000


def test_flags_of_a_config_file_are_not_guessed():
    launch = read_launch(["sglang", "serve", "--config", "/etc/s.yaml"])
    assert launch.config_file == "/etc/s.yaml"
    for reading in (launch.model, launch.host, launch.port):
        assert "/etc/s.yaml" in reading.reason


@pytest.mark.parametrize("port", ["0", "70000", "x", "1e9", "9" * 400, ""])
def test_a_port_that_is_none_is_missing(port):
    assert isinstance(read_launch(["sglang", "serve", "--port", port]).port, Missing)


@pytest.mark.parametrize("key", ["sk-plain12345", "two words", 'it\'s "q" $x', "-odd", "a=b"])
@pytest.mark.parametrize("flag", ["--api-key", "--admin-api-key", "--ssl-keyfile-password"])
@pytest.mark.parametrize("joined", [False, True])
def test_secrets_are_never_shown(key, flag, joined):
    words = ["sglang", "serve", f"{flag}={key}"] if joined else ["sglang", "serve", flag, key]
    launch = read_launch([*words, "--port", "1"])
    text = launch.command + str(dict(launch.settings))
    assert not any(part in text for part in ("plain", "words", "it's", "$x", "odd", "a=b"))
    assert launch.port.value == 1


def test_a_hostile_command_line_is_shown_safely():
    shown = shown_command(["python", "\x1b[2J\n\u202e", "[red]", "x" * 100_000])
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert len(shown) <= 16_384


@given(st.lists(st.text(max_size=30), max_size=12))
@settings(max_examples=200, deadline=None)
def test_no_words_can_make_it_fail(words):
    launch_role(words)
    title_role(words)
    launch = read_launch(words)
    assert isinstance(launch.port, (Known, Missing))


@pytest.mark.parametrize(
    ("path", "container", "runtime", "unit", "user"),
    [
        (f"/system.slice/docker-{ID}.scope", ID, "docker", None, False),
        (f"/docker/{ID}", ID, "docker", None, False),
        (f"/docker/{'f' * 64}/docker/{ID}", ID, "docker", None, False),
        (f"/machine.slice/libpod-{ID}.scope/container", ID, "podman", None, False),
        (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{ID}.scope",
            ID,
            "kubernetes",
            None,
            False,
        ),
        (f"/kubepods/burstable/pod1-2/{ID}", ID, "kubernetes", None, False),
        ("/system.slice/sglang@a.service", None, "", "sglang@a.service", False),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/my.service", None, "", "my.service", True),
        ("/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope", None, "", None, False),
        ("/user.slice/user-0.slice/session-3.scope", None, "", None, False),
        ("/", None, "", None, False),
    ],
)
def test_containers_and_units(path, container, runtime, unit, user):
    found = confines({"": path})
    assert (found.container, found.runtime, found.unit, found.user_unit) == (container, runtime, unit, user)
