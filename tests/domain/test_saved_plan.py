from dataclasses import replace
from types import MappingProxyType

import builders as b
import pytest

from kvtui.domain.boot import Setting
from kvtui.domain.estimate import Range
from kvtui.domain.plan import Plan
from kvtui.domain.reading import Known, Missing, Where
from kvtui.domain.saved_plan import followed, saved_plan
from kvtui.domain.workload import observe
from kvtui.present.saved import followed_lines

PLAN = Plan(
    ("raise-fraction",), ("--mem-fraction-static 0.90",), fraction=0.90, tokens=188_016, headroom_gib=3.71, running=(50.0, 83.0),
    tok_s=Range(919, 1_042, 1_229, "prior"),
)  # fmt: skip


def loaded(analysis):
    frame = analysis.frame
    return replace(analysis, workload=observe(frame.timeline, (), pool_tokens=b.TOKENS))


BEFORE = loaded(b.founding())
SAVED = saved_plan(BEFORE, PLAN)


def after(fraction=0.90, begun=None, tokens=188_002, **settings):
    """The next start, at another fraction."""
    made = b.boot(2, fraction, tokens, first_line=80_001, **settings)
    begun = b.NOW + 120 if begun is None else begun
    boots = (*b.BOOTS, replace(made, begun_at=begun))
    changed = b.account(fraction, tokens_reported=b.known(tokens, 80_100), headroom_gib=b.known(3.66, 80_100))
    return replace(BEFORE, account=changed, frame=replace(BEFORE.frame, boots=boots, chosen=2, now=b.NOW + 900))


def test_what_is_kept():
    assert (SAVED.model, SAVED.tp, SAVED.at) == ("Kimi-K2.5", 8, b.NOW)
    assert SAVED.tokens_before == b.TOKENS
    assert SAVED.tok_s == (919, 1_042, 1_229)
    assert SAVED.in_flight == pytest.approx(BEFORE.workload.busiest.running.value + BEFORE.workload.busiest.queued.value)


def test_predicted_beside_actual_after_the_restart():
    told = followed(after(), (SAVED,))
    rows = {row.name: row for row in told.rows}
    assert rows["pool"].off == pytest.approx(-14 / 188_016)
    assert rows["headroom"].actual.value == 3.66
    assert (rows["throughput"].low, rows["throughput"].high) == (919, 1_229)
    assert rows["running"].mid == 83.0
    assert told.demand == ""


@pytest.mark.parametrize(
    "analysis",
    [
        BEFORE,
        after(fraction=0.88),
        after(begun=b.NOW - 3_600),
        replace(after(), account=replace(after().account, identity=replace(b.IDENTITY, model=Known("another")))),
        replace(after(), account=replace(after().account, identity=replace(b.IDENTITY, model=Missing("?")))),
        b.bare(),
    ],
)
def test_another_start_is_not_taken_for_it(analysis):
    assert followed(analysis, (SAVED,)) is None


def test_without_a_time_of_saving_an_earlier_start_is_not_taken_either():
    bare = replace(SAVED, at=None)
    assert followed(after(begun=b.BOOTS[1].begun_at - 3_600), (bare,)) is None
    assert followed(after(), (bare,)) is not None


def test_a_start_that_failed_is_not_compared():
    made = after()
    boots = (*made.frame.boots[:2], replace(made.frame.boots[2], state="failed"))
    assert followed(replace(made, frame=replace(made.frame, boots=boots)), (SAVED,)) is None


def test_every_flag_must_be_set():
    both = replace(SAVED, flags=("--mem-fraction-static 0.90", "--kv-cache-dtype fp8_e4m3"))
    assert followed(after(), (both,)) is None
    assert followed(after(kv_cache_dtype="fp8_e4m3"), (both,)) is not None
    switch = replace(SAVED, flags=("--mem-fraction-static 0.90", "--enable-dp-attention"))
    assert followed(after(), (switch,)) is None
    assert followed(after(enable_dp_attention=True), (switch,)) is not None
    gone = replace(SAVED, flags=("--mem-fraction-static 0.90", "remove --max-total-tokens"))
    assert followed(after(max_total_tokens=100_000), (gone,)) is None
    assert followed(after(max_total_tokens=None), (gone,)) is not None


@pytest.mark.parametrize("flags", [('"max_tokens": 1024',), ()])
def test_a_plan_without_launch_flags_is_compared_and_not_taken_for_proven(flags):
    bare = replace(SAVED, options=("client-concurrency",), flags=flags)
    told = followed(after(), (bare,))
    assert not told.proven
    assert told.unseen == (flags or ("client-concurrency",))
    assert followed(BEFORE, (bare,)) is None
    page = "\n".join("".join(span.text for span in line) for line in followed_lines(told, 120))
    assert "cannot be seen whether it was carried out" in page
    assert "not to be seen in the server's settings: " in page
    # A plan that can be recognised says more, however old it is.
    assert followed(after(), (SAVED, bare)).plan is SAVED


def test_what_of_a_recognised_plan_cannot_be_seen_is_said():
    told = followed(after(), (replace(SAVED, flags=(*SAVED.flags, '"max_tokens": 1024')),))
    assert told.proven
    assert told.unseen == ('"max_tokens": 1024',)


def test_a_plan_for_a_stated_load_is_compared_at_that_load():
    kept = saved_plan(BEFORE, PLAN, "64 users", BEFORE.workload)
    assert kept.stated == "64 users"
    page = "".join(span.text for line in followed_lines(followed(after(), (kept,)), 120) for span in line)
    assert "the figures are for the stated load: 64 users" in page


def test_the_newest_plan_that_fits_is_taken():
    other = replace(SAVED, tokens=1.0)
    assert followed(after(), (other, SAVED)).plan is SAVED
    assert followed(after(), (SAVED, replace(SAVED, fraction=0.95, flags=("--mem-fraction-static 0.95",)))).plan is SAVED


def test_throughput_is_compared_at_equal_demand_only():
    told = followed(after(), (replace(SAVED, in_flight=20.0),))
    assert [row.name for row in told.rows] == ["pool", "headroom"]
    assert "20 then" in told.demand
    assert "not known" in followed(after(), (replace(SAVED, in_flight=None),)).demand
    assert "nothing has run yet" in followed(replace(after(), workload=None), (SAVED,)).demand


def test_hostile_flags_and_settings_do_not_match_by_accident():
    strange = replace(SAVED, flags=("--mem-fraction-static nan", "--x " + "9" * 79))
    assert followed(after(), (strange,)) is None
    made = after()
    odd = Setting("tp_size", ("a", ("b",)), "server_args", Where("log"))
    boots = (*made.frame.boots[:2], replace(made.frame.boots[2], settings=MappingProxyType({"tp_size": odd})))
    assert followed(replace(made, frame=replace(made.frame, boots=boots)), (replace(SAVED, flags=("--tp-size 8",)),)) is None
