"""What `foreread top` prints, and the words that its text screen shares with that."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, pages_to_kib, percent_text
from foreread.cli.text.table import render
from foreread.documents.top import TopDocument, TopFile, TopProcess

COLUMNS = ("KiB/s", "KiB read", "hits", "missed", "unused")


def text_of(found: TopDocument, rows: int) -> str:
    """Return the figures of an interval: a line of sums, files, processes, and notes."""
    files = [[*cells(one, found), file_name(one)] for one in found.files[:rows]]
    processes = [[*cells(one, found), process_name(one)] for one in found.processes[:rows]]
    parts = [summary(found)]
    if files:
        parts.append(render([*COLUMNS, "file"], files))
        parts.append(render([*COLUMNS, "process"], processes))
    parts += [f"note: {printable(note)}" for note in found.notes]
    return "\n".join([*parts, ""])


def summary(found: TopDocument) -> str:
    """Return the sums in one line."""
    kib = pages_to_kib(found.read, found.page_size)
    now = sum(one.now for one in found.files) * found.page_size / KIB
    words = [
        f"{found.seconds:.1f} s: {rate(now, found.interval_seconds)} KiB/s, {kib} KiB read",
        f"{plural(found.lost, 'event')} lost",
    ]
    if found.explained is not None and found.read:
        share = percent_text(found.explained / found.read, 0)
        words.append(f"the emulation reads {share} of these pages, too")
    return "; ".join(words)


def cells(one: TopFile | TopProcess, found: TopDocument) -> list[str]:
    """Return the figures of a row, as COLUMNS names them; pages but for the first two."""
    kib = found.page_size / KIB
    return [
        rate(one.now * kib, found.interval_seconds),
        f"{one.read * kib:.0f}",
        *("-" if pages is None else str(pages) for pages in (one.hits, one.missed, one.unused)),
    ]


def rate(kib: float, seconds: float) -> str:
    """Return KiB a second."""
    return f"{kib / seconds:.0f}" if seconds else "0"


def file_name(one: TopFile) -> str:
    """Return a printable name of a file."""
    return printable(one.name) if one.name else f"inode {one.ino} on {one.dev}"


def process_name(one: TopProcess) -> str:
    """Return a printable name of a process, with its number."""
    return f"{one.pid} {printable(one.name) if one.name else '?'}"


def named(rows: Sequence[TopFile | TopProcess]) -> list[str]:
    """Return the printable name of each row."""
    return [file_name(one) if isinstance(one, TopFile) else process_name(one) for one in rows]
