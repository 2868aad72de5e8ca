from kvtui.domain.estimate import OPTION_IDS
from kvtui.present.option_names import OPTION_NAMES, option_name


def test_every_option_has_a_name_a_person_can_read():
    assert set(OPTION_NAMES) == set(OPTION_IDS)
    assert all(option_name(option) != option for option in OPTION_IDS)
    assert option_name("something-else") == "something-else"
