"""The order of an answer, and the sorting of its notes."""

import pytest

from foreread.boards.base.note import Note, NoteKind
from foreread.cli.text.answer import answer_text, cut

NOTES = (
    "a detail",
    Note("the other disk is faster", NoteKind.ANSWER),
    *(Note(f"basis {number}", NoteKind.BASIS) for number in range(6)),
)


@pytest.fixture(autouse=True)
def width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")


def shown(**keywords):
    return answer_text(
        ["set 32"], ["table"], doubts=["a doubt"], notes=NOTES, more="--verbose", **keywords
    )


def test_doubts_stand_under_the_answer_and_details_are_left_out():
    assert shown().splitlines() == [
        "set 32",
        "  doubt: a doubt",
        "  note: the other disk is faster",
        "",
        "table",
        "",
        "rests on: basis 0",
        "          basis 1",
        "          basis 2",
        "          basis 3",
        "more: --verbose",
    ]


def test_verbose_leaves_nothing_out():
    said = shown(verbose=True)
    assert all(note in said for note in NOTES)
    assert said.endswith("\nnote: a detail")
    assert "more: " not in said


def test_a_basis_is_one_line_of_the_terminal():
    long = "x" * 200
    lines = answer_text(["set 32"], basis=[long]).splitlines()
    assert len(lines[-1]) == 60
    assert answer_text(["set 32"], basis=[long], verbose=True).endswith(long)


def test_hostile_names_are_escaped():
    said = answer_text(["a\nb"], doubts=["c\x1b[2J"], notes=[Note("d\r", NoteKind.ANSWER)])
    assert said == "a\\nb\n  doubt: c\\x1b[2J\n  note: d\\r"


def test_a_stream_without_the_ellipsis_gets_three_dots(monkeypatch):
    class Ascii:
        encoding = "ascii"

    monkeypatch.setattr("sys.stdout", Ascii())
    assert cut("abcdefgh", 6) == "abc..."
    assert cut("abcdef", 6) == "abcdef"
