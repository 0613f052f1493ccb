"""The parameters of the watched machine that the emulation needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreread.analyzer.ingest.squashfs_blocks import ASSUMED, block_length, unknown_block
from foreread.analyzer.predict.inputs import machine_of
from foreread.boards.base.units import kib_to_pages
from foreread.boards.mounts import MountPoint
from foreread.boards.stack import Stack
from foreread.emulator.linux.filesystems import WITHOUT_WINDOW, has_large_folios
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import Limits
from foreread.emulator.linux.rules import Rules, rules_for, version_of
from foreread.tracer.formats.capture import Squashfs, dev_of


@dataclass(frozen=True)
class FileSystem:
    """A file system on disks: its type and whether its files are in large folios.

    ``window`` is the window of its files in pages; 0 without readahead. ``block_pages`` are the
    pages of a squashfs block; 0 for other file systems.
    """

    fstype: str
    window: int
    large_folios: bool
    block_pages: int


@dataclass(frozen=True)
class Watched:
    """A watched machine; ``file_systems`` are by dev_t; ``doubts`` are assumptions."""

    rules: Rules
    machine: Machine
    limits: Limits
    file_systems: Mapping[int, FileSystem]
    disks: frozenset[int]
    doubts: tuple[str, ...] = ()


def watched(
    kernel: str,
    cpu: str,
    page_size: int,
    long_size: int,
    stacks: Sequence[Stack],
    mounts: Sequence[MountPoint],
    disks: frozenset[int],
    images: Mapping[str, Squashfs],
) -> Watched:
    """Return a machine's description; ``kernel`` is its release, ``cpu`` as in ``uname -m``.

    Sizes are in bytes; ``disks`` are dev_t, ``images`` the known superblocks of squashfs, by
    device. Raises KernelError for an unknown kernel.
    """
    version = version_of(kernel)
    options = {mount.dev: (mount.fstype, mount.options) for mount in mounts}
    file_systems, doubts = {}, []
    for stack in stacks:
        fstype, option = options.get(stack.dev, (stack.file_system, ""))
        length = block_length(images.get(stack.dev), page_size)
        if fstype == "squashfs" and length == ASSUMED:
            doubts.append(unknown_block(stack.mountpoint))
        has_window = stack.read_ahead_kb and fstype not in WITHOUT_WINDOW
        file_systems[dev_of(stack.dev)] = FileSystem(
            fstype=fstype,
            window=kib_to_pages(stack.read_ahead_kb or 0, page_size) if has_window else 0,
            large_folios=long_size == 8 and has_large_folios(fstype, option, version),
            block_pages=length.pages(page_size) if fstype == "squashfs" else 0,
        )
    machine, limits = machine_of(page_size, cpu, {})
    return Watched(rules_for(version), machine, limits, file_systems, disks, tuple(doubts))
