"""The two founding cases, from their logs to their options (issue: options with estimates that hold)."""

from dataclasses import replace

import pytest
from reading import analysis_of, log

from kvtui.domain.reading import Known
from kvtui.options.of_analysis import context_of
from kvtui.options.plan import best_safe, combine
from kvtui.options.registry import estimates


@pytest.fixture(scope="module")
def case_a():
    return context_of(analysis_of(log("founding_a.log")))


@pytest.fixture(scope="module")
def case_b():
    return context_of(analysis_of(log("founding_b.log")))


def option(made, name):
    return next(e for e in estimates(made) if e.id == name)


def test_a_raise_the_fraction(case_a):
    assert case_a.limit == "kv-capacity"
    told = option(case_a, "raise-fraction")
    assert told.flags == ("--mem-fraction-static 0.90",)
    assert 188_000 <= told.tokens <= 188_099
    assert told.tokens / 116_171 == pytest.approx(1.62, abs=0.004)
    now = case_a.workload.gen_tput.value
    assert 1.18 <= told.tok_s.mid / now <= 1.35
    assert told.tok_s.low < told.tok_s.mid < told.tok_s.high
    assert told.tok_s.basis.startswith(("prior R0", "fit of"))
    for link in ("pcie", "nvlink"):
        assert 1.18 <= option(replace(case_a, interconnect=link), "raise-fraction").tok_s.mid / now <= 1.35


def test_a_095_is_likely_to_fail(case_a):
    told = option(replace(case_a, fraction=0.95), "raise-fraction")
    assert told.risk == "high"
    assert "likely to run out of memory" in told.risk_text
    assert any("0.95 would give 259,86" in note and "likely" in note for note in option(case_a, "raise-fraction").notes)


def test_a_cap_from_32k_to_8k_frees_nothing(case_a):
    told = option(case_a, "cap-max-new-tokens")
    assert any("from 32k to 8k frees nothing" in note for note in told.notes)
    assert told.tokens == 116_171


def test_a_hicache_adds_no_running(case_a):
    told = option(case_a, "hicache")
    assert told.tokens == 116_171
    assert "adds no running tokens" in told.why_not
    assert told.rank < 0


def test_a_fp8_doubles_with_a_warning(case_a):
    told = option(case_a, "fp8-kv")
    assert told.tokens == 2 * 116_171
    assert "only where the attention backend fuses" in told.risk_text
    assert "16 against 90" in told.risk_text


def test_a_4_to_5_times(case_a):
    assert any("4–5× of 837 tok/s" in note and "TB/s" in note for note in option(case_a, "raise-fraction").notes)
    known = replace(case_a, bandwidth=Known(1.6e12))
    note = next(note for note in option(known, "raise-fraction").notes if "4–5×" in note)
    assert "is not realistic" in note
    assert "3.1×" in note


def test_a_best_safe_plan(case_a):
    told = best_safe(case_a, estimates(case_a))
    assert told.fraction == 0.91
    assert told.tokens == pytest.approx(202_388, abs=20)
    assert told.headroom_gib >= 3
    text = " ".join(word.text for word in told.command)
    assert "--mem-fraction-static 0.91" in text
    assert "--max-running-requests 192" in text


@pytest.mark.parametrize(
    ("fraction", "tokens"),
    [(0.90, 188_017), (0.91, 202_388), (0.92, 216_759), (0.93, 231_130), (0.94, 245_500), (0.95, 259_871)],
)
def test_b_table_of_fractions(case_b, fraction, tokens):
    made = replace(case_b, fraction=fraction)
    assert option(made, "raise-fraction").tokens == pytest.approx(tokens, abs=20)
    assert combine(made, estimates(made), {"raise-fraction"}).tokens == pytest.approx(tokens, abs=20)


def test_b_side_by_side(case_b):
    # facts/diagnoses.md 2.3
    assert option(replace(case_b, fraction=0.91), "raise-fraction").tokens / 159_277 == pytest.approx(1.27, abs=0.005)
    assert option(case_b, "fp8-kv").tokens == 2 * 159_277
    assert option(case_b, "drop-draft").tokens == 159_277
    assert option(case_b, "dp-attention").tokens == pytest.approx(281_000, abs=600)
    host = option(replace(case_b, host_available_gb=396.0), "hicache")
    assert host.host_gb == pytest.approx(179, abs=0.6)
    assert any("at most ratio 4.3" in note for note in host.notes)
    assert "0.5.15" in option(case_b, "dcp").why_not


def test_b_dropping_the_draft_pays_through_the_fraction(case_b):
    told = combine(case_b, estimates(case_b), {"raise-fraction", "drop-draft"})
    assert told.headroom_gib == pytest.approx(5.49 + 1.55 - 0.02 * 94.04, abs=0.02)
    assert any("room for +0.016" in note for note in told.notes)
    assert not any("speculative" in word.text for word in told.command)
