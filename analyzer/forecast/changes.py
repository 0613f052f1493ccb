"""What differs between two kernels, one change at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from foreread.analyzer.forecast.defaults import fstypes
from foreread.analyzer.forecast.kernel import Kernel, Side
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.inputs import Inputs
from foreread.emulator.linux.filesystems import large_folios_since
from foreread.emulator.linux.rules import CHANGES, version_text


@dataclass(frozen=True)
class Topic:
    """Fields of Rules that change together; ``what`` describes their effect to the user."""

    what: str
    fields: tuple[str, ...]


TOPICS = (
    Topic(
        "windows of sequential reads start, grow and merge by other rules",
        ("algorithm", "merge", "context", "off_is_negative"),
    ),
    Topic("which reads count as sequential (the position that a read leaves)", ("prev_pos",)),
    Topic(
        "what is read at a marked page if the next pages are cached",
        ("xarray", "no_hole", "scans_all"),
    ),
    Topic("a read at the end of a file adds an empty page after it", ("reads_past_end",)),
    Topic(
        "windows after cached pages, and of reads larger than the window",
        ("keeps_larger", "overshoots"),
    ),
    Topic(
        "the limits of a window, and how it is cut into readahead calls",
        ("two_mib_window", "grows_to_io", "runs_apart", "clamps_first", "zero_is_forced"),
    ),
    Topic(
        "sizes and borders of large folios",
        ("orders", "marks_upwards", "order_one", "folio_index"),
    ),
    Topic("readahead of executable code begins at the fault, not around it", ("exec_window",)),
    Topic("page faults of mapped files start readahead by other rules", ("fault", "fault_again")),
    Topic("mapped executable code changes no counter of misses", ("exec_counts",)),
    Topic("windows that reach the end of a file have no marker", ("marks_end",)),
    Topic(
        "which pages around a fault count as hits of the file",
        ("around", "retry_counts", "marker_retries"),
    ),
    Topic(
        "readahead of mappings with madvise(MADV_HUGEPAGE)",
        ("huge_window", "huge_counts", "huge_folio"),
    ),
    Topic("readahead that a program asks for (fadvise, readahead)", ("forced", "random_flag")),
    Topic(
        "what a patch proposes for readahead that a page fault starts",
        ("within_mapping", "mapped_folio_kb"),
    ),
    Topic(
        "which pages are reclaimed where memory is little (multi-generational lists)",
        ("generations",),
    ),
    Topic("readahead of squashfs, in whole blocks", ("expands", "fills_past_end", "block_window")),
)


@dataclass(frozen=True)
class Change:
    """One difference between two kernels; ``apply`` returns a kernel with this difference alone.

    ``since`` is the first kernel with the change, and ``source`` the kernel source that shows it.
    ``undone``: the other kernel is older, and lacks the change.
    """

    what: str
    since: str
    source: str
    undone: bool
    apply: Callable[[Kernel], Kernel]


def changes_between(inputs: Inputs, now: Side, then: Side) -> list[Change]:
    """Return the differences from the kernel ``now`` to the kernel ``then``."""
    return [
        *_of_rules(now, then),
        *_of_folios(inputs, now, then),
        *_of_disks(now.kernel, then.kernel),
    ]


def _of_rules(now: Side, then: Side) -> Iterator[Change]:
    older, newer = sorted((now.version, then.version))
    rules, other_rules = now.kernel.rules, then.kernel.rules
    for topic in TOPICS:
        values = {
            name: getattr(other_rules, name)
            for name in topic.fields
            if getattr(other_rules, name) != getattr(rules, name)
        }
        if not values:
            continue
        rows = [
            change
            for change in CHANGES
            if older < change.since <= newer and set(values) & set(change.rules)
        ]
        yield Change(
            topic.what,
            version_text(rows[-1].since),
            "; ".join(f"{version_text(row.since)}: {row.source}" for row in rows),
            then.version < now.version,
            partial(_with_rules, values=values),
        )


def _with_rules(kernel: Kernel, values: dict[str, Any]) -> Kernel:
    return replace(kernel, rules=replace(kernel.rules, **values))


def _with_files(kernel: Kernel, files: Array) -> Kernel:
    return replace(kernel, files=files)


def _of_folios(inputs: Inputs, now: Side, then: Side) -> Iterator[Change]:
    """Yield a change for each file system that caches its files in folios of another size."""
    before, after = now.kernel.files, then.kernel.files
    differs = before["large_folios"] != after["large_folios"]
    of_file = np.array(fstypes(inputs.recording))
    for fstype in sorted(set(of_file[differs].tolist())):
        files, rows = before.copy(), differs & (of_file == fstype)
        files["large_folios"][rows] = after["large_folios"][rows]
        since = large_folios_since(fstype)
        yield Change(
            f"files of {fstype} are cached in large folios",
            "" if since is None else version_text(since),
            "mapping_set_large_folios",
            then.version < now.version,
            partial(_with_files, files=files),
        )


def _of_disks(now: Kernel, then: Kernel) -> Iterator[Change]:
    for row, (before, after) in enumerate(zip(now.disks, then.disks, strict=True)):
        kb = after.read_ahead_kb
        if before.read_ahead_kb != kb:
            yield Change(
                f"window of {before.name}: {before.read_ahead_kb:,} to {kb:,} KiB ({after.why})",
                "",
                "",
                False,
                partial(Kernel.with_window, row=row, read_ahead_kb=kb),
            )
        limit = after.max_sectors_kb
        if before.max_sectors_kb != limit:
            yield Change(
                f"largest request of {before.name}: {before.max_sectors_kb:,} to {limit:,} KiB "
                "(default of max_sectors_kb)",
                "",
                "BLK_DEF_MAX_SECTORS, block/blk-settings.c",
                False,
                partial(Kernel.with_limit, row=row, max_sectors_kb=limit),
            )
