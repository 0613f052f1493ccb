"""Layouts of images of EROFS and ext4 compared: each is built, and read as the starts do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.compared import Compared
from foreread.analyzer.layout.document import LayoutRow
from foreread.analyzer.layout.images_compared import NO_COMPRESSOR, ErofsLayout, ImageStarts
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.order import LayoutError, Ordered, order_of
from foreread.analyzer.layout.support import Support, support_of
from foreread.analyzer.layout.unpacking_file import Measured
from foreread.analyzer.layout.write import write_layout
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.boards.base.scratch import scratch_folder
from foreread.boards.base.silent import silent
from foreread.boards.open import open_target
from foreread.emulator.images.erofs import read_erofs
from foreread.images.builders import (
    build_erofs,
    build_ordered_ext4,
    can_compress,
    extracted,
    extracted_ext4,
)
from foreread.tracer.calibrate.erofs_unpacking import PLAIN, measure_erofs_unpacking

EROFS_COMPRESSORS = (NO_COMPRESSOR, "lz4", "lz4hc", "zstd", "deflate", "lzma")
CLUSTER_SIZES = (4096, 16384, 65536)
_COMPARED = (NO_COMPRESSOR, "lz4", "zstd")  # without --compressor
_MOST_SAMPLE = 4 << 20  # bytes
_BUDGET_S = 8.0
_SAME_CODE = {"lz4hc": "lz4"}  # lz4hc is unpacked by the code of lz4


@dataclass(frozen=True)
class ErofsOptions:
    """The layouts to compare, and the facts about the target.

    ``named``: the user named ``compressors``. ``config``, ``orders``: as in
    ``compared.LayoutQuestion``.
    """

    compressors: Sequence[str] = _COMPARED
    named: bool = False
    cluster_sizes: Sequence[int] = CLUSTER_SIZES
    measured: Measured | None = None
    target: str | None = None
    device: str | None = None
    config: frozenset[str] | None = None
    orders: Sequence[bool] = (True,)


def compare_others(
    recordings: Sequence[Recording],
    image: Path,
    weights: Sequence[float],
    mountpoint: str | None,
    options: ErofsOptions,
) -> tuple[Compared, Measured | None]:
    """Return an image of EROFS or ext4 and its other layouts, and what was measured on the target.

    The layouts of EROFS are those in ``options``; ext4 has the order alone.

    Raises LayoutError, ImageError, RootError, CalibrateError and TargetError.
    """
    if weights and len(weights) != len(recordings):
        raise LayoutError(
            f"{len(weights)} weights for {len(recordings)} captures", "give one for each"
        )
    each = list(weights) or [1.0] * len(recordings)
    with scratch_folder("layouts") as name, opened(image) as octets:
        folder, is_erofs = Path(name), kind_of(octets) == "EROFS"
        device = device_from(options.device)
        starts = ImageStarts(recordings, octets, each, mountpoint, {}, device)
        root = (extracted if is_erofs else extracted_ext4)(image, folder / "root")
        order = order_of([present.start for present in starts.present])
        write_layout(order, folder / "layout", starts=len(recordings))
        measured = options.measured
        if options.target and is_erofs:
            measured = measure_sample(options.target, options.compressors, root, order, folder)
        if measured:
            starts.unpacking = measured.by_compressor
        rows, notes = [starts.row(octets, None)], list[str]()
        support = _support(options, measured, recordings, starts.kind[0])
        if is_erofs:
            layouts, notes = _layouts(options, starts.kind, support)
            rows += [_row(starts, root, layout, folder) for layout in layouts]
        else:
            rows.append(_ordered_ext4(starts, root, folder, len(octets)))
    if measured:
        notes += measured.notes
    own = tuple(present.start for present in starts.present)
    compared = Compared(order, own, tuple(rows), tuple(dict.fromkeys((*starts.notes, *notes))))
    return compared.with_doubt(support), measured


def _support(
    options: ErofsOptions, measured: Measured | None, recordings: Sequence[Recording], own: str
) -> Support:
    """Return the facts about the kernel that has to mount an image of EROFS."""
    unpacked = measured.by_compressor if measured else {}
    refused = measured.document.missing if measured else ()
    return support_of("EROFS", recordings, own, unpacked, refused, options.config)


def _row(starts: ImageStarts, root: Path, layout: ErofsLayout, folder: Path) -> LayoutRow:
    with _built(root, layout, folder) as image, opened(image) as octets:
        return starts.row(octets, layout)


def _ordered_ext4(starts: ImageStarts, root: Path, folder: Path, size: int) -> LayoutRow:
    """Return the order alone: an image of the same size and blocks."""
    block = starts.kind[1]
    image = build_ordered_ext4(root, folder / "image", folder / "layout", size, block)
    with opened(image) as octets:
        return starts.row(octets, ErofsLayout(NO_COMPRESSOR, block, ordered=True))


@contextmanager
def _built(root: Path, layout: ErofsLayout, folder: Path) -> Iterator[Path]:
    image = build_erofs(root, layout, folder / "image", folder / "layout")
    try:
        yield image
    finally:
        image.unlink()


def _layouts(
    options: ErofsOptions, own: tuple[str, int], support: Support
) -> tuple[list[ErofsLayout], list[str]]:
    """Return the layouts to compare, the order alone first, and notes.

    Raises LayoutError if the kernel lacks a compressor that the user named.
    """
    usable, notes = support.usable(
        options.compressors, options.compressors if options.named else ()
    )
    missing = [compressor for compressor in usable if not can_compress(compressor)]
    notes += [
        f"{compressor} is not compared: mkfs.erofs here lacks it; set MKFS_EROFS to a newer one"
        for compressor in missing
    ]
    kinds = [own] if can_compress(own[0]) else []
    for compressor in usable:
        if compressor not in missing:
            sizes = options.cluster_sizes if compressor != NO_COMPRESSOR else CLUSTER_SIZES[:1]
            kinds += [(compressor, size) for size in sizes]
    order_alone = [ErofsLayout(*kind, True) for kind in kinds[:1] if kind == own]
    layouts = [ErofsLayout(*kind, ordered) for kind in kinds for ordered in options.orders]
    return list(dict.fromkeys([*order_alone, *layouts])), notes


def measure_sample(
    target: str,
    compressors: Sequence[str],
    root: Path,
    order: Sequence[Ordered],
    folder: Path,
) -> Measured:
    """Measure the time to unpack on the target, with the files that the starts read first."""
    sample = folder / "sample"
    sample.mkdir()
    size = 0
    for number, each in enumerate(order):
        file = root / each.path.lstrip("/")
        if size < _MOST_SAMPLE and file.is_file() and not file.is_symlink():
            octets = file.read_bytes()[: _MOST_SAMPLE - size]
            (sample / f"{number:05d}").write_bytes(octets)
            size += len(octets)
    kinds = [_SAME_CODE.get(each, each) for each in compressors]
    images: dict[str, Path] = {}
    for kind in dict.fromkeys([PLAIN, *kinds]):
        if can_compress(kind):
            layout = ErofsLayout(kind, CLUSTER_SIZES[-1], ordered=False)
            images[kind] = build_erofs(sample, layout, folder / f"sample-{kind}", folder)
    pages = {kind: _packed_pages(image) for kind, image in images.items()}
    with open_target(target, tell=silent) as reached:
        place = f"{PREFIX}unpacking-{owner_tag()}"
        each_s = _BUDGET_S / len(images)
        return Measured(measure_erofs_unpacking(reached, images, pages, each_s, place))


def _packed_pages(image: Path) -> int:
    """Return the pages of an image's files that have to be unpacked."""
    with opened(image) as octets:
        pieces = read_erofs(octets).pieces
    return int(pieces["length"][pieces["packed"] > 0].sum()) // 4096
