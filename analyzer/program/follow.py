"""Follows the threads of a recording, in C (core/); analyzer/reference is readable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.program import _follow
from foreread.analyzer.program.evidence import Evidence
from foreread.analyzer.program.followed import Assumed, Followed
from foreread.emulator.linux.operations import MAPPING, OPERATION

HOLE = np.dtype([("page", "u8"), ("file", "u4")], align=True)  # struct fw_page


class FollowError(AnalyzerError, ValueError):
    """A recording that cannot be followed; ``remedy`` says what to do."""


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
