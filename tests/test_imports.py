"""What a verb loads: the headless ones must never pull in the screen."""

import subprocess
import sys

import pytest

PROBE = """
import sys
from click.testing import CliRunner
from kvtui.cli import main
result = CliRunner().invoke(main, {args!r})
loaded = sorted(m for m in sys.modules if m.split('.')[0] in {{'textual', 'rich', 'plotext', 'httpx', 'pynvml', 'sh'}})
print(result.exit_code, ','.join(loaded))
"""


@pytest.mark.parametrize(
    "args",
    [["--version"], ["--help"], ["report", "--help"], ["report", "LOG"], ["report", "LOG", "--format", "json"], ["plan", "--help"]],
    ids=" ".join,
)
def test_headless_verbs_load_no_screen_and_no_live_library(args, tmp_path):
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-03-18 09:00:00] max_total_num_tokens=4096, chunked_prefill_size=512, max_prefill_tokens=16384, max_running_requests=64, context_len=4096\n"
    )
    args = [str(log) if a == "LOG" else a for a in args]
    done = subprocess.run([sys.executable, "-c", PROBE.format(args=args)], capture_output=True, text=True, check=True)
    code, _, loaded = done.stdout.strip().partition(" ")
    assert code == "0", done.stdout
    assert loaded == ""


def test_the_first_paint_waits_for_nothing_that_it_does_not_show():
    """Imports are most of the time to the first paint."""
    probe = "import sys, kvtui.cli, kvtui.app; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    late = {"plotext", "httpx", "prometheus_client", "pynvml", "sh", "zstandard"}
    own = ("kvtui.domain", "kvtui.diagnose", "kvtui.options", "kvtui.twin", "kvtui.scenarios", "kvtui.wiring", "kvtui.guide")
    assert not [name for name in loaded if name.split(".")[0] in late or name.startswith(own)]
