"""What ``foreread diff`` prints: each start, what changed its seconds, and the files."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.diff.document import DiffCause, DiffDocument, DiffFile, DiffSide, StartDiff
from boards.counted import plural
from foreread.cli.main import printable
from foreread.cli.text.table import render

SHOWN_FILES = 12


def diff_text(found: DiffDocument) -> str:
    """Return the difference as text."""
    parts = ["\n".join(_start(one)) for one in found.starts]
    whole = [answer(found)] if len(found.starts) > 1 or found.limit is not None else []
    whole += [f"only in OLD: {printable(name)}" for name in found.only_old]
    whole += [f"only in NEW: {printable(name)}" for name in found.only_new]
    whole += [f"note: {printable(note)}" for note in found.notes]
    return "\n\n".join([*parts, *(["\n".join(whole)] if whole else [])])


def answer(found: DiffDocument) -> str:
    """Return the answer about all starts, on one line."""
    worst = [one for one in found.starts if one.regressed]
    seconds = "no predicted seconds"
    if found.seconds_old is not None and found.seconds_new is not None:
        weighted = "weighted seconds" if len(found.starts) > 1 else "s"
        seconds = f"{found.seconds_old:.3f} to {found.seconds_new:.3f} {weighted}"
        seconds += f", {share_text(found.share)}"
    if found.limit is None:
        return seconds
    limit = f"limit {100 * found.limit:g} %"
    if not found.regressed:
        return f"passed: {seconds}, {limit}"
    names = f" ({', '.join(printable(title(one)) for one in worst)})" if worst else ""
    return f"regressed: {seconds}, {limit}{names}"


def title(one: StartDiff) -> str:
    """Return the name of a start, with its board."""
    return one.name if one.board is None else f"{one.name} on {one.board}"


def share_text(share: float | None) -> str:
    """Return a share in per cent with its sign."""
    return "unknown" if share is None else f"{100 * share:+z.1f} %"


def start_text(one: StartDiff) -> str:
    """Return the answer about one start, on one line."""
    old, new = one.old, one.new
    requests = f"{old.requests:,} to {plural(new.requests, 'request')}"
    counts = f"{requests}, {old.pages:,} to {plural(new.pages, 'page')} read"
    if old.seconds is None or new.seconds is None:
        return counts
    return f"{old.seconds:.3f} to {new.seconds:.3f} s predicted, {share_text(one.share)}; {counts}"


def side_text(side: DiffSide) -> str:
    """Return what a recording was made with."""
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


def _start(one: StartDiff) -> Iterator[str]:
    yield printable(f"{title(one)}: {start_text(one)}")
    yield f"  OLD {printable(side_text(one.old))}"
    yield f"  NEW {printable(side_text(one.new))}"
    yield "because of:"
    yield from (f"  {printable(cause_text(cause))}" for cause in one.causes)
    if one.files:
        yield "files, those that cost most first:"
        shown = one.files[:SHOWN_FILES]
        head = ("seconds", "requests", "pages", "file", "")
        rows = [_row(file) for file in shown]
        yield render(head, rows, left=frozenset({3, 4}))
        if len(one.files) > len(shown):
            yield f"  and {plural(len(one.files) - len(shown), 'file')} more (--json has all)"
    yield from (f"doubt: {printable(doubt)}" for doubt in one.doubts)


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
