"""The ring-buffer pages of a run, brought from the target as they are."""

from __future__ import annotations

import re
import time
from pathlib import Path

from foreread.tracer.backends.tracefs import OPENS, lost_events, missed_marks
from foreread.tracer.error import RecordError
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.run_facts import TraceFacts

# Pages are fetched in pieces, larger ones as long as the connection is fast enough for them.
_SMALLEST_PIECE, _LARGEST_PIECE = 1 << 16, 1 << 22
_FAST_S = 1.0
_PIECE_S = 180.0  # a serial line of 9600 baud brings the smallest piece in half of that
_FIELD = re.compile(r"^\s*field: [^;\n]*?(\w+);\s*offset:(\d{1,5});\s*size:(\d{1,7});", re.M)
_FORMAT = re.compile(r"header_page|header_event|[\w.-]+/[\w.-]+/format", re.ASCII)
_LARGEST_PAGE = 1 << 20


def save_trace(
    job: Job, traced: TraceFacts, byte_order: str, trace: Path
) -> tuple[dict[int, int], int]:
    """Save pages, formats and statistics in ``trace``; return lost events by CPU and long's size.

    Raises RecordError when a page arrived incomplete.
    """
    offset, data_bytes, long_size = layout_of(traced.formats.get("header_page", ""))
    page_bytes = offset + data_bytes
    for path, text in traced.formats.items():
        if not _FORMAT.fullmatch(path) or ".." in path:
            raise RecordError(
                f"the target sent a file called {path!r}", "check what is installed there"
            )
        _write(
            trace / ("" if path.startswith("header") else "events") / _public(path, traced), text
        )
    lost = {}
    for cpu, stats in sorted(traced.stats.items()):
        pages = _pages(job, cpu, page_bytes, data_bytes)
        lost[cpu] = max(lost_events(stats), missed_marks(pages, byte_order, long_size))
        _write(trace / f"stats/cpu{cpu}", stats)
        with (trace / f"cpu{cpu}.raw").open("wb") as file:
            file.writelines(pages)
    return lost, long_size


def _pages(job: Job, cpu: int, page_bytes: int, data_bytes: int) -> list[bytes]:
    """Take all pages out of the buffer of one CPU."""
    pages: list[bytes] = []
    piece_bytes = _SMALLEST_PIECE
    while True:
        started_s = time.monotonic()
        most = max(1, piece_bytes // page_bytes)
        step = f"fetching the trace of CPU {cpu}"
        words = ["pages", str(cpu), str(most), str(page_bytes), str(data_bytes)]
        done = job.raw(*words, step=step, timeout_s=_PIECE_S)
        count = re.fullmatch(rb"pages (\d{1,9})\s*", done.stderr)
        if count is None or int(count[1]) * page_bytes != len(done.stdout):
            raise RecordError(
                f"{step}: {len(done.stdout)} bytes arrived, fewer or more than the target sent",
                "check that its shell prints nothing at log-in, then record again",
            )
        if not done.stdout:
            return pages
        starts = range(0, len(done.stdout), page_bytes)
        pages += [done.stdout[at : at + page_bytes] for at in starts]
        if time.monotonic() - started_s < _FAST_S:
            piece_bytes = min(2 * piece_bytes, _LARGEST_PIECE)


def layout_of(header_page: str) -> tuple[int, int, int]:
    """Return where a page's data begin, their bytes, and the size of the kernel's long."""
    fields = {name: (int(at), int(size)) for name, at, size in _FIELD.findall(header_page)}
    offset, data_bytes = fields.get("data", (0, 0))
    _, long_size = fields.get("commit", (0, 0))
    if long_size not in (4, 8) or offset < 12 or not 0 < data_bytes <= _LARGEST_PAGE:
        raise RecordError(
            "the target's header_page describes no page", "look at its tracefs by hand"
        )
    return offset, data_bytes, long_size


def _public(path: str, traced: TraceFacts) -> str:
    """Return the path of an event's format; the group of our own events contains a pid."""
    group, _, rest = path.partition("/")
    own = OPENS.partition(":")[0]
    return f"{own}/{rest}" if traced.probe_group and group == traced.probe_group else path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, errors="surrogateescape")
