"""Measures on a target how long its kernel takes to unpack compressed files of EROFS.

Images of the same files are read whole from memory: what a compressed one takes longer than one
that is not is the time to unpack, in the processor's time of processes and of the kernel's threads.
The copies of a loop device in memory, fewer for a smaller image, are part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from foreread.boards.target import Target
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.calibrate.unpacking import answer_of, passes_of
from foreread.tracer.formats.unpacking import Unpacked, UnpackingDocument

PLAIN = "none"  # the image that is not compressed
_SCRIPT = Path(__file__).with_name("erofs_unpacking.sh")
_PAGE = 4096


def measure_erofs_unpacking(
    target: Target, images: Mapping[str, Path], pages: Mapping[str, int], each_s: float, name: str
) -> UnpackingDocument:
    """Return the time to unpack a page by image name; one of the images is PLAIN.

    ``pages`` are those of each image that have to be unpacked: data that does not compress is not.

    Raises CalibrateError if that cannot be mounted.
    """
    kernel, passes = passes_of(answer_of(target, _SCRIPT, images, each_s, name))
    each = {image: seconds / max(count, 1) for (_, image), (count, seconds) in passes.items()}
    if PLAIN not in each:
        raise CalibrateError(
            "the target mounts no EROFS image: the measurement needs root, and a loop device",
            "modprobe loop erofs, there, as root",
        )
    measured = tuple(
        Unpacked(
            compressor=image,
            page_ns=max(seconds - each[PLAIN], 0.0) / max(pages[image], 1) * 1e9,
            insert_ns=0.0,
            pages=passes["files", image][0] * pages[image],
            seconds=passes["files", image][1],
        )
        for image, seconds in each.items()
        if image != PLAIN
    )
    missing = tuple(image for image in images if image not in each)
    return UnpackingDocument(kernel=kernel, page_size=_PAGE, compressors=measured, missing=missing)
