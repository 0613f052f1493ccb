"""Measures on a target how long its kernel takes to unpack what a start reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.on_image import on_image
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.predicted import reader_of
from foreread.analyzer.layout.unpacking_file import Measured
from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.base.silent import silent
from foreread.boards.open import open_target
from foreread.boards.target import Target
from foreread.emulator.images.compressors import Compressor
from foreread.emulator.images.reads import Touched
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_contents import Contents
from foreread.emulator.images.squashfs_metadata import Superblock
from foreread.images.root_image import RootError, mksquashfs
from foreread.tracer.calibrate import unpacking
from foreread.tracer.calibrate.unpacking import PackedSample, Sample
from foreread.tracer.formats.unpacking import UnpackingDocument

_MOST_SAMPLE = 2 << 20  # bytes
# Bytes: zstd takes a quarter less for a page of the larger blocks; between them it is interpolated.
_BLOCKS = (128 << 10, 1 << 20)
_BUDGET_S = 8.0  # for all compressors


def measure_unpacking(
    target: str,
    image: Path,
    recording: Recording,
    compressors: Sequence[Compressor],
    mountpoint: str | None = None,
) -> Measured:
    """Return the time of a target's kernel to unpack blocks that a start reads.

    Raises LayoutError, CalibrateError, RootError and TargetError.
    """
    with opened(image) as octets:
        if kind_of(octets) != "squashfs":
            raise LayoutError(f"{image} is not an image of squashfs", "leave out --target")
        start = on_image(recording, read_squashfs(octets), mountpoint)
        options = _own_level(start.image.superblock)
        sample = _sample(start.touches(start.image.block_size, 0), Contents(start.image, octets))
    pieces = [sample[at : at + _BLOCKS[0]] for at in range(0, len(sample), _BLOCKS[0])]
    sample = b"".join(Sample.of(pieces).blocks)  # larger blocks differ, too, in how they compress
    with open_target(target, tell=silent) as reached:
        first, *others = (
            _measured(reached, sample, size, compressors, options) for size in _BLOCKS
        )
    for other in others:
        first = first.also(other)
    return Measured(first)


def _own_level(superblock: Superblock) -> dict[str, tuple[str, ...]]:
    """Return the options of mksquashfs by compressor: the image's own keeps its level."""
    if superblock.level is None:
        return {}
    return {superblock.compressor: ("-Xcompression-level", str(superblock.level))}


def _measured(
    target: Target,
    sample: bytes,
    block_size: int,
    compressors: Sequence[Compressor],
    options: Mapping[str, tuple[str, ...]],
) -> UnpackingDocument:
    """Return the time to unpack a sample in blocks of one size; ``options`` as ``_own_level``."""
    blocks = [sample[at : at + block_size] for at in range(0, len(sample), block_size)]
    drawn = Sample.of(blocks)
    with scratch_folder("unpacking") as name:
        words = {
            compressor: ("-comp", compressor, "-b", str(block_size), *options.get(compressor, ()))
            for compressor in compressors
        }
        images = _images(drawn, words, Path(name))
        each_s = _BUDGET_S / len(_BLOCKS) / len(unpacking.WAYS) / len(images)
        place = f"{PREFIX}unpacking-{owner_tag()}"
        document = unpacking.measure_unpacking(target, images, drawn, each_s, place, block_size)
    return document.lacking(
        tuple(compressor for compressor in compressors if compressor not in images)
    )


def _images(
    sample: Sample, words: Mapping[Compressor, tuple[str, ...]], folder: Path
) -> dict[str, PackedSample]:
    """Return an image of the sample for each compressor that mksquashfs has, built by its words."""
    root = folder / "root"
    root.mkdir()
    for name, octets in sample.files().items():
        (root / name).write_bytes(octets)
    images: dict[str, PackedSample] = {}
    refused: RootError | None = None
    for compressor, own in words.items():
        try:
            mksquashfs(root, folder / compressor, *own)
        except RootError as error:
            refused = error
        else:
            images[compressor] = _packed(folder / compressor)
    if not images and refused is not None:
        raise refused
    return images


def _packed(file: Path) -> PackedSample:
    """Return an image of a sample with the sizes of its blocks: a fragment for each, in order."""
    with opened(file) as octets:
        lengths = read_squashfs(octets).fragments["length"]
        return PackedSample(file, tuple(lengths.tolist()))


def _sample(touches: Array, contents: Contents) -> bytes:
    """Return what a start reads first."""
    read, unit = reader_of(contents), contents.image.block_size
    sample = bytearray()
    for kind, row, number in touches.tolist():
        if kind == Touched.BLOCK and len(sample) < _MOST_SAMPLE:
            size = int(contents.image.files["size"][row])
            sample += read(row, number * unit, min((number + 1) * unit, size))
    return bytes(sample[:_MOST_SAMPLE])
