"""Turns a recording at read_ahead_kb=0 into the Program that the emulation runs.

The threads of the recording are followed in C (core/); analyzer/reference is readable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program import _follow
from foreread.analyzer.program.evidence import Evidence, evidence
from foreread.analyzer.program.misses import BY_FLAG, BY_KIND, BY_UNKNOWN_CALLS
from foreread.emulator.linux.operations import MAPPING, OPERATION, Program

HOLE = np.dtype([("page", "u8"), ("file", "u4")], align=True)  # struct fw_page


class FollowError(AnalyzerError, ValueError):
    """A recording that cannot be followed; ``remedy`` says what to do."""


class Assumed(IntEnum):
    """Assumptions for data that the recording lacks (enum fw_assumed, core/evidence.h)."""

    WHOLE = 0
    HEADERS = 1
    KINDS = 2
    FLAGS = 3
    CALLS = 4
    NEIGHBOURS = 5
    SINGLY = 6


ASSUMED = {
    Assumed.WHOLE: "mapped whole, without flags",
    Assumed.HEADERS: "mapped as in their program headers",
    Assumed.KINDS: BY_KIND,
    Assumed.FLAGS: BY_FLAG,
    Assumed.CALLS: BY_UNKNOWN_CALLS,
    Assumed.NEIGHBOURS: "pages cached before, next to one that was",
    Assumed.SINGLY: "read page by page, the kind of access is unknown",
}


@dataclass(frozen=True, eq=False)
class Followed:
    """The result: OPERATION, the time of each (u8, ns; 0: before the run), MAPPING.

    ``handles`` (u4) are the files of struct files; ``holes`` (file row, page) were read without
    I/O; ``assumed`` counts the assumptions.
    """

    operations: Array
    times: Array
    mappings: Array
    handles: Array
    holes: list[tuple[int, int]]
    assumed: dict[Assumed, int]


@dataclass(frozen=True)
class Built:
    """A recording's program; ``holes`` are (file row, page) that were read without I/O.

    ``times`` (u8, ns of the trace clock): of the operations, 0 before the run;
    ``notes`` list what the recording lacked.
    """

    program: Program
    times: Array
    holes: list[tuple[int, int]]
    notes: list[str]


def build(recording: Recording, files: Array) -> Built:
    """Return the recording's Program on ``files`` (FILE, a row for each of the recording's).

    Raises FollowError for a recording with more data than its length allows.
    """
    followed = follow(evidence(recording, files["size"]))
    program = Program(followed.operations, followed.mappings, followed.handles, files)
    notes = [
        f"{count} {ASSUMED[what]}"
        for what, count in sorted(followed.assumed.items(), key=lambda item: ASSUMED[item[0]])
    ]
    return Built(program, followed.times, followed.holes, notes)


def follow(evidence: Evidence) -> Followed:
    """Return the operations of a recording's threads.

    Raises FollowError for rows or pages out of range, and where there are more pages or mappings
    than a run of that many events can have.
    """
    tables = (
        evidence.moments,
        evidence.inserted,
        evidence.segments,
        evidence.cached,
        evidence.sizes,
        evidence.flags,
    )
    arrays = (np.ascontiguousarray(array) for array in tables)
    run: Callable[..., tuple[bytes, ...]] = _follow.follow
    try:
        columns = run(*arrays, evidence.page_size, int(evidence.shown))
    except ValueError as error:
        message, *remedy = error.args
        raise FollowError(message, remedy[0] if remedy else "record again") from error
    operations, times, mappings, handles, holes, assumed = columns
    counts = enumerate(np.frombuffer(assumed, np.int64).tolist())
    return Followed(
        np.frombuffer(operations, OPERATION),
        np.frombuffer(times, np.uint64),
        np.frombuffer(mappings, MAPPING),
        np.frombuffer(handles, np.uint32),
        [(file, page) for page, file in np.frombuffer(holes, HOLE).tolist()],
        {Assumed(what): count for what, count in counts if count},
    )
