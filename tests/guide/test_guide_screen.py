"""What the lesson's screen does beside asking: places, keys, progress, other lessons."""

import pytest
from play_lessons import HandClock, Player, guide_app
from screen import screen_text

from kvtui.guide.play import Play
from kvtui.guide.progress import keep
from kvtui.learn import DemoApp
from kvtui.scenarios import start_of
from kvtui.sources.demo import demo_scenario
from kvtui.staging import open_demo, open_shelf, saved_progress
from kvtui.views.screens.fraction import FractionScreen
from kvtui.views.screens.guide import lesson_size
from kvtui.views.widgets.lesson_pane import LessonPane, foot


async def test_a_lesson_goes_on_where_it_was_left(tmp_path):
    path = tmp_path / "guide.json"
    app = guide_app("only-500", path)
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter", "1", "enter")
    assert saved_progress(path)["only-500"].at == 1
    again = open_shelf(None, path=path)
    assert (again.play.lesson.id, again.play.at) == ("only-500", 1)
    assert again.play.marks["measure"].tries == 1


async def test_progress_that_cannot_be_kept_is_said_and_the_lesson_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    app = guide_app("only-500", tmp_path / "file" / "guide.json")
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter")
        assert player.play.at == 1
        assert any("Progress is not kept" in note.message for note in app._notifications)


