"""What the squashfs of a target are mounted from, and the options of its kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import structs

from foreread.boards.mounts import MountPoint
from foreread.tracer.formats.capture import Squashfs
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.machine import Machine
from foreread.tracer.remote.places import Disk, node_of
from foreread.tracer.runs.kernel_options import KERNEL_OPTIONS, parse_options, with_huge_pages
from foreread.tracer.runs.squashfs import SUPERBLOCK_BYTES, parse_superblock, squashfs_devices


def images_on(
    job: Job, mounts: Sequence[MountPoint], sizes: Mapping[str, Squashfs], read: Collection[str]
) -> dict[str, Squashfs]:
    """Return what each squashfs is mounted from, by device.

    ``sizes``: known sizes of the visible file systems. The superblock of each that is ``read``
    (devices) is looked at, too.
    """
    images = {**{dev: Squashfs() for dev in squashfs_devices(mounts)}, **sizes}
    return {dev: _image(job, dev, image) if dev in read else image for dev, image in images.items()}


def options_on(job: Job, machine: Machine) -> dict[str, str]:
    """Return the KERNEL_OPTIONS of the target, as far as it lets them be read."""
    answer = job.ask("kernel_options", *KERNEL_OPTIONS, step="reading its kernel's configuration")
    options = parse_options(fact.value for fact in answer if fact.key == "option")
    return with_huge_pages(options, not machine.huge_pages)


def _image(job: Job, dev: str, seen: Squashfs) -> Squashfs:
    node = node_of(job, dev)
    raw = Disk(job, node).read([0], SUPERBLOCK_BYTES).get(0, b"") if node else b""
    block, compressor = parse_superblock(raw)
    return structs.replace(seen, block_bytes=block or seen.block_bytes, compressor=compressor)
