"""Pages recorded from real servers, and runs with a known answer; skipped where they are not beside the repository."""

import gzip
import json
from pathlib import Path

import pytest
from metric_pages import scrape

from kvtui.domain.motion import MotionWatch
from kvtui.domain.rates import RateMeter
from kvtui.domain.reading import Known
from kvtui.domain.release import parse_release
from kvtui.domain.samples import SampleStore
from kvtui.domain.scrape_samples import SampleFeed, events_between
from kvtui.domain.workload import observe
from kvtui.parse.json_body import decode
from kvtui.parse.loads import read_loads
from kvtui.parse.server_info import read_model_info, read_server_info
from kvtui.sources.exposition_reader import PageReader

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
pytestmark = pytest.mark.skipif(not (SHARED / "traces").is_dir(), reason="no recordings beside the repository")


def page(name, version):
    return scrape((SHARED / "samples" / name).read_bytes(), version=version)


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_eight_data_parallel_ranks(version):
    got = page(f"metrics_{version}_dp8.prom", version)
    assert [row.dp for row in got.ranks] == list(range(8))
    assert got.sum("running").reading.value == 179
    assert got.sum("queued").reading.value == 9
    assert got.pool_tokens().reading.value == 8 * 512_000
    usage = got.highest("usage")
    assert (usage.low, usage.high) == (0.08, 0.97)
    assert len(got.gpus) == (8 if version == "0.5.23" else 0)


@pytest.mark.parametrize("version", ["0.5.9", "0.5.23"])
def test_eight_tensor_ranks(version):
    got = page(f"metrics_{version}_tp8.prom", version)
    assert len(got.ranks) == 1
    assert got.sum("running").reading.value == 48
    assert got.pool_tokens().reading.value == 2_624_512
    assert got.ttft.count == 600
    assert got.queue_time.count == 400
    assert isinstance(got.ranks[0].kv_evictable_tokens, Known) == (version == "0.5.23")


@pytest.mark.parametrize("folder", ["0.5.23-dp2", "0.5.23-tp2", "0.5.23-mla", "0.5.9-llama", "0.5.9-mla", "0.5.23-llama-retract"])
def test_all_that_a_real_server_answered(folder):
    base = SHARED / "samples" / "real" / folder
    version = folder.split("-", maxsplit=1)[0]
    got = page(f"real/{folder}/metrics_005.prom", version)
    info = read_server_info(decode((base / "server_info.json").read_bytes()), 1.0)
    loads = read_loads(decode((base / "loads_005.json").read_bytes()), 1.0)
    model = read_model_info(decode((base / "model_info.json").read_bytes()), 1.0)
    assert str(info.release) == version
    assert info.pool_tokens.value == 4096
    assert info.states[0].running_cap.value == 16 == loads.rows[0].running_cap.value
    assert len(info.states) == len(loads.rows) == len(got.ranks) == (2 if "dp2" in folder else 1)
    assert got.pool_tokens().reading.value == 4096 * len(got.ranks)
    assert got.whole
    assert not [note for note in got.notes if "left out" in note and "tp2" not in folder]
    assert model.architectures
    assert info.settings["model_path"].value == model.model


def play(folder):
    base = SHARED / "traces" / folder
    label = json.loads((base / "label.json").read_text())
    release = label["release"]
    reader, meter, feed, watch, store = PageReader(), RateMeter(), SampleFeed(), MotionWatch(), SampleStore()
    before, events, states, rates = None, [], [], None
    answers = [json.loads(line) for line in (base / "loads.jsonl").read_text().splitlines()]
    with gzip.open(base / "metrics.jsonl.gz", "rt") as pages:
        for line, loads in zip(pages, answers, strict=False):
            asked = json.loads(line)
            if asked["status"] != 200:
                continue
            got = scrape((asked["text"].rstrip("\n") + "\n").encode(), asked["t"], release, reader)
            rates = meter.push(got)
            watch.page(got)
            if loads["status"] == 200 and parse_release(release).base >= (0, 5, 15):
                watch.loads(read_loads(loads["body"], loads["t"]))
            states.append(watch.judge().state)
            rows = feed.push(got)
            if label["from_s"] <= asked["t"] - label["t0"] <= label["to_s"]:
                for row in rows:
                    store.append(row)
                events += events_between(before, got)
            before = got
    numbers = label["numbers"]
    load = observe(
        store.view(), events, pool_tokens=numbers.get("P"), window_s=None, decode_interval=feed.steps_per_row and round(feed.steps_per_row)
    )
    return numbers, load, states, rates


@pytest.mark.parametrize(
    "folder",
    [
        "client-0.5.23",
        "giant-0.5.9",
        "kvcap-0.5.23",
        "reservation-0.5.9",
        "restart-0.5.23",
        "running-cap-0.5.9",
        "retraction-tight-0.5.23",
        "unsetbig-0.5.9",
    ],
)
def test_metrics_alone_tell_the_load_of_a_run(folder):
    want, load, _, rates = play(folder)
    assert load.running.value == pytest.approx(want["run"], rel=0.05)
    assert load.queued.value == pytest.approx(want["queue"], rel=0.06, abs=0.6)
    assert load.usage.value == pytest.approx(want["usage"], rel=0.15, abs=0.005)
    assert load.gen_tput.value == pytest.approx(want["tput"], rel=0.12)
    assert load.prompt.value == pytest.approx(want["p"], rel=0.07)
    assert load.output.value == pytest.approx(want["O"], rel=0.12)
    assert load.input_tput.value == pytest.approx(want["input_tok_s"], rel=0.07)
    assert rates.output_tokens.value == pytest.approx(want["O"], rel=0.05)


def test_retractions_are_counted():
    want, load, _, _ = play("retraction-tight-0.5.23")
    assert load.retracted == pytest.approx(want["retr_counter"], abs=2)


def test_a_stopped_scheduler_is_stuck_and_an_idle_server_is_not():
    assert "stuck" in play("frozen-0.5.23")[2]
    assert not {"stuck", "gauges-frozen", "loads-frozen"} & set(play("healthy-0.5.9")[2] + play("kvcap-0.5.23")[2])


def test_a_restart_in_the_middle_is_seen():
    assert play("restart-0.5.23")[3].reset_at is not None
