"""Notes on results: a sentence, and its effect on the reader's decision."""

from __future__ import annotations

from enum import Enum
from typing import Any


class NoteKind(Enum):
    """The effect of a note; foreread/cli/text/answer.py sorts notes by it."""

    ANSWER = "the answer could be another one"
    BASIS = "the evidence that the answer rests on"
    DETAIL = "how the figures were counted, and what they leave out"


class Note(str):
    """A sentence about a result; in a JSON document it is a plain string."""

    __slots__ = ("kind",)
    kind: NoteKind

    def __new__(cls, text: str, kind: NoteKind | str) -> Note:
        """Return a note of a kind, or of the kind with this value."""
        note = super().__new__(cls, text)
        note.kind = NoteKind(kind)
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the two texts, which copy the note, also into another process.

        Python 3.11.2 pickles a member of an Enum by getattr, which no reader's result may call.
        """
        return Note, (str(self), self.kind.value)

    def changed(self, old: str, new: str) -> Note:
        """Return the note with ``old`` replaced by ``new``."""
        return Note(self.replace(old, new), self.kind)


def kind_of(note: str) -> NoteKind:
    """Return the kind of a note; a plain sentence is a detail."""
    return note.kind if isinstance(note, Note) else NoteKind.DETAIL
