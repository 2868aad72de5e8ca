"""A console on something that tells nothing says why in the first verdict, not under sources alone."""

from dataclasses import replace

import pytest
from engine_fakes import dead_http
from reading import frame_of, log

from kvtui.domain.frame import Frame
from kvtui.domain.health import SourceHealth
from kvtui.engine.analyse import analyse


def verdict(*sources, **more):
    return analyse(Frame(now=5.0, finished=False, sources=sources, **more)).findings[0]


@pytest.mark.parametrize(("state", "title"), [("failed", "Nothing could be read"), ("waiting", "Nothing was read yet")])
def test_the_reason_of_the_log_is_the_verdict(state, title):
    found = verdict(SourceHealth("log", "x.log", state, "x.log is empty: give another."))
    assert (found.id, found.title, found.sentence) == ("not-enough-data", title, "x.log is empty: give another.")


def test_a_server_that_does_not_answer_says_why():
    http = dead_http("Nothing listens at http://127.0.0.1:30000: it is still starting.")
    found = verdict(*http.health, SourceHealth("host", "/proc", "failed", "no such thing"), http=http)
    assert found.sentence.startswith("Nothing listens at")


def test_what_was_read_is_judged_whatever_fails_beside_it():
    frame = replace(frame_of(log("founding_a.log")), sources=(SourceHealth("metrics", "x", "failed", "refused"),))
    assert analyse(frame).findings[0].title not in {"Nothing could be read", "Nothing was read yet"}
