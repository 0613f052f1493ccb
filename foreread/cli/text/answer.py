"""The order in which commands print an answer, and the place where their notes are sorted.

First the answer; then the doubts that could change it; one table or curve; what it rests on, in at
most four lines; and how to see more. ``--verbose`` prints everything, and nothing is cut.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from foreread.boards.base.note import NoteKind, kind_of
from foreread.boards.base.printable import printable

MOST_BASIS = 4
_COLUMNS = 100  # of output that goes to a file or a pipe
_BASIS = "rests on: "


def can_print(text: str, stream: TextIO | None = None) -> bool:
    """Return whether a stream (standard output) has the characters of a text."""
    stream = sys.stdout if stream is None else stream
    try:
        text.encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def columns() -> int:
    """Return the width of standard output."""
    return shutil.get_terminal_size((_COLUMNS, 0)).columns


def cut(text: str, width: int) -> str:
    """Return a text of at most ``width`` columns."""
    mark = "…" if can_print("…") else "..."
    return text if len(text) <= width else text[: max(width - len(mark), 0)].rstrip() + mark


def of_kind(notes: Iterable[str], kind: NoteKind) -> list[str]:
    """Return the notes of a kind, in their order, each once."""
    return list(dict.fromkeys(note for note in notes if kind_of(note) is kind))


def answer_text(
    answer: Sequence[str],
    parts: Iterable[str] = (),
    *,
    doubts: Iterable[str] = (),
    notes: Sequence[str] = (),
    basis: Sequence[str] = (),
    more: str = "",
    verbose: bool = False,
) -> str:
    """Return what a command prints.

    ``answer`` are its lines, ``parts`` what follows it (a table, a curve), ``doubts`` could change
    it; ``notes`` are sorted by their kind; ``basis`` stands before the notes that the answer rests
    on; ``more`` is the last line, which ``verbose`` leaves out.
    """
    head = [printable(line) for line in answer]
    head += [f"  doubt: {printable(doubt)}" for doubt in doubts]
    head += [f"  note: {printable(note)}" for note in of_kind(notes, NoteKind.ANSWER)]
    end = basis_lines([*basis, *of_kind(notes, NoteKind.BASIS)], verbose)
    if verbose:
        end += [f"note: {printable(note)}" for note in of_kind(notes, NoteKind.DETAIL)]
    elif more:
        end.append(f"more: {printable(more)}")
    return "\n\n".join(filter(None, ["\n".join(head), *parts, "\n".join(end)]))


def basis_lines(basis: Sequence[str], verbose: bool) -> list[str]:
    """Return what an answer rests on: with ``verbose`` whole, else the first lines, cut."""
    shown = [printable(text) for text in basis]
    if not verbose:
        width = columns() - len(_BASIS)
        shown = [cut(text, width) for text in shown[:MOST_BASIS]]
    heads = [_BASIS, *[" " * len(_BASIS)] * len(shown)]
    return [f"{head}{line}" for head, line in zip(heads, shown, strict=False)]


def cut_path(path: str, width: int) -> str:
    """Return the end of a path, of at most ``width`` columns."""
    mark = "…" if can_print("…") else "..."
    return path if len(path) <= width else mark + path[len(path) - width + len(mark) :]
