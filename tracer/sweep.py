"""The SWEEP file: measured cold runs at every window (the manual method)."""

from __future__ import annotations

import msgspec

SCHEMA = 1


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All runs at one window, in the order they were made; lists are of one length.

    ``requests`` and ``pages`` are reads that the devices served during the run, metadata
    included (from their I/O statistics).
    """

    read_ahead_kb: int
    seconds: list[float]
    requests: list[int]
    pages: list[float]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """One sweep: where it ran, what was run, and its points by rising window."""

    schema: int = SCHEMA
    foreread: str = ""
    created: str = ""
    kernel: str = ""
    page_size: int = 4096
    command: list[str] = []
    devices: list[str] = []  # names of the disks whose window was set
    default_read_ahead_kb: int | None = None  # as found before the sweep
    complete: bool = True  # False: interrupted, points lack runs
    notes: list[str] = []
    points: list[Point]
