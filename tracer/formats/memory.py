"""The memory that a recorded run had, what the kernel reclaimed of it, and the program's own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from foreread.boards.base.brief import brief
from foreread.boards.base.document import says
from foreread.boards.base.units import size_word

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
MOST_SAMPLES = 4096
Samples = Annotated[list[tuple[Count, Count]], Meta(max_length=MOST_SAMPLES)]


class Swap(Struct, frozen=True, kw_only=True):
    """A line of /proc/swaps."""

    kind: Literal["zram", "file", "partition"]
    size_kib: Count


class Watermarks(Struct, frozen=True, kw_only=True):
    """Free pages at which the kernel reclaims, summed over the zones of /proc/zoneinfo.

    Below ``low`` kswapd begins, at ``high`` it stops; below ``min`` the program itself reclaims.
    """

    min: Count
    low: Count
    high: Count


class MemoryGroup(Struct, frozen=True, kw_only=True):
    """The control group for memory that the command ran in."""

    __repr__ = brief

    path: Annotated[str, says("of the group within its hierarchy")]
    version: Annotated[Literal[1, 2], says("of control groups")]
    made: Annotated[bool, says("true: made for the run, by --memory")] = False
    limit_kib: Annotated[
        Count | None,
        says("tightest memory.limit_in_bytes or memory.max up the tree; null: no limit"),
    ] = None
    high_kib: Annotated[
        Count | None, says("tightest memory.high up the tree, of version 2; null: none")
    ] = None
    swap_kib: Annotated[
        Count | None, says("how much the group may swap, if limited: 0 with --memory")
    ] = None
    peak_kib: Annotated[
        Count | None, says("largest use of a group made for the run, page cache included")
    ] = None
    own: Annotated[
        Samples,
        says(
            "of a group made for the run: [ms since exec, KiB], its use without pages of files:"
            " the memory of programs and the kernel's for them"
        ),
    ] = []
    counters: Annotated[
        dict[str, Count], says("increase over the run of counters of the group's memory.stat")
    ] = {}


class Memory(Struct, frozen=True, kw_only=True):
    """The memory of a machine during a run; ``memory_kib`` of its Host is all that it has."""

    __repr__ = brief

    available_kib: Annotated[Count, says("MemAvailable once the caches were cold")]
    swaps: list[Swap] = []
    watermarks: Watermarks | None = None
    min_free_kib: Annotated[Count | None, says("vm.min_free_kbytes")] = None
    multi_gen_lru: Annotated[
        bool | None, says("whether the multi-generational LRU is on; null if unknown")
    ] = None
    group: Annotated[MemoryGroup | None, says("null without a memory controller")] = None
    counters: Annotated[
        dict[str, Count],
        says("increase over the run of the counters of reclaim in /proc/vmstat"),
    ] = {}
    own: Annotated[
        Samples,
        says(
            "the command's own memory: [ms since exec, KiB] of its processes, anonymous and shared"
            " memory and page tables"
        ),
    ] = []

    @property
    def own_peak_kib(self) -> int | None:
        """The largest sample of the command's own memory; None without samples."""
        return max((kib for _, kib in self.own), default=None)


def within(memory_kib: int | None) -> str:
    """Return how a sentence says that something was measured in a group of so much memory."""
    return "" if memory_kib is None else f" in {size_word(memory_kib)} of memory"
