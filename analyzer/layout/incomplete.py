"""Notes about what captures do not show of an image."""

from __future__ import annotations

from collections.abc import Sequence

from foreread.analyzer.layout.on_image import OnImage
from foreread.analyzer.layout.order import Start
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import KIB

_THROUGH_FUSE = (
    "doubt{which}: the start ran through FUSE ({server}), and the rows say what a kernel that "
    "mounts the image reads: the server's reads of the file, with the window of that file's disk, "
    "and its cache are not emulated. Measure two builds before you choose, or mount one: "
    "mount -o loop,ro,offset=BYTES IMAGE FOLDER"
)


def unnamed(starts: Sequence[Start]) -> tuple[str, ...]:
    """Return a note about pages of files with an unknown path."""
    pages = sum(start.unnamed_pages for start in starts)
    if not pages:
        return ()
    return (f"not in the order: {plural(pages, 'page')} of files whose path is unknown",)


def incomplete(starts: Sequence[OnImage], block_sizes: Sequence[int]) -> list[str]:
    """Return notes about what the captures do not show."""
    notes = []
    for number, start in enumerate(starts, start=1):
        which = f" of capture {number}" if len(starts) > 1 else ""
        if start.missing:
            missing = plural(len(start.missing), "file", "is")
            notes.append(f"{missing} not in the image, of {len(start.start.files):,}{which}")
        if start.changed:
            changed = plural(len(start.changed), "file", "has")
            notes.append(f"{changed} another size in the image{which}")
        doubts = (f"doubt{which}: {doubt}" for doubt in start.kernel.doubts)
        notes += [Note(doubt, NoteKind.ANSWER) for doubt in doubts]
        if start.server:
            text = _THROUGH_FUSE.format(which=which, server=start.server)
            notes.append(Note(text, NoteKind.ANSWER))
        block = start.recorded_block_pages * start.recording.page_size
        if block > min(block_sizes, default=block):
            notes.append(
                f"smaller blocks may read more{which}: it was recorded from blocks of "
                f"{block // KIB} KiB, which hide what is touched inside of them"
            )
    return notes
