"""Every lesson to its end, by its right answers and by each wrong one, on the real console."""

import pytest
from play_lessons import Player, guide_app
from screen import check_golden, screen_text

from kvtui.guide.fill import fill
from kvtui.guide.play import result
from kvtui.staging import lessons, saved_progress

LESSONS = [lesson.id for lesson in lessons()]


def words(player):
    """All that the step's card and its answers say, figures filled in."""
    step, facts = player.step, player.screen._facts
    ask = step.ask
    told = [step.text]
    if ask is not None:
        # What follows something that is done at the console has figures only then.
        told += [
            ask.question,
            "" if ask.kind == "do" else ask.after,
            *ask.hints,
            *(c.text + c.why for c in ask.choices),
            *(m.why for m in ask.mistakes),
        ]
    return " ".join(fill(text, facts) for text in told)


@pytest.mark.parametrize("lesson", LESSONS)
async def test_each_wrong_answer_gets_its_reason_and_the_lesson_still_ends(lesson, tmp_path):
    app = guide_app(lesson, tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        while player.step is not None:
            await player.ready()
            if player.play.at == 1:
                check_golden(f"guide-{lesson}-80x24", screen_text(app))
            if player.step.ask is not None:
                said = await player.wrong()
                assert said
                assert not any(right for _, right in said), player.step.id
                assert len({text for text, _ in said}) == len(said), (player.step.id, said)
                await player.right()
            before = player.play.at
            await player.press("enter")
            assert player.play.at == before + 1
        found = result(player.play)
        assert found.first_time == 0
        assert found.tries >= found.asked
        assert "Worth another look" in screen_text(app)
    assert saved_progress(tmp_path / "guide.json")[lesson].finished


@pytest.mark.parametrize("lesson", LESSONS)
async def test_right_answers_end_a_lesson_without_a_fault(lesson, tmp_path):
    app = guide_app(lesson, tmp_path / "guide.json")
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        while player.step is not None:
            await player.ready()
            if player.play.at == 1:
                check_golden(f"guide-{lesson}-120x40", screen_text(app))
            assert player.step.id == "bars" or "unknown" not in words(player)
            if player.step.ask is not None:
                await player.right()
            await player.press("enter")
        found = result(player.play)
        assert found.first_time == found.asked
        assert f"{found.asked} of {found.asked} questions right" in screen_text(app)
