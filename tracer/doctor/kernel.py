"""The readahead generation of a kernel, and what a capture lacks without each event."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foreread.tracer.backends.base import INDISPENSABLE
from foreread.tracer.doctor.tunable import Finding


@dataclass(frozen=True)
class Generation:
    """A family of kernels that read ahead by the same rules (mm/readahead.c)."""

    name: str
    since: tuple[int, int, int]
    until: str
    rules: str


GENERATIONS: tuple[Generation, ...] = (
    Generation("before A", (0, 0, 0), "2.6.10", "windows that grow and shrink; not emulated"),
    Generation("A", (2, 6, 11), "2.6.22", "current and ahead window, page_cache_readahead"),
    Generation("B", (2, 6, 23), "5.17", "on-demand readahead"),
    Generation("C1", (5, 18, 0), "6.10", "on-demand readahead in folios"),
    Generation("C2", (6, 11, 0), "6.16", "synchronous and asynchronous readahead apart"),
    Generation("C3", (6, 17, 0), "now", "aligned windows, executable mappings read exactly"),
)

# The effect of a missing event, by prefix of its name; the longest match counts.
_COSTS = {
    INDISPENSABLE: "nothing can be recorded",
    "filemap:mm_filemap_delete": "pages that were evicted and read again count as one access",
    "filemap:": "a capture with a window other than 0 misses accesses",
    "readahead:": "reads requested in advance (fadvise, madvise, readahead) count as accesses",
    "block:block_bio_queue": "bios, which throttled devices are charged by, are not counted",
    "block:block_rq_issue": "requests of the recorded run are not counted",
    "block:block_rq_complete": "the capture does not show the device's times",
    "sched:": "the command's processes cannot be distinguished from others",
    "sched:sched_switch": "CPU time of threads cannot be distinguished from waiting",
    "sched:sched_waking": "the thread that woke another is known less exactly, from sched_wakeup",
    "task:": "a child is assumed to share its parent's open files and mappings, as threads do",
    "syscalls:": "how open files are read (advice, mappings, positions) is unknown",
}


def generation_of(release: str) -> Generation | None:
    """Return the readahead generation of a kernel ``release`` (uname -r), None if not a version."""
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", release)
    if not match:
        return None
    version = (int(match[1]), int(match[2]), int(match[3] or 0))
    return next(generation for generation in reversed(GENERATIONS) if generation.since <= version)


def cost_of_missing(event: str) -> str:
    """Return what a capture lacks on a kernel without ``event`` ("system:name")."""
    fitting = [prefix for prefix in _COSTS if event.startswith(prefix)]
    return _COSTS[max(fitting, key=len)] if fitting else "nothing that a prediction needs"


def kernel_finding(release: str) -> Finding:
    """Return which generation of readahead the kernel ``release`` has."""
    generation = generation_of(release)
    if generation is None:
        return Finding(
            "kernel",
            False,
            f"{release!r} is not a version",
            "name the model with --model linux-X.Y",
        )
    span = f"{'.'.join(map(str, generation.since))} to {generation.until}"
    detail = f"{release}: readahead generation {generation.name} ({span}): {generation.rules}"
    is_emulated = generation.name != "before A"
    return Finding(
        "kernel", is_emulated, detail, "" if is_emulated else "predict with --model fixed"
    )
