"""A plan drawn in the panes, a saved plan beside what came of it, a stated load, and the simulation's page."""

import json
import math
from dataclasses import replace

import builders as b
import pytest
from options.option_build import KIMI, context, workload
from reading import analysis_of, log

from kvtui.domain.admission import Band, Interval
from kvtui.domain.plan import Change, Conflict, Plan
from kvtui.domain.reading import Known, Missing
from kvtui.domain.release import parse_release
from kvtui.domain.saved_plan import Compared, Followed, SavedPlan
from kvtui.domain.sizing.deployment import Deployment
from kvtui.domain.what_if import what_if
from kvtui.engine.planning import PlanRequest
from kvtui.engine.planning import plan as planned_server
from kvtui.options.simulate import run
from kvtui.options.stated import Stated
from kvtui.options.trial import trial_of
from kvtui.present.formula import formula
from kvtui.present.line import line_cells
from kvtui.present.memory import memory_model
from kvtui.present.options import options
from kvtui.present.plan_drawn import limits_after, moved_gib, plan_line, pool_gib
from kvtui.present.plan_options import plan_told
from kvtui.present.saved import followed_lines, followed_short
from kvtui.present.server import server_model
from kvtui.present.simulation import simulation_lines, subject
from kvtui.present.state import ViewState
from kvtui.present.stated import stated_lines
from kvtui.present.why import why
from kvtui.views.session import Session

SOME = Interval(0.1, 0.2, "by hand")
BAND = Band(44.0, 55.0, 2_048, 0.8, 0.9, Interval(2_000, 2_100, "c"), SOME, "by hand")
PLAN = Plan(
    ("raise-fraction",), ("--mem-fraction-static 0.90",), fraction=0.90, tokens=188_016, headroom_gib=3.71, change=Change(fraction=0.90)
)
STATE = ViewState(b.founding(band=BAND), estimates=b.estimates(), plan=frozenset({"raise-fraction"}), planned=PLAN)


def text(lines):
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_the_formula_has_a_line_for_the_plan():
    shown = text(formula(STATE, 58, 16).lines)
    assert "◆ plan of 1" in shown
    assert "188,016" in shown
    assert "+62%" in shown
    assert "188,016" not in text(formula(replace(STATE, planned=None), 58, 12).lines)
    conflict = replace(PLAN, conflicts=(Conflict("fp8-kv", "fp4-kv", "one dtype"),))
    assert "do not go together" in text([plan_line(conflict, STATE.analysis, 20, 10)])
    assert "unknown, because" in text([plan_line(replace(PLAN, tokens=None, tokens_why="no geometry"), STATE.analysis, 20, 10)])


def test_the_bars_have_an_edge_where_the_plan_ends():
    more = (188_016 - b.TOKENS) * b.CELL / 2**30
    assert pool_gib(PLAN, STATE.analysis) == pytest.approx(7.60 + more)
    assert moved_gib(PLAN, STATE.analysis) == pytest.approx(more)
    # Smaller weights give their bytes to the pool: it begins earlier and ends where it ended.
    lighter = replace(PLAN, change=Change(pool_gib=more))
    assert moved_gib(lighter, STATE.analysis) == pytest.approx(0)
    # A smaller cell: twice the tokens in the same bytes.
    fp8 = replace(PLAN, tokens=2 * b.TOKENS, change=Change(cell_ratio=0.5))
    assert moved_gib(fp8, STATE.analysis) == pytest.approx(0, abs=1e-9)
    for odd in (replace(PLAN, tokens=None), replace(PLAN, change=Change(copies=2.0))):
        assert moved_gib(odd, STATE.analysis) is None
    shown = text(memory_model(STATE, 58, 16).rows)
    assert "pool ends after the plan: 7.60 → 12.30  free 3.71" in shown
    assert shown.count("┃") == 9
    assert "┃" not in text(memory_model(replace(STATE, planned=None), 58, 16).rows)


