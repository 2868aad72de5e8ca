from dataclasses import replace

import builders
import pytest
from guide_lesson import LESSON

from kvtui.guide.card import card
from kvtui.guide.facts import Facts, exists
from kvtui.guide.fill import fill, typed
from kvtui.guide.play import Play, again, answer, back, forward, hint, result
from kvtui.guide.progress import dumped, following, keep, loaded, resume

FACTS = Facts(builders.founding())


def at(number):
    play = Play(LESSON)
    while play.at < number:
        play = right(play)
    return play


def right(play):
    """One step further, by the right answer."""
    ask = play.step.ask
    if ask is not None:
        reply = {"choose": 1, "number": "259,864", "move": None}[ask.kind]
        play = answer(play, reply, replace(FACTS, fraction=0.91))
        assert play.feedback.right, play.feedback
    return forward(play)


def test_a_question_holds_the_lesson_until_it_is_answered():
    play = at(1)
    assert play.waits
    assert forward(play) == play
    wrong = answer(play, 0, FACTS)
    assert (wrong.feedback.right, wrong.feedback.text) == (False, "The cap is 2,048.")
    assert wrong.waits
    done = answer(wrong, 1, FACTS)
    assert done.feedback.text == "The pool is full. So."
    assert forward(done).at == 2
    assert answer(done, 0, FACTS) == done


def test_what_is_hidden_is_shown_by_the_right_answer_and_not_before():
    play = Play(LESSON)
    assert play.hidden == {"verdict"}
    play = forward(play)
    assert answer(play, 0, FACTS).hidden == {"verdict"}
    assert answer(play, 1, FACTS).hidden == frozenset()
    assert back(answer(play, 1, FACTS)).hidden == {"verdict"}
    assert at(len(LESSON.steps)).hidden == frozenset()


def test_a_number_is_judged_by_the_formula_and_a_known_mistake_gets_its_reason():
    play = at(2)
    assert answer(play, "129,838", FACTS).feedback.text == "That scales the tokens."
    assert answer(play, "5", FACTS).feedback.text == "Use the formula."
    nonsense = answer(play, "many", FACTS)
    assert "Type a number" in nonsense.feedback.text
    assert nonsense.marks == play.marks
    for text in ("259,862", "260k", "0.26M", " 259864 tokens"):
        assert answer(play, text, FACTS).feedback.right, text


def test_a_fraction_must_meet_every_condition():
    play = at(3)
    assert answer(play, None, FACTS).feedback.text == "116,171 are too few."
    assert "stay free" in answer(play, None, replace(FACTS, fraction=0.97)).feedback.text
    assert answer(play, None, replace(FACTS, fraction=0.91)).feedback.right


def test_hints_come_one_by_one_and_then_the_answer():
    play = at(2)
    play = hint(play, FACTS)
    assert card(play, FACTS).hints == ("First 7.60 GiB.",)
    play = hint(play, FACTS)
    assert play.feedback.text.startswith("The answer: 259,8")
    assert not play.waits
    assert result(play).told == 1


def test_the_result_counts_first_tries_alone():
    play = at(1)
    play = forward(answer(answer(play, 0, FACTS), 1, FACTS))
    while play.step is not None:
        play = right(play)
    found = result(play)
    assert (found.asked, found.first_time, found.tries) == (3, 2, 1)
    assert "2 of 3 questions right" in card(play, FACTS).paragraphs[0]
    assert again(play) == Play(LESSON)


def test_nothing_read_yet_is_no_answer():
    play = at(1)
    assert "Nothing has been read yet" in answer(play, 1, None).feedback.text
    assert card(play, None).paragraphs == ("… wait.",)


def test_progress_survives_a_file_and_hostile_ones_are_ignored():
    play = answer(at(1), 0, FACTS)
    told = loaded(dumped(keep({}, play)))
    assert resume(LESSON, told) == replace(play, feedback=None)
    ended = keep(told, at(len(LESSON.steps)))
    assert ended[LESSON.id].finished
    assert resume(LESSON, loaded(dumped(ended))) == Play(LESSON)
    assert following([LESSON, replace(LESSON, id="b")], ended).id == "b"
    assert following([LESSON], told) is LESSON


@pytest.mark.parametrize(
    "data",
    [
        None, [], "x", {"schema": 2, "lessons": {}}, {"schema": 1, "lessons": 3}, {"schema": 1, "lessons": {"small": None}},
        {"schema": 1, "lessons": {"small": {"at": True, "steps": {}}}}, {"schema": 1, "lessons": {"small": {"at": 10**30, "steps": {}}}},
        {"schema": 1, "lessons": {"small": {"at": -1, "steps": {}}}}, {"schema": 1, "lessons": {"small": {"at": 2, "steps": {"two": [1]}}}},
    ],
)  # fmt: skip
def test_a_file_that_someone_edited_never_skips_a_question(data):
    play = resume(LESSON, loaded(data))
    assert play.at in (0, 1)
    assert all(play.mark(step).done or step.ask is None for step in LESSON.steps[: play.at])


def test_a_lesson_whose_steps_have_changed_goes_back_to_the_first_open_question():
    kept = keep({}, at(3))
    changed = replace(LESSON, steps=(LESSON.steps[0], replace(LESSON.steps[1], id="new"), *LESSON.steps[2:]))
    assert resume(changed, kept).at == 1


@pytest.mark.parametrize("text", ["", "abc", "1e5", "--3", "nan", "inf", "0x10", "1 2 3 tokens per day of the week"])
def test_what_is_no_number(text):
    assert typed(text) is None


def test_facts_come_from_the_analysis_and_unknown_ones_say_so():
    assert fill("{pool} of {pool@0.95}, {gain@0.95}%", FACTS) == "116,171 of 259,862, 124%"
    assert fill("{rest} {lowest}", Facts(builders.bare())) == "unknown unknown"
    assert not any(exists(name) for name in ("nothing", "pool@", "pool@x", "pool:fp8-kv", "tokens:nothing", "gain", "a b"))
    with pytest.raises(KeyError):
        FACTS.value("nothing")
