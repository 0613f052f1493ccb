"""Facts about each layer of a stack that matter when its window is set, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from foreread.boards.attribute import attribute
from foreread.boards.backing import file_system_type
from foreread.boards.mounts import MountPoint
from foreread.boards.stack import Image

# By the start of dm/uuid, which the device's creator chooses (cryptsetup, lvm2).
_MAPPED = {
    "CRYPT-VERITY-": "dm-verity",
    "CRYPT-INTEGRITY-": "dm-integrity",
    "CRYPT-": "dm-crypt",
    "LVM-": "LVM",
    "mpath-": "multipath",
}
OF_LAYER = {
    "dm-verity": "it also reads its hash tree, a block for each 128 of data, in "
    "chunks of /sys/module/dm_verity/parameters/prefetch_cluster bytes, whatever the window is",
    "dm-crypt": "it decrypts requests in parts of at most max_read_size bytes (128 KiB by default "
    "since Linux 6.12), so that a larger window makes more requests",
}
OF_FILE_SYSTEM = {
    "btrfs": "btrfs has a window of its own (4 MiB by default); read_ahead_kb of its disks has no "
    "effect on its files",
    "fuse": "the window is of the FUSE connection; its server allowed at most the value found when "
    "it was mounted, and the time of a read is the server's",
    "fuseblk": "the window is of the FUSE connection, not of the disk that its server reads",
    "virtiofs": "the window is of the virtiofs mount; the host reads its disk with a window of "
    "its own",
    "nfs": "the window is of the NFS mount, and the time of a read is that of network and server",
    "9p": "the window is of the 9p mount: its msize when it was mounted",
    "squashfs": "squashfs reads whole compressed blocks (128 KiB by default) at any window, even "
    "0; a window that reaches into the next block reads all of it",
    "erofs": "compressed EROFS reads whole clusters at any window, even 0",
    "xfs": "with a realtime device, xfs begins with the larger of both windows (Linux 7.2)",
}


def words(
    mount: MountPoint, device: str, layers: Sequence[str], images: Sequence[Image], sys: Path
) -> list[str]:
    """Return the facts about a stack; ``device`` has the window that counts."""
    return list(_words(mount, device, layers, images, sys))


def _words(
    mount: MountPoint, device: str, layers: Sequence[str], images: Sequence[Image], sys: Path
) -> Iterator[str]:
    kind = file_system_type(mount)
    fact = OF_FILE_SYSTEM.get("nfs" if kind == "nfs4" else kind)
    if fact:
        yield fact
    if device in layers and (sys / "dev/block" / mount.dev / "partition").exists():
        yield f"the window is of the whole disk {device}: its other partitions share it"
    for name in layers:
        yield from _of_disk(sys / "block" / name, name == device, layers)
    for image in images:
        yield _of_image(image)


def _of_disk(place: Path, decides: bool, layers: Sequence[str]) -> Iterator[str]:
    kind = layer_kind(place)
    if not kind:
        return
    under = [name for name in layers if (place / "slaves" / name).exists()]
    if decides:
        below = f"; those of the disks below ({', '.join(under)}) do not count" if under else ""
        yield f"the window of {place.name} ({kind}) counts{below}"
    if kind in OF_LAYER:
        yield f"{place.name}: {OF_LAYER[kind]}"


def layer_kind(place: Path) -> str:
    """Return the kind of a stacked disk, from its directory in /sys/block; "" for all others."""
    uuid = attribute(place / "dm/uuid")
    if (place / "dm").is_dir():
        kinds = [kind for start, kind in _MAPPED.items() if uuid.startswith(start)]
        return kinds[0] if kinds else "device mapper"
    level = attribute(place / "md/level")
    return f"md {level}" if level else ""


def _of_image(image: Image) -> str:
    if not image.knob:
        return f"{image.file} is read through a page cache whose window is not known"
    reader = image.disk or "EROFS"
    anew = "attached" if image.disk else "mounted"
    return (
        f"{reader} reads {image.file} with a second window, that of {image.knob} when the image "
        f"was {anew}: a later value counts only once it is {anew} anew"
    )
