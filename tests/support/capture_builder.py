"""Captures and recordings of a plain run, with whatever a test wants to be different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from foreread.analyzer.ingest.recording import Recording, Trace
from foreread.analyzer.ingest.tables import ACCESSES, EVENTS, FILES, REQUESTS, Schema, Table
from foreread.boards.stack import Stack
from foreread.tracer.formats.capture import NO_METADATA, Capture, Cold, Device, Host, Mount

ROOT_PID = 100
PAGE = 4096


def host_of(**changes: Any) -> Host:
    """Return a machine of two processors with Linux 6.18."""
    base: dict[str, Any] = {
        "kernel": "6.18.0",
        "version": "#1",
        "machine": "x86_64",
        "page_size": PAGE,
        "byte_order": "little",
        "long_size": 8,
        "cpu_count": 2,
        "memory_kib": 1 << 20,
    }
    return Host(**{**base, **changes})


def device_of(dev: str = "7:0", name: str = "loop0", **changes: Any) -> Device:
    """Return a disk of 1 GiB without a readahead window during the run, of 128 KiB before it."""
    base: dict[str, Any] = {
        "dev": dev,
        "name": name,
        "filesystems": [],
        "size_bytes": 1 << 30,
        "read_ahead_kb_before": 128,
        "read_ahead_kb": 0,
        "queue": {},
    }
    return Device(**{**base, **changes})


def stack_of(dev: str = "7:0", device: str = "loop0", **changes: Any) -> Stack:
    """Return a file system on /, whose window is that of the disk ``device``, 128 KiB."""
    knob = f"/sys/block/{device}/queue/read_ahead_kb"
    base: dict[str, Any] = {
        "dev": dev,
        "mountpoint": "/",
        "file_system": "ext4",
        "device": device,
        "knob": knob,
        "lasting": knob,
        "read_ahead_kb": 128,
        "layers": [device],
        "disks": [device],
    }
    return Stack(**{**base, **changes})


def capture_of(**changes: Any) -> Capture:
    """Return what is known of a run of ``app`` by ROOT_PID, on one disk, from time 0 on."""
    base: dict[str, Any] = {
        "foreread": "0",
        "created": "2026-01-01T00:00:00+00:00",
        "backend": "tracefs",
        "host": host_of(),
        "command": ["app"],
        "cwd": "/",
        "pid": ROOT_PID,
        "exit_status": 0,
        "ended_by": "exit",
        "wall_seconds": 1.0,
        "start_ns": 0,
        "end_ns": 1 << 62,
        "clock": "mono",
        "read_ahead_kb": 0,
        "events": [],
        "events_missing": [],
        "lost": {},
        "cold": Cold(proven=True, how="", resident_pages=0, resident=[]),
        "devices": [device_of(filesystems=["7:0", "7:1"])],
        "mounts": [Mount(dev="7:0", mountpoint="/", fstype="ext4", source="", options="")],
    }
    return Capture(**{**base, **changes})


def table_of(schema: Schema, rows: int, **columns: Any) -> Table:
    """Return a table with these columns; the others are zero."""
    table = Table.empty(schema, rows)
    for name, values in columns.items():
        table[name][:] = values
    return table


def recording_of(
    accesses: Sequence[tuple[int, int]], sizes: Sequence[int], **changes: Any
) -> Recording:
    """Return a recording of (file row, page) accesses, at 1 ns, 2 ns and so on.

    Its capture has no facts. ``sizes`` are those of the files in bytes, -1 where unknown.
    """
    rows = [row for row, _ in accesses]
    base: dict[str, Any] = {
        "trace": Trace("perf.data", Table.empty(EVENTS)),
        "capture": NO_METADATA,
        "accesses": table_of(
            ACCESSES,
            len(accesses),
            file=rows,
            page=[page for _, page in accesses],
            time_ns=np.arange(len(accesses)) + 1,
        ),
        "requests": Table.empty(REQUESTS),
        "files": table_of(
            FILES,
            len(sizes),
            dev=7 << 20,
            ino=range(len(sizes)),
            size_bytes=sizes,
            accessed=[len({page for row, page in accesses if row == r}) for r in range(len(sizes))],
        ),
        "paths": (None,) * len(sizes),
        "page_size": PAGE,
        "kernel": "6.1.0",
        "recorded_read_ahead_kb": 0,
        "contaminated": False,
        "counts": {},
        "devices": {},
    }
    return Recording(**{**base, **changes})
