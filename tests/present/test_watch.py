"""What is news of a server under watch, and the line that tells it."""

import json
from dataclasses import replace

import builders as b

from kvtui.domain.finding import Finding
from kvtui.domain.frame import SourceHealth
from kvtui.present.watch import change_json, change_text, changes, ended, limited, settled

AT = 1_795_986_948.0
KV, HEALTHY = b.FINDINGS[0], Finding("healthy", "Nothing limits this server", "All is served.", "concurrency", "high")


def server(*findings, boots=1, **states):
    base = b.founding()
    sources = tuple(
        SourceHealth(name, "x", state, "refused" if state == "failed" else "") for name, state in (states or {"log": "live"}).items()
    )
    frame = replace(base.frame, finished=False, boots=base.frame.boots[:1] * boots, chosen=0, sources=sources)
    return replace(base, frame=frame, findings=findings or (KV,))


def told(*analyses):
    known, events = None, []
    for analysis in analyses:
        found, known = changes(known, analysis)
        events += [(change.event, change.source.name) if change.source else change.event for change in found]
    return events


def test_the_first_line_is_what_is_so_now():
    assert told(server()) == ["start"]


def test_a_mere_number_is_no_news():
    more = replace(KV, sentence="61 run, 12 wait", since=b.NOW, evidence=())
    assert told(server(KV), server(more), server(KV)) == ["start"]


def test_other_verdicts_another_order_and_another_confidence_are_news():
    step = b.FINDINGS[1]
    assert told(server(KV), server(HEALTHY)) == ["start", "verdict"]
    assert told(server(KV), server(KV, step)) == ["start", "verdict"]
    assert told(server(KV, b.BANNER, step), server(KV, step, b.BANNER)) == ["start", "verdict"]
    assert told(server(KV), server(replace(KV, confidence="low"))) == ["start", "verdict"]
    # Of what stands beside the primary verdict only that it is there.
    assert told(server(KV, step), server(KV, replace(step, confidence="low"))) == ["start"]


def test_a_source_is_lost_once_and_back_once():
    events = told(
        server(log="live", metrics="live"),
        server(log="live", metrics="failed"),
        server(log="live", metrics="failed"),
        server(log="live", metrics="waiting"),
        server(log="live", metrics="failed"),
        server(log="live", metrics="live"),
        server(log="ended", metrics="live"),
    )
    assert events == ["start", ("lost", "metrics"), ("back", "metrics")]


def test_a_restart_is_told_once_and_before_its_verdict():
    assert told(server(boots=1), server(HEALTHY, boots=2), server(HEALTHY, boots=1), server(HEALTHY, boots=2)) == [
        "start",
        "restart",
        "verdict",
    ]
    assert told(server(boots=0), server(boots=1)) == ["start"], "a log whose starts are read a moment later did not restart"


def line(*analyses):
    known, found = None, ()
    for analysis in analyses:
        found, known = changes(known, analysis)
    return change_json(found[-1], AT, ":30000"), change_text(found[-1], AT)


def test_a_line_for_scripts_holds_all_that_is_so_and_what_was():
    seen, _ = line(server(HEALTHY), server(KV, b.BANNER, boots=1))
    assert json.loads(json.dumps(seen, allow_nan=False)) == seen
    assert (seen["schema"], seen["at"], seen["event"], seen["target"]) == (1, "2026-11-29T21:15:48Z", "verdict", ":30000")
    assert seen["limited"] is True
    assert (seen["primary"]["id"], seen["primary"]["fixes"]) == ("kv-capacity", list(KV.fixes))
    assert [entry["id"] for entry in seen["verdicts"]] == ["kv-capacity", "headroom"]
    assert seen["was"] == {"primary": {"id": "healthy", "confidence": "high"}, "verdicts": ["healthy"], "lost": [], "starts": 1}
    assert line(server())[0]["was"] is None


def test_a_lost_source_is_named_with_its_reason():
    seen, text = line(server(metrics="live"), server(metrics="failed"))
    assert seen["source"] == {"name": "metrics", "state": "failed", "reason": "refused"}
    assert seen["lost"] == ["metrics"]
    assert "✖ lost: metrics. refused" in text


def test_a_text_line_is_one_line_whatever_a_log_says():
    evil = replace(KV, title="a\nb\x1b[2J", sentence="c\r\nd")
    _, text = line(server(HEALTHY), server(evil))
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    assert "before: healthy" in text


def test_when_there_is_something_to_tell_and_when_nothing_more_comes():
    assert not settled(server(log="live", metrics="waiting").frame)
    assert settled(server(log="live", metrics="failed").frame)
    assert not ended(server(log="live").frame)
    assert ended(b.founding().frame)
    assert ended(replace(server(log="failed").frame, counts=type(b.founding().frame.counts)()))
    assert (limited(server(KV)), limited(server(HEALTHY))) == (True, False)
