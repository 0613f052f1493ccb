"""Measures on a target how long its kernel takes to unpack blocks of squashfs.

Blocks of small files are unpacked whole for any page of them. So the time to unpack, and that to
put pages into the page cache, follow from reading one page of each block, and all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from boards.target import Target
from tracer.calibrate.fio import CalibrateError
from tracer.formats.unpacking import Unpacked, UnpackingDocument

_SCRIPT = Path(__file__).with_name("unpacking.sh")
_LIMIT_S = 600.0  # an emulated board takes a minute of this machine for 10 s of its own
_MOST_ANSWER = 1 << 16  # bytes
_PAGE = 4096
_WAYS = ("nothing", "pages", "blocks")
_NEEDS = "the measurement needs root, and a loop device for squashfs"


def sample_files(blocks: Sequence[bytes]) -> dict[str, bytes]:
    """Return the files of a sample by name: each block is a head of one page, and a rest.

    An image of them has each block in a fragment of its own, if its blocks are not smaller.
    """
    found: dict[str, bytes] = {}
    for number, block in enumerate(blocks):
        found[f"{number:03d}.head"], found[f"{number:03d}.rest"] = block[:_PAGE], block[_PAGE:]
        found[f"empty{number:03d}"] = b""
    return found


def measure_unpacking(
    target: Target,
    images: Mapping[str, Path],
    blocks: Sequence[bytes],
    each_s: float,
    name: str,
    block_size: int,
) -> UnpackingDocument:
    """Return the time to unpack images of a sample (``sample_files``), by compressor.

    ``block_size`` is that of the images, and of the largest of ``blocks``. The images are copied to
    a folder ``name`` in the target's /tmp, which is removed. Reading takes ``each_s`` seconds in
    each of three ways. Raises CalibrateError if none can be mounted.
    """
    answer = answer_of(target, _SCRIPT, images, each_s, name)
    return _document(answer, list(images), blocks, block_size)


def answer_of(
    target: Target, script: Path, images: Mapping[str, Path], each_s: float, name: str
) -> str:
    """Return what a script prints that reads images, copied to a folder of the target's /tmp.

    The folder is removed. Raises CalibrateError if it cannot be made.
    """
    folder = f"/tmp/{name}"
    made = target.run(["mkdir", "-m", "700", folder], timeout_s=_LIMIT_S)
    if made.status:
        raise CalibrateError(
            f"{folder} cannot be made on the target", "free space in its /tmp, or log in as root"
        )
    try:
        for compressor, image in images.items():
            target.push(image, f"{folder}/{compressor}")
        words = [folder, str(max(round(each_s * 100), 1)), *images]
        command = ["sh", "-c", script.read_text(), "sh", *words]
        done = target.run(command, timeout_s=_LIMIT_S)
    finally:
        target.run(["rm", "-rf", folder], timeout_s=_LIMIT_S)
    return os.fsdecode(done.stdout[:_MOST_ANSWER])


def passes_of(answer: str) -> tuple[str, dict[tuple[str, str], tuple[int, float]]]:
    """Return the kernel, and (passes, seconds) by way and image, of a script's answer."""
    kernel = ""
    passes: dict[tuple[str, str], tuple[int, float]] = {}
    for line in answer.splitlines():
        words = line.split()
        if words[:1] == ["kernel"] and len(words) == 2:
            kernel = words[1]
        elif len(words) == 4 and all(w.isdecimal() and len(w) < 10 for w in words[2:]):
            passes[words[0], words[1]] = int(words[2]), int(words[3]) / 100
    return kernel, passes


def _document(
    answer: str, wanted: list[str], blocks: Sequence[bytes], block_size: int
) -> UnpackingDocument:
    """Return what the script's answer says."""
    kernel, passes = passes_of(answer)
    found = [
        _unpacked(one, [passes[way, one] for way in _WAYS], blocks, block_size)
        for one in wanted
        if all((way, one) in passes for way in _WAYS)
    ]
    if not found:
        raise CalibrateError(
            f"the target mounts none of the images: {_NEEDS}",
            "modprobe loop squashfs, there, as root",
        )
    known = {one.compressor for one in found}
    missing = tuple(one for one in wanted if one not in known)
    return UnpackingDocument(
        kernel=kernel, page_size=_PAGE, compressors=tuple(found), missing=missing
    )


def _unpacked(
    compressor: str,
    passes: Sequence[tuple[int, float]],
    blocks: Sequence[bytes],
    block_size: int,
) -> Unpacked:
    """Return the times for a page: what the pages more, and the blocks more, took."""
    nothing, heads, whole = (seconds / max(count, 1) for count, seconds in passes)
    pages = sum(-(-len(block) // _PAGE) for block in blocks)
    more = pages - len(blocks)
    insert_s = max(whole - heads, 0.0) / more if more else 0.0
    unpack_s = max(heads - nothing - insert_s * len(blocks), 0.0) / max(pages, 1)
    return Unpacked(
        compressor=compressor,
        page_ns=unpack_s * 1e9,
        insert_ns=insert_s * 1e9,
        pages=(passes[1][0] + passes[2][0]) * pages,
        seconds=sum(seconds for _, seconds in passes),
        block_size=block_size,
    )
