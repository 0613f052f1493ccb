"""The metadata of a recorded run, with whatever a test wants to be different."""

from __future__ import annotations

from tracer.formats.capture import Capture, Cold, Device, Host, Mount

ROOT_PID = 100


def capture_of(**changes):
    base = {
        "foreread": "0",
        "created": "2026-01-01T00:00:00+00:00",
        "backend": "tracefs",
        "host": Host(
            kernel="6.18.0",
            version="#1",
            machine="x86_64",
            page_size=4096,
            byte_order="little",
            long_size=8,
            cpu_count=2,
            memory_kib=1 << 20,
        ),
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
        "devices": [
            Device(
                dev="7:0",
                name="loop0",
                filesystems=["7:0", "7:1"],
                size_bytes=1 << 30,
                read_ahead_kb_before=128,
                read_ahead_kb=0,
                queue={},
            )
        ],
        "mounts": [Mount(dev="7:0", mountpoint="/", fstype="ext4", source="", options="")],
    }
    return Capture(**{**base, **changes})
