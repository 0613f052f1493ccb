"""The inode tables of a target's ext4 file systems; as tracer/local/inode_tables.py."""

from __future__ import annotations

from collections.abc import Mapping

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import InodeTables
from foreread.tracer.local import ext4
from foreread.tracer.local.inode_tables import OFF, Places, devices_of
from foreread.tracer.remote.job import Job
from foreread.tracer.remote.places import Disk, node_of


def places_on(job: Job, devices: Devices) -> dict[str, Places]:
    """Return bytes of a block, and places of the tables, by the superblock's "major:minor"."""
    found = {}
    for dev in devices_of(devices):
        node = node_of(job, dev)
        in_use = ext4.inode_tables(Disk(job, node).read) if node is not None else None
        if in_use is not None:
            found[dev] = in_use
    return found


def knobs_off(places: Mapping[str, Places], devices: Devices) -> list[tuple[str, str]]:
    """Return the knobs that turn readahead in known tables off, with their value."""
    return [(knob, OFF) for dev, knob in devices_of(devices).items() if dev in places]


def tables_off(
    places: Mapping[str, Places],
    devices: Devices,
    before: Mapping[str, int],
    in_force: Mapping[str, int],
) -> dict[str, InodeTables]:
    """Return the tables whose knob had these values before and during the run."""
    return {
        dev: InodeTables(
            block_bytes=places[dev][0],
            read_ahead_blocks_before=before[knob],
            read_ahead_blocks=in_force[knob],
            tables=places[dev][1],
        )
        for dev, knob in devices_of(devices).items()
        if dev in places and knob in before and knob in in_force
    }
