import copy
import re

import pytest

from kvtui.guide.fill import MOST_WORDS
from kvtui.guide.schema import LessonError, read_lesson
from kvtui.scenarios import SCENARIOS
from kvtui.sources.lesson_files import lesson_tables
from kvtui.staging import lessons
from kvtui.views.commands import COMMANDS

GOOD = {
    "schema": 1,
    "id": "ninth",
    "number": 9,
    "title": "A ninth",
    "summary": "one more",
    "minutes": 5,
    "scenario": "kv-full",
    "hide": ["verdict"],
    "step": [
        {"id": "one", "title": "One", "text": "{running} run.\n\nLook.", "look": ["server:queued"]},
        {
            "id": "two",
            "title": "Two",
            "text": "Which?",
            "reveal": ["verdict"],
            "ask": {
                "kind": "choose",
                "question": "Why?",
                "after": "So.",
                "hints": ["Look."],
                "choice": [{"text": "a", "why": "no"}, {"text": "b", "why": "yes", "right": True}],
            },
        },
        {
            "id": "three",
            "title": "Three",
            "text": "How many?",
            "ask": {
                "kind": "number",
                "question": "Tokens?",
                "after": "So.",
                "answer": "pool@0.9",
                "within": 0.01,
                "otherwise": "No.",
                "mistake": [{"value": "scaled@0.9", "why": "no"}],
            },
        },
        {
            "id": "four",
            "title": "Four",
            "text": "Move.",
            "ask": {"kind": "move", "question": "Go", "after": "So.", "until": [{"fact": "wanted", "at_least": 0.9, "why": "up"}]},
        },
    ],
}


def test_a_lesson_is_one_table():
    lesson = read_lesson(GOOD, "ninth", SCENARIOS)
    assert [step.id for step in lesson.steps] == ["one", "two", "three", "four"]
    assert lesson.steps[0].text == "{running} run.\nLook."
    assert lesson.steps[1].ask.choices[1].right
    assert lesson.steps[3].ask.until[0].sense == "at least"


BROKEN = {
    "id must be the folder's name": lambda t: t.update(id="other"),
    "schema must be": lambda t: t.update(schema=2),
    "unknown key 'colour'": lambda t: t.update(colour="red"),
    "title must be a text": lambda t: t.update(title=3),
    "no scenario 'nowhere'": lambda t: t.update(scenario="nowhere"),
    "hide may hold": lambda t: t.update(hide=["everything"]),
    "two steps have the same id": lambda t: t["step"].append(t["step"][0]),
    "needs steps": lambda t: t.update(step=[]),
    "{runing}, which is no fact": lambda t: t["step"][0].update(text="{runing} run"),
    "a brace that is no placeholder": lambda t: t["step"][0].update(text="{Running!} run"),
    "words; 120 are the most": lambda t: t["step"][0].update(text="word " * (MOST_WORDS + 1)),
    "look must begin with": lambda t: t["step"][0].update(look=["ceiling"]),
    "speed must be a number": lambda t: t["step"][0].update(speed=600),
    "step 2 (two), ask: 2 to 9 choices": lambda t: t["step"][1]["ask"].update(choice=t["step"][1]["ask"]["choice"][:1]),
    "exactly one of them right": lambda t: t["step"][1]["ask"]["choice"][0].update(right=True),
    "right must be true or false": lambda t: t["step"][1]["ask"]["choice"][0].update(right="yes"),
    "ask.kind must be one of": lambda t: t["step"][1]["ask"].update(kind="guess"),
    "unknown key 'answer'": lambda t: t["step"][1]["ask"].update(answer="pool"),
    "answer must be a number or the name": lambda t: t["step"][2]["ask"].update(answer="__import__"),
    "otherwise must be a text": lambda t: t["step"][2]["ask"].pop("otherwise"),
    "either at_least or at_most": lambda t: t["step"][3]["ask"]["until"][0].update(at_most=1),
    "at least one until": lambda t: t["step"][3]["ask"].update(until=[]),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_wrong_is_said_with_its_place(message):
    table = copy.deepcopy(GOOD)
    BROKEN[message](table)
    with pytest.raises(LessonError) as told:
        read_lesson(table, "ninth", SCENARIOS)
    assert message in str(told.value)
    assert str(told.value).startswith("lesson ninth")


@pytest.mark.parametrize("table", [None, [], 3, {"step": 1}, {"step": [1]}, {"schema": float("nan")}])
def test_anything_else_is_refused_too(table):
    with pytest.raises(LessonError):
        read_lesson(table, "ninth")


def test_the_eight_lessons_are_as_they_should_be():
    found = lessons()
    assert [lesson.number for lesson in found] == list(range(1, 9))
    assert all(5 <= lesson.minutes <= 10 for lesson in found)
    for lesson in found:
        assert sum(step.ask is not None for step in lesson.steps) >= 4
        for step in lesson.steps:
            assert len(step.text.split()) <= MOST_WORDS
            if step.ask is not None:
                assert step.ask.hints, (lesson.id, step.id)


def test_a_ninth_lesson_is_one_folder(tmp_path):
    folder = tmp_path / "ninth"
    folder.mkdir()
    (folder / "lesson.toml").write_text(
        'schema = 1\nid = "ninth"\nnumber = 9\ntitle = "T"\nsummary = "s"\nminutes = 5\nscenario = "kv-full"\n'
        '[[step]]\nid = "a"\ntitle = "A"\ntext = "{pool} tokens."\n[step.ask]\nkind = "number"\nquestion = "Q"\nafter = "So."\n'
        'answer = "pool"\nwithin = 0.01\notherwise = "No."\n'
    )
    ((name, table),) = lesson_tables(tmp_path)
    assert read_lesson(table, name, SCENARIOS).steps[0].ask.answer == "pool"
    (folder / "lesson.toml").write_text("schema = ")
    with pytest.raises(ValueError, match="lesson ninth"):
        lesson_tables(tmp_path)


def test_every_key_that_a_lesson_names_is_a_command():
    named = set(re.findall(r"\{key:([^}]*)\}", repr([table for _, table in lesson_tables()])))
    assert "hint" in named
    assert named <= {command.id for command in COMMANDS}
