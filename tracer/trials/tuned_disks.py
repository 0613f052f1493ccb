"""The disks of a trial: which are tuned, and of which the counters are read."""

from __future__ import annotations

from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.mounts import mount_of
from foreread.boards.remount import remountable
from foreread.boards.stacks import stack_of_path
from foreread.tracer.error import RecordError
from foreread.tracer.trials.trial import TrialOptions


def disks_to_tune(options: TrialOptions, devices: Devices, executable: Path) -> list[str]:
    """Return the disks on which a user would change settings for this application.

    Those that hold the file system of its executable and of every path given, or exactly those
    named; the settings of all others stay as they are.
    """
    if options.devices:
        return [devices.disk(name).name for name in options.devices]
    paths = [executable, *options.paths]
    disks = [disk for path in paths for disk in devices.disks_of_path(path)]
    if not disks:
        where = f"the file system of {paths[0]} is not on a disk of its machine"
        raise RecordError(
            f"{where}{_window(devices, paths[0])}",
            "name the disk with --device NAME",
        )
    return list(dict.fromkeys(disks))


def _window(devices: Devices, path: Path) -> str:
    """Return which window counts for a file without a disk, or why none does."""
    stack = stack_of_path(devices, path)
    if stack is None:
        return ""
    return f"; {stack.unknown or f'its window is {stack.knob}, which script and predict know'}"


def mounted_on(disks: list[str], devices: Devices, executable: Path) -> str:
    """Return the mount point of the file system whose options a user would change, or "".

    It is the file system of the executable if it is on these disks, otherwise the first that is.
    """
    first = mount_of(executable, devices.mounts, follow=False)
    on_them = [
        mount
        for mount in [*filter(None, [first]), *devices.mounts]
        if set(disks) & set(devices.disks_of_superblock(mount.dev))
    ]
    return remountable(devices.mounts, on_them)


def disks_to_count(disks: list[str], devices: Devices) -> list[str]:
    """Return the members of ``disks`` that no other member is built on.

    Otherwise a read of a loop or dm device would be counted twice.

    Reads by other processes from these disks are counted too.
    """
    below = {lower for disk in disks for lower in devices.below(disk)}
    return [disk for disk in disks if disk not in below]
