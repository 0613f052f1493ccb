"""The fio jobs that measure a disk, all within a minute."""

from __future__ import annotations

from collections.abc import Callable

from foreread.boards.target import Target
from foreread.tracer.calibrate.fio import Job, Place, Seen, measure

_SIZES = (4, 16, 64, 256, 1024)  # KiB
_PAGE_KIB = 4
_DEEP_KIB = 1024  # of requests under way where throughput is measured, but at least two
_MOST_DEEP = 16
# Long enough for 15 slices of a limiter.
_ALONE_S, _DEEP_S = 1.5, 1.0


def jobs(largest_kib: int = _SIZES[-1]) -> list[Job]:
    """Return the jobs: each size at random and in order, alone and with many under way.

    The kernel splits reads of more than ``largest_kib`` into several requests, each at its cost.
    """
    planned = []
    for kib in _sizes(largest_kib):
        depth = min(max(_DEEP_KIB // kib, 2), _MOST_DEEP)
        for sequential in (False, True):
            planned += [Job(kib, sequential, 1, _ALONE_S), Job(kib, sequential, depth, _DEEP_S)]
    return planned


def _sizes(largest_kib: int) -> list[int]:
    """Return the sizes of one request each, up to the largest that the disk takes."""
    sizes = [kib for kib in _SIZES if kib <= largest_kib]
    largest = largest_kib // _PAGE_KIB * _PAGE_KIB
    if len(sizes) < len(_SIZES) and largest not in sizes:
        sizes.append(max(largest, _PAGE_KIB))
    return sizes


def measure_all(
    target: Target, place: Place, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Seen]:
    """Run all jobs; reads in order begin elsewhere each time. Raises CalibrateError."""
    todo = jobs(place.largest_kib)
    measured = []
    for row, job in enumerate(todo):
        progress(row, len(todo))
        measured.append(measure(target, place, job, start=row / len(todo)))
    return measured
