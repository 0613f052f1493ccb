"""The operations of a recording, and the assumptions for data that it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.misses import BY_FLAG, BY_KIND, BY_UNKNOWN_CALLS


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
