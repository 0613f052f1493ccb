"""Notes: sentences with a kind, which are plain strings in documents."""

import copy
import pickle

import pytest

from foreread.boards.base.document import Encoded, encode
from foreread.boards.base.note import Note, NoteKind, kind_of


class Result(Encoded, frozen=True):
    notes: list[str]


NOTE = Note("the disk is slow", NoteKind.BASIS)


def test_a_document_has_the_sentence():
    assert Result([NOTE, "plain"]).to_json() == '{"notes": ["the disk is slow", "plain"]}'


def test_only_notes_are_taken_for_strings():
    with pytest.raises(TypeError, match="complex cannot stand in a document"):
        encode({"value": 1j})


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
def test_a_copy_keeps_the_kind(copied):
    assert kind_of(copied(NOTE)) is NoteKind.BASIS


def test_a_changed_note_keeps_the_kind():
    assert NOTE.changed("slow", "fast") == "the disk is fast"
    assert kind_of(NOTE.changed("slow", "fast")) is NoteKind.BASIS


def test_a_plain_sentence_is_a_detail():
    assert kind_of("plain") is NoteKind.DETAIL


def test_a_note_is_handed_over_as_texts_alone():
    """No member of an Enum: Python 3.11.2 pickles one by a call of getattr."""
    assert b"NoteKind" not in pickle.dumps(NOTE)
