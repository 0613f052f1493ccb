"""What `foreread top` prints, and the words that its text screen shares with that."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB, pages_to_kib, percent_text
from foreread.cli.text.table import render
from foreread.documents.top import TopDocument, TopFile, TopProcess

COLUMNS = ("KiB/s", "KiB read", "hits", "missed", "unused")


def text_of(figures: TopDocument, rows: int) -> str:
    """Return the figures of an interval: a line of sums, files, processes, and notes."""
    files = [[*cells(row, figures), file_name(row)] for row in figures.files[:rows]]
    processes = [[*cells(row, figures), process_name(row)] for row in figures.processes[:rows]]
    parts = [summary(figures)]
    if files:
        parts.append(render([*COLUMNS, "file"], files))
        parts.append(render([*COLUMNS, "process"], processes))
    parts += [f"note: {printable(note)}" for note in figures.notes]
    return "\n".join([*parts, ""])


def summary(figures: TopDocument) -> str:
    """Return the sums in one line."""
    kib = pages_to_kib(figures.read, figures.page_size)
    now = sum(file.now for file in figures.files) * figures.page_size / KIB
    words = [
        f"{figures.seconds:.1f} s: {rate(now, figures.interval_seconds)} KiB/s, {kib} KiB read",
        f"{plural(figures.lost, 'event')} lost",
    ]
    if figures.explained is not None and figures.read:
        share = percent_text(figures.explained / figures.read, 0)
        words.append(f"the emulation reads {share} of these pages, too")
    return "; ".join(words)


def cells(row: TopFile | TopProcess, figures: TopDocument) -> list[str]:
    """Return the figures of a row, as COLUMNS names them; pages but for the first two."""
    kib = figures.page_size / KIB
    return [
        rate(row.now * kib, figures.interval_seconds),
        f"{row.read * kib:.0f}",
        *("-" if pages is None else str(pages) for pages in (row.hits, row.missed, row.unused)),
    ]


def rate(kib: float, seconds: float) -> str:
    """Return KiB a second."""
    return f"{kib / seconds:.0f}" if seconds else "0"


def file_name(file: TopFile) -> str:
    """Return a printable name of a file."""
    return printable(file.name) if file.name else f"inode {file.ino} on {file.dev}"


def process_name(process: TopProcess) -> str:
    """Return a printable name of a process, with its number."""
    return f"{process.pid} {printable(process.name) if process.name else '?'}"


def named(rows: Sequence[TopFile | TopProcess]) -> list[str]:
    """Return the printable name of each row."""
    return [file_name(row) if isinstance(row, TopFile) else process_name(row) for row in rows]
