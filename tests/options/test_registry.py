import math
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from options.option_build import account, context, finding, workload

import kvtui.options
from kvtui.domain.estimate import OPTION_IDS
from kvtui.domain.finding import VERDICT_IDS
from kvtui.domain.reading import Known, Missing
from kvtui.options import context as context_module
from kvtui.options.lever import LEVERS, lever
from kvtui.options.registry import MODULES, estimates

SHARED = {
    "__init__", "applied", "arithmetic", "ceiling", "combined", "context", "effect", "flags", "launch", "lever", "measured", "of_analysis", "of_plan", "outcome", "plan", "rank_groups", "seen", "simulate", "stated", "stated_text", "trial",
    "priors", "registry", "reservation", "resized", "weight_reads",
}  # fmt: skip


def test_every_file_of_a_lever_is_registered():
    files = {path.stem for path in Path(kvtui.options.__file__).parent.glob("*.py")} - SHARED
    named = {module.__name__.rsplit(".", 1)[1] for module in MODULES}
    assert files == named
    assert len(LEVERS) == len(MODULES)
    assert set(LEVERS) == set(OPTION_IDS)


def test_an_id_is_taken_once():
    with pytest.raises(ValueError, match="two levers"):
        lever("hicache")(lambda _: None)


def test_best_safe_first_and_the_rest_last():
    told = estimates(context())
    assert [e.id for e in told[:2]] == ["raise-fraction", "cap-max-new-tokens"]
    applies = [e.applies for e in told]
    assert applies == sorted(applies, reverse=True)
    assert {e.id for e in told} == set(LEVERS)
    ranks = [e.rank for e in told]
    assert ranks == sorted(ranks, reverse=True)
    fp8 = next(e for e in told if e.id == "fp8-kv")
    assert fp8.tok_s.mid > told[0].tok_s.mid
    assert fp8.rank < told[0].rank


def test_what_leaves_no_memory_stands_behind_all_that_applies():
    told = [e for e in estimates(context("prefill", account=account(headroom_gib=Known(4.0)))) if e.applies]
    short = [e.headroom_gib < 0 for e in told]
    assert any(short)
    assert short == sorted(short)


def test_the_cure_of_a_leading_banner_stands_before_what_gains_nothing():
    held = {"foreign_gib": Known(6.0), "workload": workload(running=3.0, queued=0.0)}
    leads = (finding("foreign-memory", "banner", ("free-other-processes",)), finding("client"))
    order = [e.id for e in estimates(context(findings=leads, **held)) if e.applies]
    below = [e.id for e in estimates(context(findings=leads[::-1], **held)) if e.applies]
    assert order.index("free-other-processes") < order.index("raise-fraction")
    assert below.index("free-other-processes") > below.index("raise-fraction")


def test_every_estimate_explains_itself():
    for limit in (None, *VERDICT_IDS):
        for told in estimates(context(limit)):
            assert told.title
            assert (told.tok_s is None) == bool(told.tok_s_why), told
            assert told.applies or told.why_not
            assert told.tok_s is None or told.tok_s.basis
            assert told.tok_s is None or 0 <= told.tok_s.low <= told.tok_s.mid <= told.tok_s.high
            assert told.rank >= 0 or told.why_not or told.tok_s.mid < 835 or told.headroom_gib < 0


def test_levers_do_not_depend_on_order():
    assert estimates(context()) == estimates(context())


def test_an_empty_account_is_answered():
    bare = account()
    unknown = {f.name: Missing("not in the log") for f in fields(bare) if isinstance(getattr(bare, f.name), (Known, Missing))}
    for told in estimates(
        context(None, account=replace(bare, **unknown), boot=None, workload=workload(resident=None, prompt=None, tok_s=1.0))
    ):
        assert told.tokens is None
        assert told.tok_s is None
        assert told.tok_s_why
        assert told.rank <= 0


NUMBERS = st.one_of(st.floats(min_value=0, max_value=1e9), st.sampled_from([0.0, 1e-9, 1e12, math.nan, math.inf]))


@settings(max_examples=60, deadline=None)
@given(
    limit=st.sampled_from(["kv-capacity", "running-cap", "client", "reservation", "retraction", "prefix-miss", None]),
    load=st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    fraction=st.one_of(st.none(), NUMBERS),
    headroom=NUMBERS,
    host=st.one_of(st.none(), NUMBERS),
    cap=st.integers(1, 10**6),
)
def test_hostile_numbers_never_raise(limit, load, fraction, headroom, host, cap):
    resident, prompt, output, tok_s = load
    seen = workload(resident=1.0)
    seen = replace(seen, resident=Known(resident), prompt=Known(prompt), output=Known(output), gen_tput=Known(tok_s))
    told = estimates(
        context(
            limit,
            workload=seen,
            fraction=fraction,
            host_available_gb=host,
            account=account(headroom_gib=Known(headroom), running_cap=Known(cap)),
            findings=(finding(limit),) if limit else (),
        )
    )
    assert len(told) == len(LEVERS)
    assert context_module.POOL_LIMITS


def test_a_server_that_did_not_start_gets_no_load_levers():
    told = estimates(context("startup-failure"))
    assert {e.id for e in told if e.applies} <= {"raise-fraction", "lower-fraction", "hicache", "remove-leftover-flags", "context-length"}


def test_nothing_is_promised_beyond_what_fits():
    tight = account(tokens_reported=Known(4_096))
    load = workload(running=9.0, queued=21.0, resident=308.0, pool=4_096, prompt=199.0, output=218.0)
    for told in estimates(context(account=tight, workload=load)):
        if told.id in {"cap-max-new-tokens", "conservativeness"}:
            assert told.tok_s.high <= 835 * (4_096 / 308) / 9 + 1
            assert told.tok_s.mid > 835