async def test_the_verdict_and_the_proof_stay_hidden_until_the_answer(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        assert "KV capacity" not in screen_text(app)
        await player.press("v")
        assert "KV capacity" not in screen_text(app)
        await player.press("escape", "4")
        assert "--mem-fraction-static" not in screen_text(app)
        assert "Shown after your answer" in screen_text(app)
        await player.press("G", "enter", "2", "enter", "enter", "2", "enter")
        assert "KV capacity limits concurrency" in screen_text(app)
        await player.press("backspace", "backspace")
        assert "KV capacity limits concurrency" not in screen_text(app)


async def test_the_pane_and_the_row_in_question_are_marked(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter", "2", "enter", "enter")
        server = player.screen.query_one("#server")
        assert server.has_class("-look", "-current")
        marked = {span.text for row in server.rows for span in row if span.tone == "mark"}
        assert marked == {"running", "queued", "KV usage"}
        assert not player.screen.query_one("#memory").has_class("-look")


async def test_tab_goes_round_through_the_lesson_and_g_hides_it(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        seen = []
        for _ in range(6):
            seen.append(app.focused.id)
            await player.press("tab")
        assert {"lesson", "memory", "server", "formula", "options"} <= set(seen)
        player.screen.pane.focus()
        await player.press("G")
        assert not player.screen.pane.display
        assert "Lesson 1" not in screen_text(app)
        await player.press("G")
        assert isinstance(app.focused, LessonPane)


async def test_after_the_last_card_comes_the_next_lesson_or_the_same_again(tmp_path):
    app = guide_app("which-lever", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        screen = player.screen
        end = Play(screen.play.lesson, len(screen.play.lesson.steps))
        screen.begin(end)
        await player.settle()
        await player.press("R")
        assert (player.play.lesson.id, player.play.at) == ("which-lever", 0)
        screen.begin(end)
        await player.settle()
        await player.press("enter")
        assert player.play.lesson.id == "where-memory-goes"
        await player.ready()
        assert player.screen._facts.analysis.account.fraction.value == 0.85


async def test_hints_and_the_answer_by_key(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter", "H")
        assert "hint: Two programs" in screen_text(app)
        await player.press("H")
        assert "The answer:" in screen_text(app)
        await player.press("enter")
        assert player.play.at == 2


@pytest.mark.parametrize("size", [(60, 20), (20, 5), (2, 2), (108, 24), (200, 60)])
async def test_any_size_is_drawn(tmp_path, size):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=size) as pilot:
        player = Player(app, pilot)
        await player.ready()
        assert app.screen.size == size
        assert lesson_size(app.screen.size).height <= max(12, size[1])
        await pilot.resize_terminal(80, 24)
        await player.settle()
        assert "Lesson 1" in screen_text(app)


async def test_a_number_is_typed_and_corrected(tmp_path):
    app = guide_app("which-lever", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        player.screen.begin(Play(player.play.lesson, 4))
        await player.settle()
        await player.press("1", "7", "x", "8", "backspace", "9", "full_stop", "0", "k", "backspace")
        assert "› 179.0▏" in screen_text(app)
        await player.press("enter")
        assert player.play.feedback.right


# -- the demo without a lesson ------------------------------------------------------------------


def demo(scenario):
    return DemoApp(open_demo(scenario, clock=HandClock()), target=scenario)


async def until(app, pilot, condition):
    for _ in range(300):
        if app.view_state is not None and condition(app.view_state.analysis):
            return app.view_state.analysis
        if app.view_state is not None:
            app._demo.step(10.0)
        await pilot.pause(0.02)
    raise AssertionError("never came")


async def test_an_applied_fraction_changes_the_pool_by_exactly_the_formula():
    app = demo("founding-kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        analysis = await until(app, pilot, lambda _: True)
        before = analysis.account
        await pilot.pause()
        await pilot.press("3", *["right"] * 6)
        await pilot.pause()
        wanted = app.view_state.what_if
        assert wanted.fraction == 0.91
        await pilot.press("A")
        analysis = await until(app, pilot, lambda a: len(a.frame.boots) == 2 and a.frame.boot.state == "up")
        assert before.tokens_reported.value == 116_171
        reported = analysis.account.tokens_reported.value
        # The console computes from what the log prints, two decimals of free memory: 0.005 GiB of it times the change.
        assert abs(reported - wanted.tokens.value) <= 0.005 * 0.06 * 2**30 / 70_272 + 1
        box = demo_scenario("founding-kimi").make("plain").box
        assert reported == start_of(box.with_flags(mem_fraction_static=0.91)).tokens
        assert app.view_state.fraction is None


async def test_a_reckless_plan_fails_as_in_life_and_another_puts_it_right():
    app = demo("founding-kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(app, pilot, lambda _: True)
        await pilot.press("equals_sign", *["backspace"] * 6, "9", "7", "enter")
        await pilot.pause()
        await pilot.press("A")
        analysis = await until(app, pilot, lambda a: a.frame.boot.state == "failed")
        assert analysis.frame.boot.index == 1
        await until(app, pilot, lambda a: a.findings and a.findings[0].id == "startup-failure")
        await pilot.press("equals_sign", *["backspace"] * 6, "9", "0", "enter")
        await pilot.pause()
        await pilot.press("A")
        await until(app, pilot, lambda a: len(a.frame.boots) == 3 and a.frame.boot.state == "up")


async def test_without_a_plan_nothing_restarts_and_time_has_a_speed():
    app = demo("client")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(app, pilot, lambda _: True)
        await pilot.press("A")
        await pilot.pause()
        assert any("nothing is planned" in note.message for note in app._notifications)
        await pilot.press("greater_than_sign", "greater_than_sign")
        assert app._demo.speed == 5
        await pilot.press(*["less_than_sign"] * 4)
        assert app._demo.speed == 1
        await pilot.press("P")
        assert app._demo.paused
        await pilot.press("P")
        assert not app._demo.paused


async def test_the_question_mark_explains_what_has_the_focus():
    app = demo("founding-kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(app, pilot, lambda a: bool(a.findings))
        await pilot.press("2", "question_mark")
        await pilot.pause()
        assert "Requests that wait to be admitted" in screen_text(app)
        await pilot.press("escape", "4", "question_mark")
        await pilot.pause()
        assert "More of the free memory becomes pool" in screen_text(app)
        await pilot.press("escape", "f1")
        await pilot.pause()
        assert "Everywhere" in screen_text(app)


async def test_what_a_demo_cannot_play_is_left_out_of_the_plan_and_named():
    app = demo("founding-kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(app, pilot, lambda a: bool(a.findings))
        marked = {e.id for e in app.view_state.estimates if e.applies} & {
            "pp-for-tp",
            "dp-attention",
            "quantize-weights",
            "dcp",
            "more-gpus",
        }
        assert marked
        app._session.toggle(min(marked))
        app._session.set_fraction(0.9)
        await pilot.press("A")
        await pilot.pause()
        told = [note.message for note in app._notifications]
        assert any("restarts with mem_fraction_static 0.9" in note for note in told)
        assert any("left out of the plan: The demo does not simulate enable_dp_attention." in note for note in told)


async def test_no_page_gives_the_answer_away(tmp_path):
    app = guide_app("low-usage-long-queue", tmp_path / "guide.json")
    async with app.run_test(size=(120, 60)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        for key in ("l", "v", "m", "o"):
            await player.press(key)
            assert "reservation" not in screen_text(app).lower(), key
            assert "Demo:" not in screen_text(app), key
            await player.press("escape")


async def at_step(player, wanted):
    """To a step of the lesson by its right answers."""
    while player.step.id != wanted:
        await player.ready()
        if player.step.ask is not None:
            await player.right()
        await player.press("enter")
    await player.ready()


async def test_rows_below_the_fold_are_told_with_the_key_that_shows_them(tmp_path):
    app = guide_app("where-memory-goes", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await at_step(player, "card")
        assert "None: the card's size counts." not in screen_text(app)
        assert "more: PgDn" in screen_text(app)
        await player.press("pagedown")
        assert "None: the card's size counts." in screen_text(app)
        assert "more: PgDn" not in screen_text(app)


async def test_the_reason_for_a_wrong_answer_is_seen_to_its_last_word(tmp_path):
    app = guide_app("fast-then-collapsed", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await at_step(player, "again")
        await player.press("1", "enter")
        assert "Not that." in screen_text(app)
        assert "by a huge one here." in screen_text(app)


async def test_cards_name_the_keys_of_this_run(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    app.take_keys({"hint": ("x",), "lesson": ("z",)})
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        assert "x gives a hint" in screen_text(app)
        assert "⏎ go on · ⌫ back · z hide" in screen_text(app)
        await player.press("enter", "x")
        assert "hint: Two programs" in screen_text(app)
        assert "x hint" in screen_text(app)


async def test_beside_the_cards_own_enter_why_has_its_other_key(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await at_step(player, "limit")
        await player.right()
        assert "v shows its" in screen_text(app)


async def test_a_card_that_is_not_seen_takes_no_answer(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter", "G", "1")
        assert "G brings the lesson back" in screen_text(app)
        await player.press("enter")
        assert player.play.at == 1
        assert not player.play.marks.get("measure")
        assert player.screen.pane.display


async def test_an_answer_that_was_told_is_not_praised(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("enter", "H", "H")
        assert "✓ The answer:" in screen_text(app)
        assert "Right." not in screen_text(app)


async def test_a_typed_fraction_takes_the_place_of_the_one_there(tmp_path):
    app = guide_app("where-memory-goes", tmp_path / "guide.json")
    async with app.run_test(size=(120, 40)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        await player.press("right", "equals_sign", *"0.75", "enter")
        await player.until(lambda: not isinstance(app.screen, FractionScreen), "the console")
        await player.press("3")
        assert "◂ 0.75 ▸" in screen_text(app)


def test_two_consoles_keep_each_others_lessons(tmp_path):
    path = tmp_path / "guide.json"
    one, other = open_shelf("only-500", path=path), open_shelf("which-lever", path=path)
    one.keep(keep(one.progress, Play(one.play.lesson, 2)))
    other.keep(keep(other.progress, Play(other.play.lesson, 3)))
    assert {name: kept.at for name, kept in saved_progress(path).items()} == {"only-500": 2, "which-lever": 3}


@pytest.mark.parametrize(
    ("below", "width", "said"),
    [
        (0, 40, "a · b · c"),
        (3, 40, "▼ 3 more: PgDn · a · b · c"),
        (3, 22, "▼ 3 more: PgDn · a · b"),
        (3, 5, "▼ 3 more: PgDn"),
    ],
)
def test_the_foot_of_a_card_loses_its_least_needed_keys_first(below, width, said):
    assert foot("a · b · c", below, "PgDn", width) == said


async def test_a_pane_that_appears_while_the_card_scrolls_is_painted(tmp_path):
    app = guide_app("only-500", tmp_path / "guide.json")
    async with app.run_test(size=(80, 24)) as pilot:
        player = Player(app, pilot)
        await player.ready()
        for key in ("enter", "1", "enter", "2", "enter", "3"):
            await pilot.press(key)
        await player.until(lambda: "mem_fraction_static" in screen_text(app), "the formula")
        assert "waiting for the first reading" not in screen_text(app)
