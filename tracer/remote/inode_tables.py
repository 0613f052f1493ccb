"""Where the inode tables of a target's ext4 file systems are."""

from __future__ import annotations

from foreread.boards.device import Devices
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.places import Disk, node_of
from foreread.tracer.runs import ext4
from foreread.tracer.runs.inode_tables import Places, devices_of


def places_on(job: Job, devices: Devices) -> dict[str, Places]:
    """Return bytes of a block, and places of the tables, by the superblock's "major:minor"."""
    places = {}
    for dev in devices_of(devices):
        node = node_of(job, dev)
        in_use = ext4.inode_tables(Disk(job, node).read) if node is not None else None
        if in_use is not None:
            places[dev] = in_use
    return places
