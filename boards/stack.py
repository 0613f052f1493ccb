"""The stack under a file: its file system, the device with its window, the disks that cost time."""

from __future__ import annotations

from typing import Annotated

import msgspec

from foreread.boards.base.document import says

Kib = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]
PREFETCH = "read the files ahead by a list: foreread prefetch CAPTURE -o LIST"


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """A file that holds a file system, and is read through its own page cache."""

    disk: Annotated[str, says("loop device, empty for EROFS that is mounted from the file")]
    file: Annotated[str, says("path of the image, as the kernel shows it")]
    knob: Annotated[str, says("path of the window of the file system that holds the image")]


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The layers under the files of one mounted file system.

    The window is copied when a file is opened: files open since before a change keep the old one.
    """

    dev: Annotated[str, says('"major:minor" of the superblock, as inodes in a trace have it')]
    mountpoint: str
    file_system: Annotated[str, says("type, as in mountinfo")]
    device: Annotated[str, says("disk or backing device whose window counts; empty if none does")]
    knob: Annotated[str, says("path of that window while recorded; empty if none counts")] = ""
    lasting: Annotated[str, says("name of the knob that holds on every boot (docs: knobs)")] = ""
    read_ahead_kb: Annotated[Kib | None, says("that window as found")] = None
    layers: Annotated[list[str], says("disks under it, the nearest first")] = []
    disks: Annotated[list[str], says("the lowest disks: their speed counts")] = []
    images: Annotated[list[Image], says("image files whose own window counts too")] = []
    over: Annotated[list[str], says("superblocks of an overlay's layers")] = []
    facts: Annotated[list[str], says("what matters to its users, in sentences")] = []
    unknown: Annotated[str, says("why no window is known to count; empty if one is")] = ""
    remedy: Annotated[str, says("what to do instead")] = ""
