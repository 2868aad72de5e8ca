from collections import Counter

from kvtui.views.commands import COMMANDS, SECTIONS, bindings, help_sections, of


def test_ids_are_unique_and_no_key_is_taken_twice_in_a_scope():
    assert max(Counter(c.id for c in COMMANDS).values()) == 1
    for scope in SECTIONS:
        keys = Counter(key for c in COMMANDS if c.scope == scope for key in c.keys)
        assert all(count == 1 for count in keys.values()), scope


def test_bindings_and_help_come_from_the_commands():
    assert {binding.id for binding in bindings("main")} == {c.id for c in COMMANDS if c.scope == "main"}
    told = {title for _, rows in help_sections() for _, title, _ in rows}
    assert told == {c.title for c in COMMANDS}


def test_a_pane_takes_a_key_from_the_screen():
    ids = [c.id for c in of("options", "main")]
    assert "detail" in ids
    assert "why" not in ids
