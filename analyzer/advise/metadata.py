"""Metadata that a start reads, and the paths that it does not find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.advise.variant import Variant
from foreread.analyzer.ingest.accesses import of_threads
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array

# System calls that look up a path. foreread records the opens.
OPENS = ("openat", "openat2", "open")
LOOK_UPS = (
    "newfstatat",
    "fstatat64",
    "statx",
    "stat",
    "lstat",
    "stat64",
    "lstat64",
    "access",
    "faccessat",
    "faccessat2",
    "readlink",
    "readlinkat",
)
_MISSING = (-2, -20)  # -ENOENT, -ENOTDIR


@dataclass(frozen=True, eq=False)
class Missing:
    """Calls for paths that do not exist: ``calls`` by name, and when each began and ended.

    ``spans`` has rows of thread id, begin and end (ns). ``seen`` names the calls that the recording
    has with their results, ``unseen`` those it lacks.
    """

    calls: dict[str, int]
    spans: Array
    seen: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def number(self) -> int:
        """Return how many calls there are."""
        return sum(self.calls.values())


def missing_paths(recording: Recording) -> Missing:
    """Return the calls of a recording's application that found no file."""
    names = recording.trace.event_names
    seen = [
        name
        for name in (*OPENS, *LOOK_UPS)
        if {f"syscalls:sys_enter_{name}", f"syscalls:sys_exit_{name}"} <= names
    ]
    calls: Counter[str] = Counter()
    spans = [np.zeros((0, 3), np.int64)]
    for name in seen:
        failed = _failed(recording, name)
        calls[name] += len(failed)
        spans.append(failed)
    # opens: some machines have only one of them. Of the others any that is there is enough to say.
    unseen = tuple(name for name in LOOK_UPS if name not in seen)
    return Missing(+calls, np.concatenate(spans), tuple(seen), unseen)


def _failed(recording: Recording, name: str) -> Array:
    """Return thread, begin and end of the calls of one name that found nothing."""
    read = recording.trace.read_fields
    if read is None:
        return np.zeros((0, 3), np.int64)
    ended = read(f"syscalls:sys_exit_{name}", ("ret",))
    begun = read(f"syscalls:sys_enter_{name}", ())
    failed = np.isin(ended["ret"].astype(np.int64), _MISSING)
    if recording.threads is not None:
        failed &= of_threads(ended, recording.threads)
    rows = []
    by_thread = {pid: np.sort(begun["time_ns"][begun["pid"] == pid]) for pid in set(begun["pid"])}
    for pid, end in zip(
        ended["pid"][failed].tolist(), ended["time_ns"][failed].tolist(), strict=True
    ):
        times = by_thread.get(pid)
        at = -1 if times is None else int(np.searchsorted(times, end)) - 1
        if times is not None and at >= 0:
            rows.append((pid, int(times[at]), end))
    return np.array(rows, np.int64).reshape(-1, 3)


def metadata_steps(variant: Variant) -> Array:
    """Return the steps of the application that read metadata, which no window changes."""
    steps = variant.run.steps
    own = np.isin(steps["thread"], variant.threads) & (steps["thread"] != variant.start.strangers)
    own &= ~np.isin(steps["sector"], np.fromiter(variant.second, np.uint64))
    return np.flatnonzero(own & (steps["operation"] < 0) & (steps["sectors"] > 0))


def steps_within(variant: Variant, spans: Array) -> Array:
    """Return the steps that read metadata within spans of their threads (thread, begin, end)."""
    rows = [row for row, pid, at in _metadata_reads(variant) if _within(spans, pid, at)]
    return np.array(rows, np.int64)


def without_reads(variant: Variant, rows: Array) -> Variant:
    """Return the variant without the reads of some steps; their computing stays."""
    steps = variant.run.steps.copy()
    steps["sectors"][rows] = 0
    return variant.with_run(replace(variant.run, steps=steps))


def _metadata_reads(variant: Variant) -> Iterator[tuple[int, int, int]]:
    """Yield the steps that read metadata, with the thread that asked, and when it was issued."""
    requests = variant.start.requests
    waiting: dict[int, list[int]] = {}
    for row, sector in enumerate(requests["sector"].tolist()):
        waiting.setdefault(sector, []).append(row)
    steps = variant.run.steps
    for step in metadata_steps(variant).tolist():
        rows = waiting.get(int(steps["sector"][step]), [])
        if rows:
            row = rows.pop(0)
            yield step, int(requests["pid"][row]), int(requests["issue_ns"][row])


def _within(spans: Array, pid: int, at: int) -> bool:
    own = spans[spans[:, 0] == pid]
    return bool(((own[:, 1] <= at) & (at <= own[:, 2])).any())