def test_the_chart_has_the_band_after_the_plan():
    (limit,) = limits_after(PLAN, STATE.analysis, 1)
    # Each end moves by the tokens that come over what one request is charged.
    assert limit.low == pytest.approx(44 + 71_845 / 2_100)
    assert limit.high == pytest.approx(55 + 71_845 / 2_000)
    assert "plan admits 78–90" in limit.text
    plot = server_model(STATE, 58, 16).plot
    assert plot.limits[0] == limit
    assert plot.limits[0].glyph != plot.limits[1].glyph
    other = replace(PLAN, running=(50.0, 61.0), change=Change(conservativeness=0.3))
    assert [limit.text for limit in limits_after(other, STATE.analysis, 2)] == ["plan runs 122"]
    capped = replace(PLAN, tokens=b.TOKENS, change=Change(running_cap=96))
    assert [limit.text for limit in limits_after(capped, STATE.analysis, 1)] == ["plan's cap 96"]


SAVED = SavedPlan("Kimi-K2.5", 8, 1, 1, b.NOW, b.START, ("raise-fraction",), ("--mem-fraction-static 0.90",), 0.9, 116_171.0, 188_016.0, 3.71, 147.0, (50.0, 83.0), 835.0, (919.0, 1_042.0, 1_229.0))  # fmt: skip


def row(name, unit, low, mid, high, actual):
    return Compared(name, unit, None, low, mid, high, Known(actual))


TOLD = Followed(
    SAVED,
    (row("pool", "tokens", 188_016, 188_016, 188_016, 188_002), row("headroom", "GiB", 3.71, 3.71, 3.71, 2.61), row("throughput", "tok/s", 919, 1_042, 1_229, 800)),
    "",
)  # fmt: skip


def test_predicted_stands_beside_actual_with_a_judgement():
    shown = text(followed_lines(TOLD, 100))
    assert "188,016" in shown
    assert "✓ −0.0%" in shown
    assert "▲ −1.10 GiB" in shown
    assert "919…1,229" in shown
    assert "▲ out of range, −23.2%" in shown
    unknown = replace(TOLD, rows=(replace(TOLD.rows[0], actual=Missing("?")),), demand="60 in flight now, 147 then")
    shown = text(followed_lines(unknown, 60))
    assert "? not known" in shown
    assert "60 in flight now" in shown
    assert "188,002 came" in text([followed_short(TOLD)])


def test_the_formula_and_why_tell_of_a_saved_plan():
    state = ViewState(b.founding(), estimates=b.estimates(), followed=TOLD)
    assert "188,002" in text(formula(state, 98, 30).lines)
    low = text(formula(state, 58, 16).lines)
    assert "188,002" in low
    assert "headroom left" in low
    assert "the saved plan was carried out" in text(why(state, 100))


def test_why_answers_four_to_five_times():
    shown = text(why(ViewState(analysis_of(log("founding_a.log"))), 100))
    assert "How far it can go" in shown
    assert "4–5×" in shown
    assert "How far" not in text(why(ViewState(b.bare()), 100))


# -- a stated load


def stated(words=None):
    session = Session(lambda _analysis, _at: ())
    session.show(replace(b.founding(), workload=workload(output=1_400.0), account=context().account))
    session.state_load(words or Stated(users=64, prompt=4_000, output=500))
    return session


def test_options_answer_for_the_stated_load_and_say_so():
    session = stated()
    shown = text(options(session.state, 90, 24, None).lines)
    assert "for 64 users, 4,000 in, 500 out (stated)" in shown
    page = text(stated_lines(session.state, 100))
    assert "64 requests of 4,250 tokens" in page
    assert "prompt: 4,000, stated" in page
    assert "goal: all of the load running at once" in page
    fits = {e.id: e.fits for e in session.state.estimates}
    assert fits["raise-fraction"] == pytest.approx(session.state.estimates[0].tokens / 4_250, rel=0.2)
    session.state_load(Stated())
    assert (session.state.stated, session.state.answer) == (None, None)
    assert "No load is stated" in text(stated_lines(session.state, 80))


def test_a_goal_is_answered():
    page = text(stated_lines(stated(Stated(target_tok_s=900)).state, 100))
    assert "goal: 900 tok/s, stated" in page
    assert "throughput: 835 tok/s, measured" in page


# -- the simulation's page


def test_the_page_tells_both_sides_and_what_they_rest_on():
    found = run(trial_of(context(workload=workload(output=1_400.0)), Change(fraction=0.90)))
    lines = simulation_lines("raise fraction", found, 110)
    shown = text(lines)
    for words in ("→", "measured", "after, simulated", "retractions a minute", "What it was told", "assumed", "Three seeds"):
        assert words in shown
    for width in (40, 60, 78, 110):
        assert all(line_cells(line) <= width for line in simulation_lines("x" * 500, found, width))
    doubt = text(simulation_lines("x", replace(found, alike=False), 110))
    assert "trust the direction" in doubt
    same = text(simulation_lines("x", replace(found, same=True), 110))
    assert "changes nothing that the twin knows" in same
    none = replace(found.today, wait_s=replace(found.today.wait_s, mean=math.nan))
    assert "–" in text(simulation_lines("x", replace(found, today=none), 110))


