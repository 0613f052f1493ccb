"""What ``foreread diff`` prints: each start, what changed its seconds, and the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foreread.analyzer.diff.document import DiffCause, DiffDocument, DiffFile, DiffSide, StartDiff
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.printable import printable
from foreread.boards.base.units import percent_text
from foreread.cli.text.answer import answer_text, columns, cut, cut_path
from foreread.cli.text.table import render

SHOWN_FILES = 12
_FEW_FILES = 4  # of each of several starts
_LEAST_TEXT = 20  # columns of a path, and of a reason


def diff_text(difference: DiffDocument, *, verbose: bool = False) -> str:
    """Return the difference as text; ``verbose``: with all files."""
    whole = (
        [answer(difference)] if len(difference.starts) > 1 or difference.limit is not None else []
    )
    only = [f"only in OLD: {name}" for name in difference.only_old]
    only += [f"only in NEW: {name}" for name in difference.only_new]
    shown = SHOWN_FILES if len(difference.starts) == 1 else _FEW_FILES
    return answer_text(
        [*whole, *only],
        ["\n".join(_start(start, None if verbose else shown)) for start in difference.starts],
        notes=[Note(note, NoteKind.ANSWER) for note in difference.notes],
        more="--verbose (all files)",
        verbose=verbose,
    )


def answer(difference: DiffDocument) -> str:
    """Return the answer about all starts, on one line."""
    worst = [start for start in difference.starts if start.regressed]
    seconds = "no predicted seconds"
    if difference.seconds_old is not None and difference.seconds_new is not None:
        weighted = "weighted seconds" if len(difference.starts) > 1 else "s"
        seconds = f"{difference.seconds_old:.3f} to {difference.seconds_new:.3f} {weighted}"
        seconds += f", {percent_text(difference.share, signed=True, absent='unknown')}"
    if difference.limit is None:
        return seconds
    limit = f"limit {100 * difference.limit:g} %"
    if not difference.regressed:
        return f"passed: {seconds}, {limit}"
    names = f" ({', '.join(printable(title(start)) for start in worst)})" if worst else ""
    return f"regressed: {seconds}, {limit}{names}"


def title(start: StartDiff) -> str:
    """Return the name of a start, with its board."""
    return start.name if start.board is None else f"{start.name} on {start.board}"


def start_text(start: StartDiff) -> str:
    """Return the answer about one start, on one line."""
    old, new = start.old, start.new
    requests = f"{old.requests:,} to {plural(new.requests, 'request')}"
    counts = f"{requests}, {old.pages:,} to {plural(new.pages, 'page')} read"
    if old.seconds is None or new.seconds is None:
        return counts
    share = percent_text(start.share, signed=True, absent="unknown")
    return f"{old.seconds:.3f} to {new.seconds:.3f} s predicted, {share}; {counts}"


def side_text(side: DiffSide) -> str:
    """Return the path, the kernel and the window of a recording."""
    kernel = f"Linux {side.kernel}" if side.kernel else "unknown kernel"
    best = side.best_read_ahead_kb
    fastest = "" if best is None else f", fastest at {best:,} KiB"
    return f"{side.path}: {kernel}, {side.read_ahead_kb:,} KiB ({side.window_is}){fastest}"


def cause_text(cause: DiffCause) -> str:
    """Return one cause with its part."""
    parts = []
    if cause.seconds is not None:
        parts.append(f"{cause.seconds:+z.3f} s")
    if cause.requests is not None and cause.pages is not None:
        parts.append(f"requests {cause.requests:+,}, pages {cause.pages:+,}")
    return f"{', '.join(parts)}: {cause.what}"


def _start(start: StartDiff, most: int | None) -> Iterator[str]:
    """Yield the answer about a start, and ``most`` of its files."""
    yield printable(f"{title(start)}: {start_text(start)}")
    yield from (f"  doubt: {printable(doubt)}" for doubt in start.doubts)
    yield f"  OLD {printable(side_text(start.old))}"
    yield f"  NEW {printable(side_text(start.new))}"
    yield "because of:"
    yield from (f"  {printable(cause_text(cause))}" for cause in start.causes)
    if start.files:
        yield "files, those that cost most first:"
        shown = start.files[:most]
        head = ("seconds", "requests", "pages", "file", "")
        rows = [_row(file) for file in shown]
        if most is not None:
            rows = _cut(head, rows)
        yield render(head, rows, left=frozenset({3, 4}))
        if len(start.files) > len(shown):
            yield f"  and {plural(len(start.files) - len(shown), 'file')} more"


def _cut(head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows with paths and reasons cut to the columns that the numbers leave."""
    numbers = [max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)][:3]
    room = max(columns() - sum(numbers) - 2, 2 * _LEAST_TEXT)
    path = max(_LEAST_TEXT, min(room // 2, max(len(printable(row[3])) for row in rows)))
    return [
        (*row[:3], cut_path(printable(row[3]), path), cut(printable(row[4]), room - path))
        for row in rows
    ]


def _row(file: DiffFile) -> tuple[str, ...]:
    seconds = "-" if file.seconds is None else f"{file.seconds:+z.3f}"
    was = "" if file.was is None else f" (was {file.was})"
    return (
        seconds,
        f"{file.requests_new - file.requests_old:+,}",
        f"{file.pages_new - file.pages_old:+,}",
        file.path + was,
        file.why,
    )
