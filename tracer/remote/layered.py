"""The cached pages of files on an overlay, under the inodes of its layers, as a trace has them.

The page cache has the inode of the layer. Since Linux 6.8 /proc/PID/maps shows the inode of the
overlay (file_user_inode, fs/proc/task_mmu.c); before, the inode of the layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from foreread.boards.device import Devices
from foreread.tracer.formats.capture import FileEntry
from foreread.tracer.runs.residency import Inode, Runs, runs_of


def of_layers(
    cached: Mapping[Inode, Runs],
    paths: Mapping[Inode, str],
    files: Iterable[FileEntry],
    devices: Devices,
) -> dict[Inode, Runs]:
    """Return cached pages with those of an overlay's files added to the files of its layers.

    ``paths`` are those of the cached files, ``files`` those of the trace. A file of a layer ends in
    the path that the overlay gives it: the layer may be a folder of its file system.
    """
    layers = {
        mount.dev: set(devices.layers(mount))
        for mount in devices.mounts
        if mount.fstype == "overlay"
    }
    names = defaultdict(list)
    for file in files:
        if file.path is not None:
            names[file.path.rpartition("/")[2]].append(file)
    pages: defaultdict[Inode, set[int]] = defaultdict(set)
    for inode, runs in cached.items():
        for own in (inode, *_below(inode, paths.get(inode), layers, names)):
            pages[own].update(page for first, count in runs for page in range(first, first + count))
    return {inode: runs_of(numbers) for inode, numbers in pages.items()}


def _below(
    inode: Inode,
    path: str | None,
    layers: Mapping[str, set[str]],
    names: Mapping[str, list[FileEntry]],
) -> Iterator[Inode]:
    """Yield the file of a layer that an overlay's file is, if the trace has it."""
    if path is None or inode[0] not in layers:
        return
    same = [
        file
        for file in names.get(path.rpartition("/")[2], ())
        if file.dev in layers[inode[0]] and (file.path or "").endswith(path)
    ]
    for file in sorted(same, key=lambda layer_file: len(layer_file.path or ""))[:1]:
        yield file.dev, file.ino
