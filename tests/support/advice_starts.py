"""Starts for the tests of advice, whose seconds can be worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from capture_builder import recording_of
from programs import PAGE, Script
from timed_runs import run_of

from foreread.analyzer.advise.variant import Variant, variant_of
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import REQUESTS, Table
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.start import Start
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.steps import CpuCost, Run

DEVICE = FixedCost(1000, 100)  # ns a request and a KiB: 1,400 for a page


def taken_of(recording: Recording, run: Run) -> Inputs:
    """Return what a run is made from: files that are all on one disk."""
    program = run.program
    times = np.zeros(len(program.operations), np.uint64)
    disk_of_file = np.zeros(len(program.files), np.int64)
    return Inputs(recording, program, times, run.layout.extents, [7 << 20], disk_of_file, [])


def start_of(
    script: Script, rows: list[dict[str, Any]], accesses: list[tuple[int, int]], **changes: Any
) -> Start:
    """Return a start of a script's operations; ``accesses`` are (file row, page)."""
    sizes = [file[0] for file in script.files]
    names = tuple(f"/lib/file{row}" for row in range(len(sizes)))
    base: dict[str, Any] = {"paths": names, "entries": (None,) * len(sizes)}
    recording = recording_of(accesses, sizes, **{**base, **changes})
    run = run_of(script, rows, tail_ns=30)
    return Start(
        inputs=taken_of(recording, run),
        disk=7 << 20,
        run=run,
        device=DEVICE,
        cpu=CpuCost(),
        cpu_samples=None,
        unplugged_ns=0.0,
        notes=(),
        requests=Table.empty(REQUESTS),
    )


def reading(pages: list[int], window: int = 0, size: int = 64) -> Variant:
    """Return a start that reads single pages of one file, and computes 10 ns before each."""
    script = Script()
    handle = script.open(script.file(size))
    for page in pages:
        script.read(handle, page)
    rows = [{"operation": 0}, *({"operation": 1 + at, "cpu_ns": 10} for at in range(len(pages)))]
    return variant_of(start_of(script, rows, [(0, page) for page in pages]), window)


def faulting(pages: list[int], window: int = 0, size: int = 128, flags: int = 0) -> Variant:
    """Return a start that touches pages of one mapped file, and computes 10 ns before each."""
    script = Script()
    handle = script.open(script.file(size))
    mapping = script.map(handle, 0, size, flags)
    for page in pages:
        script.touch(mapping, page)
    rows = [{"operation": 0}, *({"operation": 1 + at, "cpu_ns": 10} for at in range(len(pages)))]
    return variant_of(start_of(script, rows, [(0, page) for page in pages]), window)


__all__ = ["DEVICE", "PAGE", "faulting", "reading", "start_of"]
