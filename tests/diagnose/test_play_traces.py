from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from play_traces import Player, last_frame, runs, verdicts

from kvtui.diagnose.steady import Steady, advance

TRACES = Path(__file__).resolve().parents[2].parent / "shared" / "traces"
RUNS = runs(TRACES) if TRACES.is_dir() else []

pytestmark = pytest.mark.skipif(not RUNS, reason="no recorded runs beside the repository")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_metrics_alone_name_the_cause(run):
    frame = last_frame(run)
    assert frame.sampled
    found = verdicts(frame)
    label = Player(run).label
    assert found[0].id in label["cause"]
    assert found[0].id not in label["verdicts_bad"]


@pytest.mark.parametrize(
    "run", [run for run in RUNS if run.name.startswith(("kvcap", "noradix", "restart", "frozen"))], ids=lambda run: run.name
)
def test_what_is_shown_on_the_way_does_not_flap(run):
    player, state, shown = Player(run), Steady(), []
    for frame in player.frames(player.label["to_s"]):
        state = advance(state, verdicts(frame), frame.now)
        shown.append(state.shown[0].id)
    changes = [verdict for i, verdict in enumerate(shown) if i == 0 or verdict != shown[i - 1]]
    # A restart is four situations: healthy, away, just up, loaded.
    assert len(changes) <= (6 if run.name.startswith("restart") else 3)
    assert shown[-1] in player.label["cause"]