def test_waiting_and_refusing_are_said():
    assert "a second or two" in text(simulation_lines("x", None, 80))
    assert "Not simulated: no load\ufffd[2J" in text(simulation_lines("x", Missing("no load\x1b[2J"), 80))


def test_what_is_played():
    analysis = replace(b.founding(), workload=workload(output=1_400.0))
    state = ViewState(analysis, estimates=b.estimates())
    assert subject(state, None)[0] == "today"
    assert subject(state, "fp8-kv")[0] == "fp8 KV cache"
    assert isinstance(subject(state, "drop-draft")[1], Missing)
    marked = replace(state, plan=frozenset({"raise-fraction"}), planned=PLAN)
    assert subject(marked, None)[0] == "the plan of 1: raise --mem-fraction-static, at mem_fraction_static 0.90"
    assert subject(marked, "raise-fraction")[1].changed.server.pool_tokens == pytest.approx(188_016, abs=2)
    assert subject(marked, "fp8-kv")[0] == "fp8 KV cache"
    clash = replace(marked, planned=replace(PLAN, conflicts=(Conflict("fp8-kv", "fp4-kv", "one dtype"),)))
    assert "one dtype" in subject(clash, None)[1].reason
    assert isinstance(subject(ViewState(b.bare()), None)[1], Missing)


def test_the_fraction_on_the_screen_is_played():
    analysis = replace(b.founding(), workload=workload(output=1_400.0))
    state = ViewState(analysis, fraction=0.9, what_if=what_if(analysis.account, 0.9), estimates=b.estimates(0.9))
    title, trial = subject(state, None)
    assert title == "today, at mem_fraction_static 0.90 (what if)"
    assert trial.today.server.pool_tokens == analysis.account.tokens_reported.value
    assert trial.changed.server.pool_tokens == state.what_if.tokens.value
    # Beside an option that leaves the fraction alone, and before the fraction that a plan's lever chose.
    title, trial = subject(state, "fp8-kv")
    assert title == "fp8 KV cache, at mem_fraction_static 0.90 (what if)"
    ratio = next(e for e in state.estimates if e.id == "fp8-kv").change.cell_ratio
    assert trial.changed.server.pool_tokens == pytest.approx(state.what_if.tokens.value / ratio, abs=2)
    planned = replace(PLAN, fraction=0.93, change=Change(fraction=0.93))
    title, trial = subject(replace(state, plan=frozenset({"raise-fraction"}), planned=planned), None)
    assert title.endswith("at mem_fraction_static 0.90 (what if)")
    assert trial.changed.server.pool_tokens == state.what_if.tokens.value


# -- kvtui plan


def told(load, form="text", **changes):
    given = {"release": None, "tp": 8, "pre": 94.04, "post": 21.71, "fraction": 0.88, "kv_dtype": "auto", "page_size": 1, **changes}
    found = planned_server(KIMI, PlanRequest(Deployment(**given), "0.5.9"))
    assert found.deployment.release == parse_release("0.5.9")
    return plan_told(found.config, found.notes, found.geometry, found.deployment, load=load, form=form, width=110)


def test_the_calculator_prices_the_same_levers():
    shown = told(None)
    assert "raise fraction to 0.89" in shown
    assert "--load" in shown
    body = json.loads(told("64 users, 4k in, 500 out", "json"))
    by_id = {option["id"]: option for option in body["options"]}
    assert by_id["fp8-kv"]["tokens"] == pytest.approx(2 * body["tokens"], abs=2)
    assert by_id["raise-fraction"]["flags"] == ["--mem-fraction-static 0.89"]
    assert body["load"]["stated"] == "64 users, 4000 in, 500 out"
    assert body["load"]["needed_tokens"] > body["tokens"]
    assert "options" in json.loads(told(None, "json"))
    with pytest.raises(ValueError, match="The load"):
        told("many")


def test_no_pool_no_options():
    assert "No options: " in told(None, fraction=0.5)
    assert json.loads(told(None, "json", fraction=0.5))["options"] == []
