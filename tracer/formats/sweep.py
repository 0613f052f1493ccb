"""The SWEEP file: measured cold runs at every window (the manual method)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import field

from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, encode, read_document, says
from foreread.boards.base.units import size_word
from foreread.tracer.error import TracerError
from foreread.tracer.formats.capture import Count, PageBytes
from foreread.tracer.formats.scenario import IDLE, MEMORY

_REMEDY = "give a file of foreread sweep"
Measured = Annotated[float, msgspec.Meta(ge=0, le=1e15)]  # and no NaN, which JSON lets through


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """A run that did not end by itself, and what it had read until then."""

    by: Annotated[
        Literal["memory", "time"], says("the limit of its memory, or of its time, ended it")
    ]
    seconds: Annotated[Measured | None, says("until its end; null if unknown")] = None
    requests: Annotated[Count | None, says("read requests until then")] = None
    pages: Annotated[Measured | None, says("pages read until then")] = None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All runs at one window, in the order they were made; the first lists are of one length.

    ``requests`` and ``pages`` are reads that the devices served during the run, metadata
    included (from their I/O statistics); beside a load those of the load, too. In little memory
    ``killed`` are further runs, which the limit ended: then the others may be empty.
    """

    __repr__ = brief

    read_ahead_kb: Annotated[Count, says("the window in KiB")]
    seconds: Annotated[list[Measured], says("start-up time of each run, in seconds")]
    requests: Annotated[list[Count], says("read requests of each run, metadata included")]
    pages: Annotated[list[Measured], says("pages that each run read, metadata included")]
    killed: Annotated[list[Killed], says("runs that a limit ended: they have no seconds")] = []


class Sweep(Document, frozen=True, kw_only=True):
    """One sweep: where it ran, what was run, and its points by rising window."""

    foreread: Annotated[str, says("version of foreread")] = ""
    created: Annotated[str, says("ISO 8601, UTC")] = ""
    kernel: Annotated[str, says("uname -r")] = ""
    board: Annotated[str, says("machine and processor, in words; empty if unknown")] = ""
    page_size: Annotated[PageBytes, says("bytes of a page")] = 4096
    command: Annotated[list[str], says("the command and its arguments")] = field(
        default_factory=list
    )
    devices: Annotated[list[str], says("names of the disks whose window was set")] = field(
        default_factory=list
    )
    default_read_ahead_kb: Annotated[
        Count | None, says("the window in KiB before the sweep; null if unknown")
    ] = None
    scenario: Annotated[str, says("load of the machine during the runs")] = IDLE
    memory_kib: Annotated[
        Count | None, says("limit of the control group that the runs were in; null: none")
    ] = None
    complete: Annotated[bool, says("false: interrupted, points lack runs")] = True
    notes: list[str] = field(default_factory=list)
    points: list[Point]

    @property
    def condition(self) -> str:
        """What the runs had beside them, as ``foreread predict --load`` takes it."""
        if self.memory_kib is None:
            return self.scenario
        memory = f"{MEMORY}{size_word(self.memory_kib)}"
        return memory if self.scenario == IDLE else f"{self.scenario}, {memory}"


class SweepError(TracerError, ValueError):
    """A SWEEP file that cannot be read; ``remedy`` says what to do."""


def write_sweep(path: Path, sweep: Sweep) -> None:
    """Write ``sweep`` as JSON, atomically: an interrupted sweep keeps its last points."""
    temporary = path.with_name(path.name + ".part")
    temporary.unlink(missing_ok=True)
    with temporary.open("x") as file:  # and not through a link that is in its place
        file.write(encode(sweep, indent=1) + "\n")
    temporary.replace(path)


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Return the sweep in the file ``path``; raises SweepError."""
    return read_document(path, Sweep, SweepError, _REMEDY)
