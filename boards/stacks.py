"""Resolves the stack under a file: the device with the window that counts, its knob, or why none.

The rules are in boards/backing.py. A stacked disk (loop, dm, md) passes requests on: the windows
below it do not count, except for a loop device that reads its image through the page cache
(drivers/block/loop.c, lo_rw_aio without LO_FLAGS_DIRECT_IO), as EROFS on a file does
(fs/erofs/fileio.c). An overlay opens the file of a layer (fs/overlayfs/file.c, ovl_open_realfile):
the window and the page cache are the layer's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foreread.boards.backing import ON_MTD, Backing, file_system_type
from foreread.boards.device import Devices, image_of
from foreread.boards.mounts import MountPoint
from foreread.boards.overlay import layer_paths
from foreread.boards.stack import PREFETCH, Image, Stack
from foreread.boards.stack_words import words
from foreread.boards.window import PREFIX

_DEVICE = "name the disk with --device NAME"
IN_MEMORY = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs"})
WITHOUT = {
    "ubifs": "UBIFS reads one page at a time, while the program waits: it switches readahead off",
    "zfs": "ZFS has its own cache and its own prefetch (module parameters zfs_*)",
}
WITHOUT_ON_MTD = "file systems on MTD read one page at a time: the kernel gives them no window"


@dataclass(frozen=True)
class _Refused:
    unknown: str
    remedy: str


def stacks(devices: Devices) -> list[Stack]:
    """Return the stacks of all mounted file systems that read from a device, each once."""
    seen = {mount.dev: mount for mount in devices.mounts}
    return [_stack(devices, mount) for mount in seen.values() if _reads(devices, mount)]


def stack_of_path(devices: Devices, path: Path) -> Stack | None:
    """Return the stack of the file system that contains ``path``; None if there is none."""
    mount = devices.mount_of(path)
    return _stack(devices, mount) if mount else None


def file_stacks(devices: Devices, path: Path) -> list[Stack]:
    """Return the stacks that may hold the file at ``path``: an overlay's layers, else one."""
    mount = devices.mount_of(path)
    return _of_files(devices, mount, frozenset()) if mount else []


def _of_files(devices: Devices, mount: MountPoint, above: frozenset[str]) -> list[Stack]:
    below = [m for m in map(devices.mount_of, layer_paths(mount)) if m and m.dev not in above]
    below = [layer for layer in below if layer.dev != mount.dev]
    file_stacks_below = [
        stack for m in below for stack in _of_files(devices, m, above | {mount.dev})
    ]
    return list({stack.dev: stack for stack in file_stacks_below}.values()) or [
        _stack(devices, mount)
    ]


def _reads(devices: Devices, mount: MountPoint) -> bool:
    kind = file_system_type(mount)
    has_stack = kind in WITHOUT or kind == "overlay" or mount.mountpoint == "/"
    return has_stack or bool(devices.disks_of_superblock(mount.dev) or devices.backing(mount).names)


def _stack(devices: Devices, mount: MountPoint) -> Stack:
    nearest = devices.disks_of_superblock(mount.dev)
    layers = list(dict.fromkeys([*nearest, *(x for disk in nearest for x in devices.below(disk))]))
    images = _images(devices, mount, layers)
    stack = Stack(
        dev=mount.dev,
        mountpoint=mount.mountpoint,
        file_system=mount.fstype,
        device="",
        layers=layers,
        disks=[disk for disk in layers if not devices.below(disk)],
        images=images,
        over=devices.layers(mount),
    )
    if mount.fstype == "overlay":
        return _overlay(stack)
    backing = devices.backing(mount)
    refused = _refused(devices, mount, backing)
    facts = words(mount, backing.names[0] if backing.names else "", layers, images, devices.sys)
    if refused:
        return _changed(stack, facts=facts, unknown=refused.unknown, remedy=refused.remedy)
    knob, device, lasting = _knob(devices, mount, backing)
    facts = words(mount, device, layers, images, devices.sys)
    kb = devices.window(knob)
    return _changed(stack, device=device, knob=knob, lasting=lasting, read_ahead_kb=kb, facts=facts)


