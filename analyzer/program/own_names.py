"""Which files a start looks up by the very name that a prefetch list has.

Of two processes that look the same name up, the second sleeps until the first has found it
(d_alloc_parallel, fs/dcache.c). Of two that look up different names in one folder, such as a link
and the library that it leads to, both wait for the folder's block, and go on in the order in which
they asked for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Table

_OPEN, _EXEC = "foreread:openat", "sched:sched_process_exec"


def own_names(
    recording: Recording, requests: Table, sectors: Mapping[int, Sequence[int]]
) -> frozenset[int]:
    """Return the files (rows) that were being looked up by their own name at a last read.

    ``sectors`` are those read when a file was opened. Its last read is within an open of its path,
    or it is of a program that was executed by its path. Other files, and all of a recording without
    paths, are looked up by another name, or were read by something else, such as a stat.
    """
    opened, executed = _calls(recording, _OPEN, "path"), _calls(recording, _EXEC, "filename")
    columns = (requests[name].tolist() for name in ("sector", "issue_ns", "pid"))
    reader: dict[int, tuple[int, int]] = {}
    for sector, issued, thread in zip(*columns, strict=True):
        reader.setdefault(sector, (issued, thread))
    files = set()
    for file, own in sectors.items():
        if not own or own[-1] not in reader:
            continue
        when, pid = reader[own[-1]]
        path = recording.paths[file]
        calls = opened.get(pid, [])
        at = bisect_right(calls, when, key=lambda call: call[0])
        is_open = at > 0 and calls[at - 1][1] == path
        if is_open or path in {name for _, name in executed.get(pid, [])}:
            files.add(file)
    return frozenset(files)


def _calls(recording: Recording, event: str, field: str) -> dict[int, list[tuple[int, str]]]:
    """Return when each thread called something, and with which path, in order."""
    read, by_pid = recording.trace.read_fields, defaultdict(list)
    if read is None or event not in recording.trace.event_names:
        return {}
    fields = read(event, (field,))
    for when, pid, path in zip(
        fields["time_ns"].astype(np.int64).tolist(),
        fields["pid"].tolist(),
        fields[field],
        strict=True,
    ):
        by_pid[pid].append((when, bytes(path).decode(errors="replace")))
    return {pid: sorted(calls) for pid, calls in by_pid.items()}
