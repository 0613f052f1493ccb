"""Measures on a target how long its kernel takes to unpack blocks of squashfs.

Blocks of small files are unpacked whole for any page of them. So the time to unpack, and that to
put pages into the page cache, follow from reading one page of each block, and all of them. Blocks
that compress well and badly show how much of the time is for what comes out, and for what goes in.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from foreread.boards.target import Target
from foreread.tracer.calibrate.fio import CalibrateError
from foreread.tracer.formats.unpacking import Unpacked, UnpackingDocument

_SCRIPT = Path(__file__).with_name("unpacking.sh")
_SHARED = Path(__file__).with_name("passes.sh")
_LIMIT_S = 600.0  # an emulated board takes a minute of this machine for 10 s of its own
_MOST_ANSWER = 1 << 16  # bytes
_PAGE = 4096
_LEAST_APART = 1.25  # ratio of compressed sizes of dense and light blocks
_SECTOR = 512
WAYS = ("nothing", "dense", "light", "blocks")
_NEEDS = "the measurement needs root, and a loop device for squashfs"


@dataclass(frozen=True)
class Sample:
    """Blocks to unpack: the first ones compress less than the median, the ``light`` ones more."""

    dense: tuple[bytes, ...]
    light: tuple[bytes, ...]

    @classmethod
    def of(cls, blocks: Sequence[bytes]) -> Sample:
        """Return one of blocks in any order."""
        by_size = sorted(blocks, key=lambda block: -len(zlib.compress(block, 1)) / len(block))
        half = (len(by_size) + 1) // 2
        return cls(tuple(by_size[:half]), tuple(by_size[half:]))

    @property
    def blocks(self) -> tuple[bytes, ...]:
        """All of them, the dense ones first."""
        return self.dense + self.light

    def files(self) -> dict[str, bytes]:
        """Return the files of an image by name: each block is a head of one page, and a rest.

        The image has each block in a fragment of its own, if its blocks are not smaller.
        """
        files: dict[str, bytes] = {}
        names = ["d"] * len(self.dense) + ["l"] * len(self.light)
        for number, (kind, block) in enumerate(zip(names, self.blocks, strict=True)):
            name = f"{kind}{number:03d}"
            files[f"{name}.head"], files[f"{name}.rest"] = block[:_PAGE], block[_PAGE:]
            files[f"empty-{name}"] = b""
        return files


@dataclass(frozen=True)
class PackedSample:
    """An image of a sample, and the bytes of each of its blocks in there, compressed."""

    file: Path
    packed: tuple[int, ...]


def measure_unpacking(
    target: Target,
    images: Mapping[str, PackedSample],
    sample: Sample,
    each_s: float,
    name: str,
    block_size: int,
) -> UnpackingDocument:
    """Return the time to unpack images of a sample, by compressor.

    ``block_size`` is that of the images, and of the largest block of the sample. The images are
    copied to a folder ``name`` in the target's /tmp, which is removed. Reading takes ``each_s``
    seconds in each of four ways. Raises CalibrateError if none can be mounted.
    """
    files = {compressor: image.file for compressor, image in images.items()}
    kernel, passes = passes_of(answer_of(target, _SCRIPT, files, each_s, name))
    measured = tuple(
        _unpacked(packer, [passes[way, packer] for way in WAYS], sample, image.packed, block_size)
        for packer, image in images.items()
        if all((way, packer) in passes for way in WAYS)
    )
    if not measured:
        raise CalibrateError(
            f"the target mounts none of the images: {_NEEDS}",
            "modprobe loop squashfs, there, as root",
        )
    measured_names = {document.compressor for document in measured}
    missing = tuple(packer for packer in images if packer not in measured_names)
    return UnpackingDocument(kernel=kernel, page_size=_PAGE, compressors=measured, missing=missing)


def answer_of(
    target: Target, script: Path, images: Mapping[str, Path], each_s: float, name: str
) -> str:
    """Return what a script prints that reads images, copied to a folder of the target's /tmp.

    ``script`` goes on where passes.sh ends. The folder is removed. Raises CalibrateError if it
    cannot be made.
    """
    folder = f"/tmp/{name}"
    folder_made = target.run(["mkdir", "-m", "700", folder], timeout_s=_LIMIT_S)
    if folder_made.status:
        raise CalibrateError(
            f"{folder} cannot be made on the target", "free space in its /tmp, or log in as root"
        )
    try:
        for compressor, image in images.items():
            target.push(image, f"{folder}/{compressor}")
        words = [folder, str(max(round(each_s * 100), 1)), *images]
        command = ["sh", "-c", _SHARED.read_text() + script.read_text(), "sh", *words]
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


def _unpacked(
    compressor: str,
    passes: Sequence[tuple[int, float]],
    sample: Sample,
    packed: Sequence[int],
    block_size: int,
) -> Unpacked:
    """Return the times: what the pages more, and the blocks more, took."""
    nothing, dense, light, whole = (seconds / max(count, 1) for count, seconds in passes)
    number, half = len(sample.blocks), len(sample.dense)
    pages = np.array([-(-len(block) // _PAGE) for block in sample.blocks], np.float64)
    sectors = np.array(packed, np.float64) / _SECTOR
    if len(sectors) != number:  # equal blocks are stored once
        sectors = np.full(number, sectors.mean() if len(sectors) else 0.0)
    more = float(pages.sum()) - number
    insert_s = max(whole - dense - light + nothing, 0.0) / more if more else 0.0
    took = np.array([dense - half * insert_s, light - (number - half) * insert_s]) - nothing
    work = np.array(
        [(pages[part].sum(), sectors[part].sum()) for part in (slice(half), slice(half, None))]
    )
    page_s, sector_s = _split(work, took)
    every = float(pages.sum())
    return Unpacked(
        compressor=compressor,
        page_ns=page_s * 1e9,
        sector_ns=sector_s * 1e9,
        insert_ns=insert_s * 1e9,
        pages=round(
            passes[1][0] * pages[:half].sum()
            + passes[2][0] * pages[half:].sum()
            + passes[3][0] * every
        ),
        seconds=sum(seconds for _, seconds in passes),
        block_size=block_size,
    )


def _split(work: npt.NDArray[np.float64], took: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return seconds a page and a sector (at least 0) from two rows of both, and their seconds.

    Rows that are too alike to tell the two apart give seconds a page alone.
    """
    took = np.maximum(took, 0.0)
    alone = float(took.sum() / max(work[:, 0].sum(), 1.0)), 0.0
    ratios = work[:, 1] / np.maximum(work[:, 0], 1.0)
    if work[:, 0].min() <= 0 or ratios.max() < _LEAST_APART * ratios.min():
        return alone
    page, sector = np.linalg.solve(work, took).tolist()
    if sector < 0:
        return alone
    if page < 0:
        return 0.0, float(took.sum() / work[:, 1].sum())
    return page, sector
