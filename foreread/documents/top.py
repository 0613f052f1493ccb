"""The document of ``foreread top --json``: one to a line, after each interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from foreread.boards.base.document import Document, says

Pages = Annotated[int | None, says("pages; null if the kernel does not record touches")]


class TopRow(msgspec.Struct, frozen=True, kw_only=True):
    """Pages of a file or of a process."""

    name: Annotated[str | None, says("path or name; null if unknown")]
    now: Annotated[int, says("pages read in the last interval")]
    read: Annotated[int, says("pages read since the beginning")]
    hits: Pages
    missed: Pages
    unused: Pages


class TopFile(TopRow, frozen=True, kw_only=True):
    """A file: its pages that were read from a disk."""

    dev: Annotated[str, says('"major:minor" of the file system')]
    ino: int


class TopProcess(TopRow, frozen=True, kw_only=True):
    """A process: what was read for it."""

    pid: int


class TopDocument(Document, frozen=True, kw_only=True):
    """What a machine has read so far, those that read most first."""

    seconds: Annotated[float, says("since the beginning")]
    interval_seconds: float
    page_size: Annotated[int, says("bytes")]
    files: Sequence[TopFile]
    processes: Sequence[TopProcess]
    read: Annotated[int, says("pages that the kernel read")]
    explained: Annotated[
        int | None, says("those of them that the emulation of this kernel reads, too")
    ]
    lost: Annotated[int, says("events that did not fit in the buffers")]
    notes: Sequence[str]
