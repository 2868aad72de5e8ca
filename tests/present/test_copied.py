import builders as b

from kvtui.present.copied import NO_VERDICT, pane_text, report_name, verdict_text
from kvtui.present.line import BLANK, Span


def test_a_pane_as_text():
    assert pane_text("Server", ((Span("running "), Span("50 ", "strong")), BLANK, (Span("  "),))) == "Server\nrunning 50"


def test_the_verdicts_with_their_proof():
    text = verdict_text(b.founding().findings)
    assert text.startswith("KV capacity limits concurrency: ")
    assert len(text.split("\n")) == len(b.founding().findings)
    assert verdict_text(()) == NO_VERDICT


def test_names_of_reports():
    assert report_name(b.NOW) == "kvtui-report-2025-11-29-14-12-00"
    assert report_name(None) == report_name(float("nan")) == "kvtui-report"
