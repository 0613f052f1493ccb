"""The part of a kernel that decides about readahead, and what a recorded start reads under it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.forecast.defaults import DiskUnder
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.linux import model_of
from foreread.analyzer.predict.start import Start
from foreread.boards.base.units import kib_to_pages
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import Limits
from foreread.emulator.linux.rules import Rules, Version
from foreread.emulator.linux.windows import Emulation


@dataclass(frozen=True, eq=False)
class Kernel:
    """Rules, files and disks that decide about readahead.

    ``files`` is the FILE table; ``disks`` are in the order of ``Inputs.disks``.
    """

    rules: Rules
    files: Array
    disks: tuple[DiskUnder, ...]

    def reads_as(self, other: Kernel) -> bool:
        """Return whether a start reads the same pages under both kernels at every window."""
        limits = [disk.max_sectors_kb for disk in self.disks]
        other_limits = [disk.max_sectors_kb for disk in other.disks]
        same = bool((self.files == other.files).all())
        return same and self.rules == other.rules and limits == other_limits

    def with_window(self, row: int, read_ahead_kb: int) -> Kernel:
        """Return the kernel with another window of one disk."""
        disks = list(self.disks)
        disks[row] = replace(disks[row], read_ahead_kb=read_ahead_kb)
        return replace(self, disks=tuple(disks))

    def with_windows_of(self, other: Kernel) -> Kernel:
        """Return the kernel with the windows of another."""
        kernel = self
        for row, disk in enumerate(other.disks):
            kernel = kernel.with_window(row, disk.read_ahead_kb)
        return kernel

    def with_limit(self, row: int, max_sectors_kb: int | None) -> Kernel:
        """Return the kernel with another largest request of one disk."""
        disks = list(self.disks)
        disks[row] = replace(disks[row], max_sectors_kb=max_sectors_kb)
        return replace(self, disks=tuple(disks))


@dataclass(frozen=True, eq=False)
class Side:
    """A kernel with its version and its own windows."""

    version: Version
    kernel: Kernel

    @property
    def model(self) -> str:
        """The kernel as --model names it."""
        return model_of(self.version)


@dataclass(frozen=True)
class Counts:
    """Requests and pages of file data of a start, from all disks."""

    requests: int
    pages: int


def counts(inputs: Inputs, kernel: Kernel) -> Counts:
    """Return the requests and pages of a start under a kernel with its windows."""
    each = [_on_disk(inputs, kernel, row) for row in range(len(inputs.disks))]
    return Counts(sum(requests for requests, _ in each), sum(pages for _, pages in each))


def _on_disk(inputs: Inputs, kernel: Kernel, row: int) -> tuple[int, int]:
    program = inputs.program
    on_disk = (inputs.disk_of_file == row)[program.file_of_operations()]
    part = replace(program, operations=program.operations[on_disk], files=kernel.files)
    machine, limits = _limited(*inputs.machine(row), kernel.disks[row])
    group = np.zeros(len(program.files), np.uint32)
    emulation = Emulation(part, kernel.rules, machine, limits, inputs.extents, group)
    emulated = emulation.counts([kernel.disks[row].window(inputs.recording.page_size)])
    return int(emulated.requests[0, 0]), int(emulated.pages[0, 0])


def start_under(start: Start, kernel: Kernel, row: int) -> Start:
    """Return a prepared start as it runs under a kernel; ``row`` is the row of the start's disk."""
    run = start.run
    machine, limits = _limited(run.machine, run.limits, kernel.disks[row])
    program = replace(run.program, files=kernel.files)
    changed = replace(run, program=program, rules=kernel.rules, machine=machine, limits=limits)
    return replace(start, run=changed)


def _limited(machine: Machine, limits: Limits, disk: DiskUnder) -> tuple[Machine, Limits]:
    """Return machine and limits with the largest request that a kernel gives a disk."""
    kb = disk.max_sectors_kb
    if kb is None:
        return machine, limits
    pages = kib_to_pages(kb, machine.page_size)
    return replace(machine, io_pages=pages), replace(limits, max_sectors_kb=kb)