def _overlay(stack: Stack) -> Stack:
    fact = (
        "the page cache has the files of the overlay's layers: the window of the layer that holds "
        "a file counts"
    )
    if stack.over:
        return _changed(stack, facts=[fact])
    unknown = "the overlay's layers are not mounted anywhere that can be seen"
    return _changed(stack, facts=[fact], unknown=unknown, remedy=_DEVICE)


def _changed(stack: Stack, **changes: object) -> Stack:
    values = {name: getattr(stack, name) for name in stack.__struct_fields__}
    return Stack(**{**values, **changes})


def _refused(devices: Devices, mount: MountPoint, backing: Backing) -> _Refused | None:
    """Return why no window is known to count; None if a window counts."""
    return _by_type(mount, backing) or _by_option(mount) or _by_device(devices, mount, backing)


def _by_type(mount: MountPoint, backing: Backing) -> _Refused | None:
    kind = file_system_type(mount)
    if kind in WITHOUT:
        return _Refused(WITHOUT[kind], PREFETCH)
    if kind in ON_MTD and "mtd-0" in backing.names:
        return _Refused(WITHOUT_ON_MTD, PREFETCH)
    if kind in IN_MEMORY:
        return _Refused(f"{kind} is in memory: nothing is read", "record a program on a disk")
    return None


def _by_option(mount: MountPoint) -> _Refused | None:
    options = {*mount.options.split(","), *mount.super_options.split(",")}
    if options & {"dax", "dax=always"}:
        return _Refused(
            "the files are mapped from the device itself (dax): no page is read ahead",
            "mount it without dax to use the page cache",
        )
    if mount.fstype == "9p" and not _is_cached_9p(options):
        return _Refused(
            "9p without a cache asks its server at each read",
            "mount it with the option cache=readahead, or cache=loose before Linux 6.4",
        )
    return None


def _by_device(devices: Devices, mount: MountPoint, backing: Backing) -> _Refused | None:
    kind, names = file_system_type(mount), backing.names
    if len(names) > 1:
        return _Refused(
            f"sysfs does not say which of {', '.join(names)} belongs to {mount.mountpoint}",
            f"unmount the other {kind}, or try each of them: foreread sweep",
        )
    if not names and not devices.disk_of_dev(mount.dev):
        return _Refused(
            f"foreread does not know which device {kind} on {mount.mountpoint} reads from",
            PREFETCH,
        )
    return None


def _is_cached_9p(options: set[str]) -> bool:
    """Return whether 9p shows a cache: "cache=0x5", before Linux 6.4 "loose" (fs/9p/v9fs.c)."""
    shown = [word.partition("=")[2] for word in options if word.startswith("cache=")]
    return bool(options & {"loose", "fscache", "mmap"} or {*shown} - {"none", "0", "0x0"})


def _knob(devices: Devices, mount: MountPoint, backing: Backing) -> tuple[str, str, str]:
    """Return the knob, its device, and the name of the knob that holds on every boot."""
    if not backing.names:
        disk = devices.disk_of_dev(mount.dev) or ""
        knob = f"/sys/block/{disk}/queue/read_ahead_kb"
        return knob, disk, knob
    (name,) = backing.names
    lasting = f"{PREFIX}{mount.mountpoint}"
    if backing.uuid:
        lasting = f"/sys/fs/btrfs/{backing.uuid}/bdi/read_ahead_kb"
    return f"/sys/class/bdi/{name}/read_ahead_kb", name, lasting


def _images(devices: Devices, mount: MountPoint, layers: list[str]) -> list[Image]:
    """Return the image files that are read through the page cache."""
    image_files = [(disk, file) for disk in layers if (file := devices.buffered_image(disk))]
    direct = "directio" in mount.super_options.split(",")
    if not direct and (file := image_of(mount)):
        image_files.append(("", file))
    return [
        Image(disk=disk, file=file, knob=_image_knob(devices, file)) for disk, file in image_files
    ]


def _image_knob(devices: Devices, file: str) -> str:
    mount = devices.mount_of(Path(file))
    if mount is None or mount.fstype == "overlay" or file.endswith(" (deleted)"):
        return ""
    backing = devices.backing(mount)
    if _refused(devices, mount, backing):
        return ""
    return _knob(devices, mount, backing)[0]
