"""Characters that cannot be seen become escapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.boards.base.printable import printable

any_text = st.text(st.characters(), max_size=30)  # surrogates included


@given(any_text)
def test_the_result_is_visible_encodable_and_stays_as_it_is(text):
    shown = printable(text)
    assert shown.isprintable() and shown.encode().decode() == shown
    assert printable(shown) == shown


@given(any_text.filter(str.isprintable))
def test_a_visible_text_is_not_changed(text):
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc\r", r"a\tb\nc\r"),
        ("\x1b[2J\x7f", r"\x1b[2J\x7f"),
        ("\x9b\xa0", r"\x9b\xa0"),
        ("\u202e\U000e0001", r"\u202e\U000e0001"),
        ("\udcff\ud800", r"\xff\ud800"),
        (r"a\b", r"a\b"),
    ],
)
def test_each_kind_of_character_has_its_escape(text, shown):
    assert printable(text) == shown


def test_kept_characters_pass():
    assert printable("a\nb\t\r", keep="\n\t") == "a\nb\t\\r"
