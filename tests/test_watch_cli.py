"""``kvtui report --watch`` as a script uses it: lines, signals, pipes and exit statuses."""

import gzip
import json
import os
import signal
import subprocess
import sys
import threading

import phases
import pytest
from click.testing import CliRunner
from reading import LOGS, log

from kvtui.cli import main

COMMAND = (sys.executable, "-m", "kvtui", "report")


@pytest.fixture
def watched(tmp_path):
    """Starts a watch; whatever a test leaves running is ended."""
    running = []

    def start(*args, **more):
        # A shell may have this process ignore the signals that the watch takes.
        taken = [signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT,)]
        try:
            process = subprocess.Popen(
                [*COMMAND, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, **more
            )
        finally:
            signal.signal(signal.SIGINT, taken[0])
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_what_is_piped_in_is_read_to_its_end():
    done = subprocess.run([*COMMAND, "-", "--watch"], input=log("founding_a.log"), capture_output=True, text=True, timeout=60)
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["schema"], first["event"], first["primary"]["id"], first["target"]) == (1, "start", "kv-capacity", "standard input")
    assert (done.returncode, done.stderr) == (1, "")


def packed(folder, text):
    path = folder / "server.log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def piped(folder, text):
    path = folder / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=(text,), daemon=True).start()
    return path


@pytest.mark.parametrize("made", [packed, piped])
def test_what_has_an_end_ends_the_watch(tmp_path, made):
    """Nothing is ever added to it: who waited would wait for ever."""
    target = made(tmp_path, log("founding_a.log"))
    done = subprocess.run([*COMMAND, target, "--watch"], capture_output=True, text=True, timeout=60)
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["start"]
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("text", ["", "another program's line\n" * 5])
def test_a_pipe_without_a_server_ends_with_3(text):
    done = subprocess.run([*COMMAND, "-", "--watch"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_the_status_of_the_newest_verdict(watched, number):
    process = watched(LOGS / "founding_a.log", "--watch")
    assert json.loads(process.stdout.readline())["event"] == "start"
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest, errors) == (1, "", "")


def test_it_ends_quietly_when_nobody_reads_any_more(watched):
    process = watched(LOGS / "founding_a.log", "--watch")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""


def test_a_file_is_followed_as_by_tail(watched, tmp_path):
    path = tmp_path / "server.log"
    whole = phases.phased((60, phases.FULL))
    path.write_text(whole)
    process = watched(path, "--watch", "--format", "text")
    assert "[kv-capacity, " in process.stdout.readline()
    with path.open("a") as more:
        more.write(log("founding_b.log").replace("2026-03-18", "2026-03-19"))
    assert "restart: the server began anew, start 2" in process.stdout.readline()
    assert "before: kv-capacity" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0


def test_the_time_bounds_it_and_a_line_comes_in_any_case():
    done = subprocess.run([*COMMAND, str(LOGS / "founding_b.log"), "--watch", "--seconds", "1"], capture_output=True, text=True, timeout=60)
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["start"]
    assert done.returncode == 0


def run(*args):
    return CliRunner().invoke(main, ["report", *map(str, args)])


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "0", "x"])
def test_a_time_that_is_none_is_refused(seconds):
    for more in ((), ("--watch",)):
        done = run(LOGS / "founding_a.log", f"--seconds={seconds}", *more)
        assert done.exit_code == 2
        assert "--seconds" in done.stderr


@pytest.mark.parametrize("args", [("--format", "md"), ("--compare", "1,2"), ("--width", "60")])
def test_what_is_no_line_cannot_be_watched(args):
    done = run(LOGS / "founding_a.log", "--watch", *args)
    assert done.exit_code == 2
    assert f"leave {args[0]}" in done.stderr or "leave --compare and --format md out" in done.stderr


def test_a_file_that_is_not_there_is_one_line_of_json(tmp_path):
    done = run(tmp_path / "no.log", "--watch")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["verdicts"] == []
    assert len(done.stdout.splitlines()) == 1


def test_no_secret_is_printed():
    done = subprocess.run([*COMMAND, "-", "--watch"], input=log("founding_a.log"), capture_output=True, text=True, timeout=60)
    assert "sk-canary" not in done.stdout


def test_the_screen_is_not_loaded():
    probe = (
        "import sys\nfrom click.testing import CliRunner\nfrom kvtui.cli import main\n"
        f"CliRunner().invoke(main, ['report', {str(LOGS / 'founding_a.log')!r}, '--watch', '--seconds', '1'])\n"
        "assert 'kvtui.verbs.watch' in sys.modules\n"
        "print(*(m for m in sys.modules if m.split('.')[0] in {'textual', 'rich', 'plotext', 'httpx', 'pynvml', 'sh'}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=dict(os.environ), timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("", 0), done.stderr
