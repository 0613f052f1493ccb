"""What the shell file of a scenario's load (tracer/remote/load.sh) is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint, mount_of
from foreread.tracer.error import RecordError
from foreread.tracer.trials.trial import Scenario

NO_LOAD = {"scenario": "idle", "load_path": "", "load_mib": "0", "load_disk": ""}


def load_settings(scenario: Scenario, disks: Sequence[str], devices: Devices) -> dict[str, str]:
    """Return the shell variables of the load; ``disks``: those of the start. Raises RecordError."""
    if scenario.kind == "idle":
        return NO_LOAD
    path = scenario.path
    if scenario.kind == "reader":
        path = path or f"/dev/{disks[0]}"
    if scenario.kind == "writer":
        path = path or str(_writable(disks[0], devices).mountpoint)
    return {
        "scenario": scenario.kind,
        "load_path": path,
        "load_mib": str(scenario.mib),
        "load_disk": _disk_of(path, devices) or disks[0],
    }


def _disk_of(path: str, devices: Devices) -> str | None:
    """Return the disk that counts the reads and writes of ``path``."""
    if path.startswith("/dev/") or not path:
        return None
    return next(iter(devices.disks_of_path(Path(path))), None)


def _writable(disk: str, devices: Devices) -> MountPoint:
    """Return where a file system of the disk is mounted to be written to."""
    for mount in devices.mounts:
        seen = mount_of(Path(mount.mountpoint), devices.mounts, follow=False) == mount
        if seen and disk in devices.disks_of_superblock(mount.dev) and _is_writable(mount):
            return mount
    raise RecordError(
        f"no file system of {disk} is mounted writable",
        "name a folder of the disk with --scenario writer:FOLDER, or choose another scenario",
    )


def _is_writable(mount: MountPoint) -> bool:
    return "rw" in mount.options.split(",") and "rw" in mount.super_options.split(",")
