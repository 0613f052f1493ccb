"""The cost of a capture's disk: the raw requests of the probe, or the known cost."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from foreread.boards.base.brief import brief
from foreread.boards.cost import Cost

Bytes = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Nanoseconds = Annotated[int, Meta(ge=0, le=10**13)]  # since the probe began; under three hours
RequestBytes = Annotated[int, Meta(ge=512, le=1 << 26)]
Depth = Annotated[int, Meta(ge=1, le=1024)]
_MOST_REQUESTS = 1 << 17
_MOST_PIECES = 1000


class ProbeTrial(Struct, frozen=True, kw_only=True):
    """Requests of one size, all sequential or all random, ``depth`` in flight at a time.

    One row per request, in order of completion: its place on the disk (bytes), when the request
    was issued and when it completed (ns since the probe began). ``how``: ``direct`` reads bypass
    the page cache and are timed by the reader; ``buffered`` ones are timed by the block events.
    """

    __repr__ = brief

    request_bytes: RequestBytes
    sequential: bool
    depth: Depth
    how: Literal["direct", "buffered"] = "direct"
    offset: list[Bytes]
    issue_ns: list[Nanoseconds]
    complete_ns: list[Nanoseconds]

    def __post_init__(self) -> None:
        rows = len(self.complete_ns)
        if not len(self.offset) == len(self.issue_ns) == rows:
            raise ValueError("the columns of a probe's trial differ in length")
        if rows > _MOST_REQUESTS:
            raise ValueError(f"more than {_MOST_REQUESTS} requests in a probe's trial")
        if any(end < start for start, end in zip(self.issue_ns, self.complete_ns, strict=True)):
            raise ValueError("a request of the probe completed before it was issued")


class PageReads(Struct, frozen=True, kw_only=True):
    """Durations (ns) of reads of ``request_bytes``, bypassing and through the page cache."""

    request_bytes: RequestBytes
    direct_ns: Annotated[list[Nanoseconds], Meta(max_length=1000)]
    cached_ns: Annotated[list[Nanoseconds], Meta(max_length=1000)]


class ComputingRound(Struct, frozen=True, kw_only=True):
    """The processor's time (ns) of pieces of computing, in the order in which they were executed.

    ``warm_ns``: right after other pieces; ``cold_ns``: after a read that waited for the disk.
    ``first`` is the number of the first piece; after the last one comes number 0.
    """

    first: Annotated[int, Meta(ge=0, lt=_MOST_PIECES)]
    warm_ns: Annotated[list[Nanoseconds], Meta(min_length=1, max_length=_MOST_PIECES)]
    cold_ns: Annotated[list[Nanoseconds], Meta(min_length=1, max_length=_MOST_PIECES)]


class Computing(Struct, frozen=True, kw_only=True):
    """Rounds of the same pieces of computing; ``kinds`` has what each piece does, in a word."""

    __repr__ = brief

    kinds: Annotated[list[str], Meta(min_length=1, max_length=_MOST_PIECES)]
    rounds: Annotated[list[ComputingRound], Meta(min_length=1, max_length=1000)]

    def __post_init__(self) -> None:
        pieces = len(self.kinds)
        for each in self.rounds:
            if not len(each.warm_ns) == len(each.cold_ns) == pieces > each.first:
                raise ValueError("the columns of a probe's computing differ in length")


class DiskProbe(Struct, frozen=True, kw_only=True):
    """The probe of one disk (``dev`` is its "major:minor").

    ``group`` is the cgroup whose limits held for the reads, empty if it was foreread's own.
    ``seconds`` is what the probe took. ``known`` is the cost that an emulated board gave the disk.
    ``pages`` are reads past the page cache and into it, of two sizes; none on a slow disk.
    ``computing`` shows how slow the processor is after waits for this disk; None if unknown.
    """

    __repr__ = brief

    dev: str
    name: str
    seconds: Annotated[float, Meta(ge=0, le=1e4)] = 0.0
    group: str = ""
    trials: Annotated[list[ProbeTrial], Meta(max_length=100)] = []
    pages: Annotated[list[PageReads], Meta(max_length=10)] = []
    computing: Computing | None = None
    known: Cost | None = None

    @property
    def requests(self) -> int:
        """Return the number of requests."""
        return sum(len(trial.complete_ns) for trial in self.trials)
