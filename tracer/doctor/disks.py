"""The disks of a machine and the windows that count for its files, as doctor shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.stack import Stack
from foreread.boards.stacks import IN_MEMORY, file_stacks, stacks
from foreread.tracer.doctor.tunable import Finding

_WITHOUT_OWN_DATA = ("loop", "ram", "zram")


@dataclass(frozen=True)
class SeenDisk:
    """A disk with its window, and what decides on the window that its kernel gives it.

    ``lowest``: the disks that it is made of, itself if it is not made of others.
    """

    name: str
    model: str
    read_ahead_kb: int
    queue: Mapping[str, str]
    lowest: Sequence[str]

    @property
    def knob(self) -> str:
        """The file with the window."""
        return f"/sys/block/{self.name}/queue/read_ahead_kb"


@dataclass(frozen=True)
class SeenMount:
    """A mounted file system that has a window of its own: btrfs, NFS, FUSE and others."""

    name: str  # of its backing device
    mountpoint: str
    file_system: str
    knob: str
    read_ahead_kb: int
    members: int  # disks that it is on


def seen_disks(devices: Devices) -> list[SeenDisk]:
    """Return the disks under mounted file systems, and all others that are not images or memory."""
    names = devices.mounted()
    entries = sorted((devices.sys / "block").glob("*"))
    names += [entry.name for entry in entries if not entry.name.startswith(_WITHOUT_OWN_DATA)]
    disks = []
    for name in dict.fromkeys(names):
        kb = devices.window(f"/sys/block/{name}/queue/read_ahead_kb")
        with suppress(LookupError):  # unplugged since
            disk = devices.disk(name)
            if kb is not None and disk.size_bytes:
                below = devices.below(name)
                lowest = [entry for entry in below if not devices.below(entry)] or [name]
                disks.append(SeenDisk(name, disk.model, kb, devices.queue(name), lowest))
    return disks


def stack_findings(devices: Devices) -> list[Finding]:
    """Return which windows count for the files of the root file system, an overlay's layers."""
    windows = file_stacks(devices, Path("/"))
    return [_stack_finding(stack, len(windows) > 1) for stack in windows]


def _stack_finding(stack: Stack, is_layer: bool) -> Finding:
    name = f"window of {stack.mountpoint}"
    files = " on ".join([stack.file_system, *stack.layers])
    if is_layer and stack.file_system in IN_MEMORY:  # as routers and live systems have it
        return Finding(name, True, f"{files}: {stack.unknown}")
    if stack.unknown:
        return Finding(name, False, f"{files}: {stack.unknown}", stack.remedy)
    facts = "".join(f"; {fact}" for fact in stack.facts)
    return Finding(name, True, f"{files}: {stack.knob}, now {stack.read_ahead_kb}{facts}")


def seen_mounts(devices: Devices) -> list[SeenMount]:
    """Return the mounted file systems that have a window of their own."""
    return [
        SeenMount(
            stack.device,
            stack.mountpoint,
            stack.file_system,
            stack.knob,
            stack.read_ahead_kb,
            max(len(stack.disks), 1),
        )
        for stack in stacks(devices)
        if stack.knob.startswith("/sys/class/bdi/") and stack.read_ahead_kb is not None
    ]
