"""The readahead rules of each kernel version: one table.

The rules are implemented where they are used. A version is a tuple as in the release string:
(2, 6, 32), (6, 18, 44). ``source`` names the tree in which a rule was read, and the newest tree
read without it; the version in the table is the first one believed to have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cache
from typing import get_type_hints

from foreread.emulator.error import EmulatorError

Version = tuple[int, ...]


class KernelError(EmulatorError, ValueError):
    """A kernel release without a known rule; ``remedy`` says what to do."""


class Algorithm(IntEnum):
    """The rule that decides about a window (mm/readahead.c)."""

    ADAPTIVE = 0  # page_cache_readahead: a current and an ahead window
    MARKER = 1  # ondemand_readahead of 2.6.23: first markers, no history
    STRAY = 2  # 2.6.24: markers unknown to the state trigger readahead, too
    ONDEMAND = 3  # 2.6.31: also examines cached history
    SPLIT = 4  # 6.11: page_cache_sync_ra and page_cache_async_ra


class NoHole(IntEnum):
    """A marker without state whose next M pages are all cached (page_cache_next_miss)."""

    NOTHING = 0
    BEHIND = 1  # reads from i + M
    STUCK = 2  # reads from i, where all is cached


class Merge(IntEnum):
    """The treatment of a window whose first page would carry its own marker."""

    NONE = 0
    WHOLE = 1  # the next window is added
    CAPPED = 2  # the same up to M; beyond it M, half of it asynchronous


class Context(IntEnum):
    """The use of k cached pages before a miss (try_context_readahead)."""

    NONE = 0
    ANY = 1  # any history starts a window
    LONGER = 2  # only one longer than the request; one page asynchronous


class Orders(IntEnum):
    """How page_cache_ra_order chooses the size of folios."""

    SINGLE = 0
    PLUS_TWO = 1  # the marked folio's order + 2, if the window has 4 pages
    RAMP = 2  # the state's order, raised by 2 at each asynchronous window


class PrevPos(IntEnum):
    """The value of prev_pos after a read(2)."""

    LAST_PAGE = 0  # the last page touched, when the call ends
    EVERY_PAGE = 1  # the next byte, after each page
    NEXT_BYTE = 2  # the next byte, when the call ends


class PastEnd(IntEnum):
    """A read(2) at the end of a file: a page is found before the size is compared (mm/filemap.c).

    After the last page it is a new, empty one, for which nothing is read.
    """

    NOTHING = 0  # the size is compared first
    AT_END = 1  # a read that begins at the end or after it
    BEYOND = 2  # also one that goes beyond the end of a file of whole pages


class Forced(IntEnum):
    """The limit of force_page_cache_readahead: fadvise, readahead(2), FMODE_RANDOM."""

    UNLIMITED = 0
    TWO_MIB = 1
    WINDOW = 2
    IO = 3  # the device's largest request, or the window if that is larger


class Fault(IntEnum):
    """The handling of an mmap fault on an absent page (mm/filemap.c)."""

    HIT_COUNT = 0  # filemap_nopage: misses against hits, read-around without state
    MARKER_HIT_COUNT = 1  # filemap_fault of 2.6.23: the same with markers
    MISS_COUNT = 2  # 2.6.24: one counter
    SEQUENTIAL = 3  # 2.6.31: prev_pos counts, read-around without marker
    AROUND = 4  # 3.0: read-around, a quarter of it asynchronous


class Around(IntEnum):
    """The reduction of mmap_miss by fault-around (filemap_map_pages)."""

    NONE = 0  # there is no fault-around
    FILLED = 1  # each page table entry that was empty
    ELIGIBLE = 2  # each page that could be mapped
    FOLIO = 3  # the same; a large folio is mapped whole
    TOUCHED = 4  # only the page that was touched; a large folio is mapped whole


class WithinMapping(IntEnum):
    """The mappings that limit the readahead of their page faults, as the end of the file does."""

    NONE = 0
    CODE = 1  # VM_EXEC
    ALL = 2


class Generations(IntEnum):
    """The multi-generational lists of memory, on a machine that has them in use (mm/vmscan.c)."""

    NONE = 0  # there are an inactive and an active list only
    FIRST = 1  # what a page fault reads is in the youngest generation
    REWORKED = 2  # in the second youngest; two uses of a mapping make a page younger
    OLD_FAULTS = 3  # in the second oldest


@dataclass(frozen=True)
class Rules:
    """The rules of one kernel."""

    algorithm: Algorithm = Algorithm.ADAPTIVE
    off_is_negative: bool = True  # ADAPTIVE: "off" is a size of -1; a first read at 0 only
    two_mib_window: bool = False  # a window has at most 2 MiB
    grows_to_io: bool = False  # a larger read gets a window up to the device's largest request
    runs_apart: bool = False  # each run of absent pages is a separate ->readahead call
    zero_is_forced: bool = False  # without a window a page is a forced read, not ->readpage
    clamps_first: bool = False  # the marker is placed after the window was cut at end of file
    xarray: bool = False  # the history scan stops one page short of M
    no_hole: NoHole = NoHole.NOTHING
    keeps_larger: bool = False  # a window beyond M does not shrink
    merge: Merge = Merge.NONE
    context: Context = Context.NONE
    orders: Orders = Orders.SINGLE
    marks_upwards: bool = False  # the marker's index is rounded up to the folio
    order_one: bool = False  # folios of two pages exist
    overshoots: bool = False  # after a cached page the whole window is read once more
    folio_index: bool = False  # read(2): a marker's index is its folio's first
    expands: bool = False  # squashfs: readahead grows to whole blocks, the window with it
    fills_past_end: bool = False  # squashfs: a block is filled beyond the end of the file
    block_window: bool = True  # squashfs: its files have a window at all
    prev_pos: PrevPos = PrevPos.LAST_PAGE
    random_flag: bool = False  # POSIX_FADV_RANDOM sets FMODE_RANDOM instead of a window of 0
    forced: Forced = Forced.UNLIMITED
    fault: Fault = Fault.HIT_COUNT
    fault_again: bool = False  # the fault is done again from the start, marker included
    around: Around = Around.NONE
    exec_window: bool = False  # VM_EXEC: forward from the fault, within the mapping
    huge_window: bool = False  # VM_HUGEPAGE: two PMDs
    huge_counts: bool = False  # only after the test of mmap_miss
    huge_folio: bool = False  # a folio of at most 2 MiB instead of a PMD; only with large folios
    exec_counts: bool = True  # VM_EXEC and VM_SEQ_READ mappings change mmap_miss
    retry_counts: bool = True  # fault-around by the retry of a fault that read reduces mmap_miss
    marker_retries: bool = False  # a fault that hits a marker is done again, and is a hit again
    marks_end: bool = True  # a window that reaches the end of the file has a marker
    scans_all: bool = False  # xarray: the history scan finds M pages, not M - 1
    reads_past_end: PastEnd = PastEnd.NOTHING
    within_mapping: WithinMapping = WithinMapping.NONE  # of no kernel: 7b32f64bc512 was reverted
    mapped_folio_kb: int = 0  # of no kernel: the least folio of a fault's own window
    generations: Generations = Generations.NONE

    def numbers(self) -> list[int]:
        """Return the rules as the numbers of struct lx_rules (core/linux/rules.h)."""
        return [int(getattr(self, rule.name)) for rule in fields(self)]


FOLIO_KB = (0, *(1 << power for power in range(2, 12)))  # of mapped_folio_kb: up to 2 MiB


def values_of(rule: str) -> tuple[bool, ...] | tuple[IntEnum, ...] | tuple[int, ...]:
    """Return the values that a rule may have."""
    kind = get_type_hints(Rules)[rule]
    if kind is int:
        return FOLIO_KB
    return tuple(kind) if issubclass(kind, IntEnum) else (False, True)


def names_in_c() -> str:
    """Return the rules and their values as core/linux/rules.h must name them, a line for each."""
    types = get_type_hints(Rules)
    return "".join(
        f"{rule.name}: {_values(rule.name, types[rule.name])}\n" for rule in fields(Rules)
    )


def _values(rule: str, kind: type) -> str:
    if kind is int:
        return "LX_NUMBER"
    if not issubclass(kind, IntEnum):
        return "LX_NO, LX_YES"
    return ", ".join(f"LX_{rule.upper()}_{value.name}" for value in kind)


@dataclass(frozen=True)
class Change:
    """From ``since`` on the ``rules`` are these; ``source`` is where it was read."""

    since: Version
    rules: dict[str, object]
    source: str


CHANGES: tuple[Change, ...] = (
    Change((2, 6, 11), {}, "2.6.11 mm/readahead.c page_cache_readahead, filemap_nopage"),
    Change((2, 6, 18), {"off_is_negative": False}, "2.6.18 page_cache_readahead"),
    Change(
        (2, 6, 23),
        {"algorithm": Algorithm.MARKER, "fault": Fault.MARKER_HIT_COUNT},
        "2.6.23.17 ondemand_readahead, filemap_fault",
    ),
    Change(
        (2, 6, 23),
        {"reads_past_end": PastEnd.BEYOND},
        "5.10.223 mm/filemap.c generic_file_buffered_read, commit a32ea1e1f925; absent 2.6.22.19",
    ),
    Change(
        (2, 6, 24),
        {"algorithm": Algorithm.STRAY, "fault": Fault.MISS_COUNT},
        "2.6.24 ondemand_readahead, filemap_fault",
    ),
    Change(
        (2, 6, 31),
        {
            "algorithm": Algorithm.ONDEMAND,
            "context": Context.ANY,
            "merge": Merge.WHOLE,
            "fault": Fault.SEQUENTIAL,
        },
        "2.6.31.3 ondemand_readahead, do_sync_mmap_readahead",
    ),
    Change((2, 6, 34), {"random_flag": True}, "2.6.37 mm/fadvise.c; absent 2.6.32"),
    Change((2, 6, 37), {"fault_again": True}, "2.6.37 filemap_fault, VM_FAULT_RETRY"),
    Change((3, 0), {"fault": Fault.AROUND}, "3.0.101 do_sync_mmap_readahead"),
    Change((3, 7), {"fault_again": False}, "3.10 FAULT_FLAG_TRIED; absent 3.4"),
    Change((3, 12), {"context": Context.LONGER}, "4.4 try_context_readahead; absent 3.10"),
    Change(
        (3, 15),
        {"around": Around.FILLED, "two_mib_window": True, "forced": Forced.TWO_MIB},
        "3.19 filemap_map_pages, max_sane_readahead; absent 3.10",
    ),
    Change(
        (4, 4),
        {"two_mib_window": False, "forced": Forced.WINDOW},
        "4.4.155 force_page_cache_readahead",
    ),
    Change((4, 9), {"around": Around.ELIGIBLE}, "4.9 filemap_map_pages"),
    Change(
        (4, 10),
        {"grows_to_io": True, "forced": Forced.IO},
        "4.10.1 ondemand_readahead, bdi->io_pages",
    ),
    Change(
        (4, 19),
        {"runs_apart": True, "merge": Merge.CAPPED},
        "4.19 __do_page_cache_readahead, ondemand_readahead; absent 4.10",
    ),
    Change(
        (4, 20),
        {"xarray": True, "no_hole": NoHole.BEHIND},
        "5.4.286 page_cache_prev_miss, page_cache_next_miss; absent 4.19",
    ),
    Change(
        (5, 10),
        {"clamps_first": True, "zero_is_forced": True},
        "5.10.13 do_page_cache_ra; absent 5.4",
    ),
    Change(
        (5, 11),
        {"reads_past_end": PastEnd.AT_END},
        "5.12.9 mm/filemap.c filemap_read, commit 06c0444290ce; absent 5.10.223",
    ),
    Change((5, 12), {"prev_pos": PrevPos.EVERY_PAGE}, "5.12.9 filemap_read; absent 5.10"),
    Change(
        (5, 16),
        {"reads_past_end": PastEnd.NOTHING},
        "5.17 mm/filemap.c filemap_read, commit 8c8387ee3f55; absent 5.15.100",
    ),
    Change((5, 16), {"block_window": False}, "5.17 squashfs_fill_super: an own bdi; absent 5.15"),
    Change(
        (5, 18),
        {
            "orders": Orders.PLUS_TWO,
            "marks_upwards": True,
            "overshoots": True,
            "folio_index": True,
            "huge_window": True,
        },
        "5.19 page_cache_ra_order, do_sync_mmap_readahead; absent 5.17",
    ),
    Change((6, 0), {"block_window": True, "expands": True}, "6.1.192 squashfs_readahead"),
    Change((6, 1), {"marks_upwards": False, "keeps_larger": True}, "6.1.192 ra_alloc_folio"),
    Change(
        (6, 1),
        {"generations": Generations.FIRST},
        "6.1.176, 6.12.107 mm/vmscan.c evict_folios, lru_gen_add_folio, commit ac35a4902374",
    ),
    Change((6, 2), {"keeps_larger": False}, "6.6.63 ondemand_readahead"),
    Change((6, 6), {"prev_pos": PrevPos.NEXT_BYTE}, "6.6.63 filemap_read; absent 6.1"),
    Change((6, 9), {"order_one": True}, "6.11.11 page_cache_ra_order; absent 6.6"),
    Change(
        (6, 11),
        {
            "algorithm": Algorithm.SPLIT,
            "merge": Merge.NONE,
            "no_hole": NoHole.STUCK,
            "overshoots": False,
        },
        "6.11.11 page_cache_sync_ra, page_cache_async_ra; absent 6.6",
    ),
    Change(
        (6, 12),
        {"no_hole": NoHole.NOTHING, "keeps_larger": True, "overshoots": True},
        "6.12.117 page_cache_next_miss, page_cache_ra_order",
    ),
    Change((6, 13), {"no_hole": NoHole.STUCK}, "6.13.7 page_cache_next_miss"),
    Change((6, 14), {"overshoots": False}, "6.14 page_cache_ra_order"),
    Change(
        (6, 14),
        {"fills_past_end": True},
        "6.18 squashfs_copy_cache: bytes is a size_t; 7.2.12; absent 6.12.117",
    ),
    Change(
        (6, 14),
        {"generations": Generations.REWORKED},
        "7.2.12 mm/vmscan.c lru_gen_set_refs, commit 4d5d14a01e2c; absent 6.12.107",
    ),
    Change(
        (6, 17),
        {"no_hole": NoHole.NOTHING, "orders": Orders.RAMP, "exec_window": True},
        "6.17 page_cache_async_ra, do_sync_mmap_readahead; absent 6.14",
    ),
    Change((6, 18), {"around": Around.FOLIO}, "6.18.35 filemap_map_folio_range, finish_fault"),
    Change((6, 19), {"huge_counts": True}, "6.19.9 do_sync_mmap_readahead"),
    Change(
        (7, 2),
        {"marks_end": False},
        "7.2.12 mm/readahead.c do_page_cache_ra, page_cache_ra_order, "
        '"mm/readahead: no PG_readahead on EOF"; absent 6.19.9',
    ),
    Change(
        (7, 2),
        {"scans_all": True},
        "7.2.12 mm/filemap.c page_cache_prev_miss, "
        '"mm/filemap: fix page_cache_prev_miss() when no hole is found"; absent 6.19.9',
    ),
    Change(
        (7, 2),
        {"around": Around.TOUCHED},
        "7.2.12 mm/filemap.c filemap_map_pages, commit 0b9c0aeba938; absent 6.19.9",
    ),
    Change(
        (7, 2),
        {"retry_counts": False},
        "7.2.12 mm/filemap.c filemap_map_pages, commit 9b0fcac3cfe7; absent 6.19.9",
    ),
    Change(
        (7, 2),
        {"marker_retries": True},
        "7.2.12 arch/*/mm/fault.c (not mips): FAULT_FLAG_TRIED only after VM_FAULT_MAJOR; seen on "
        "7.2, no effect while retries count anyway",
    ),
    Change(
        (7, 2),
        {"exec_counts": False},
        "7.2.12 mm/filemap.c do_sync_mmap_readahead, do_async_mmap_readahead, "
        "filemap_map_pages, commit 2f5e0477276b; absent 6.19.9",
    ),
    Change(
        (7, 2),
        {"generations": Generations.OLD_FAULTS},
        "7.2.12 mm/swap.c folio_add_lru, "
        '"mm/mglru: use folio_mark_accessed to replace folio_set_active"',
    ),
    Change(
        (7, 2),
        {"huge_folio": True},
        "7.2.12 mm/filemap.c do_sync_mmap_readahead, commit 8732e14b7191; absent 6.19.9",
    ),
)
# The newest tree that was compared with the table: 7.3-rc7 has the rules of 7.2.12.
NEWEST_READ: Version = (7, 3)


def version_of(release: str) -> Version:
    """Return the numbers that a release string ("6.18.44-amd64", "2.6.32") starts with."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", release)
    if match is None:
        raise KernelError(
            f"{release!r} is not a kernel release", "name a version such as linux-5.10"
        )
    return tuple(int(number) for number in match.groups() if number is not None)


def version_text(version: Version) -> str:
    """Return a version as in a release string: ``6.18.44``."""
    return ".".join(map(str, version))


def series_text(version: Version) -> str:
    """Return the first two numbers of a version with the kernel's name: ``Linux 6.18``."""
    return f"Linux {version_text(version[:2])}"


def is_unread(version: Version) -> bool:
    """Return whether a kernel is newer than any whose source was compared with the table."""
    return version[:2] > NEWEST_READ


@cache
def rules_for(version: Version) -> Rules:
    """Return the rules of a kernel; a newer one than is known has those of the newest.

    Raises KernelError before 2.6.11.
    """
    if version < CHANGES[0].since:
        raise KernelError(
            f"the readahead of Linux {version_text(version)} is unknown",
            "choose a model from linux-2.6.11 on",
        )
    rules = Rules()
    for change in CHANGES:
        if change.since <= version:
            rules = replace(rules, **change.rules)  # type: ignore[arg-type]
    return rules
