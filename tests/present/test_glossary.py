import re

import builders
import pytest

from kvtui.domain.estimate import OPTION_IDS
from kvtui.domain.finding import VERDICT_IDS
from kvtui.present.formula import formula
from kvtui.present.glossary import WORDS, entry_lines, in_rows, of_option, of_verdicts
from kvtui.present.glossary_answers import OPTIONS, VERDICTS
from kvtui.present.help import help_lines
from kvtui.present.line import plain
from kvtui.present.memory import memory_model
from kvtui.present.server import server_model
from kvtui.present.state import ViewState

STATE = ViewState(builders.founding())
ALL = [(e.word, e.text) for e in WORDS] + list(OPTIONS.values()) + list(VERDICTS.values())


def test_every_option_and_every_verdict_is_explained():
    assert set(OPTIONS) == set(OPTION_IDS)
    assert set(VERDICTS) == set(VERDICT_IDS)


@pytest.mark.parametrize(("word", "text"), ALL)
def test_two_sentences_each(word, text):
    assert len(re.findall(r"[.!?](?=\s+[A-Z0-9\"]|$)", re.sub(r"\d\.\d", "n", text))) == 2, text
    assert len(text.split()) <= 45


def labels(rows, columns):
    return {plain(row)[:columns].strip(" │░▒▓█=·:≡÷") for row in rows if plain(row).strip()}


def test_the_rows_of_the_panes_are_explained():
    server = in_rows(server_model(STATE, 100, 30).rows)
    assert {"running", "queued", "usage", "generate", "cap"} <= {entry.word for entry in server}
    memory = in_rows(memory_model(STATE, 100, 30).rows)
    assert {"weights", "graphs"} <= {entry.word for entry in memory}
    sums = {entry.word for entry in in_rows(formula(STATE, 100, 30).lines)}
    assert {"fraction", "free before weights", "free after weights", "rest", "bytes a token", "tokens predicted", "headroom"} <= sums


def test_an_option_and_a_verdict_by_id():
    assert of_option("fp8-kv")[0].word == "FP8 KV cache"
    assert of_option("nothing") == ()
    assert [entry.word for entry in of_verdicts(["client", "nothing"])] == ["clients"]
    assert "F1" in plain(entry_lines((), 40)[0])


def test_the_help_page_takes_its_words_from_here():
    page = "\n".join(plain(line) for line in help_lines((), 200))
    assert all(entry.text[:40] in page for entry in WORDS)
