"""What a start reads from squashfs with other orders, block sizes and compressors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.on_image import OnImage
from foreread.analyzer.layout.order import Ordered, order_of
from foreread.emulator.images.compressors import Compressor
from foreread.emulator.images.reads import ReadOf, Touched, request_count
from foreread.emulator.images.relaid import Read, duplicates, plan, relaid
from foreread.emulator.images.relaid_metadata import with_metadata
from foreread.emulator.images.source import Octets
from foreread.emulator.images.squashfs import SquashfsImage
from foreread.emulator.images.squashfs_contents import Contents
from foreread.emulator.images.squashfs_metadata import METADATA_SIZE
from foreread.emulator.images.squashfs_reads import before_a_start, squashfs_reads
from foreread.emulator.linux.requests import SECTOR

DEFAULT_WINDOW = 32  # pages


@dataclass(frozen=True)
class Layout:
    """A way to build the image; ``ordered``: with the order of the starts."""

    block_size: int
    compressor: Compressor
    ordered: bool


@dataclass(frozen=True)
class Reads:
    """What a start reads from an image with its own names.

    ``layout`` is None for the present image. ``requests`` and ``read_bytes`` are those of data and
    metadata; ``unpacked_bytes`` is what the processor unpacks, ``packed_bytes`` what of;
    ``inserted_bytes`` go into the page cache.
    """

    layout: Layout | None
    requests: int
    read_bytes: int
    metadata_requests: int
    metadata_bytes: int
    unpacked_bytes: int
    packed_bytes: int
    inserted_bytes: int


@dataclass(frozen=True, eq=False)
class Case:
    """A start on an image in one layout: what it touches (TOUCH), and the reads (READ) of that."""

    layout: Layout | None
    image: SquashfsImage
    window: int
    touches: Array
    reads: Array


def predict_reads(
    start: OnImage,
    octets: Octets,
    layouts: Iterable[Layout],
    order: Sequence[Ordered] | None = None,
    window: int = DEFAULT_WINDOW,
) -> list[Reads]:
    """Return what a start reads from the present image, and from each of ``layouts``.

    ``order`` is of several starts (``order_of``); None: of this start. ``window`` is in pages.
    """
    image_cases = list(cases(start, octets, layouts, order, window))
    return [counted(start, image_case, image_cases[0]) for image_case in image_cases]


def cases(
    start: OnImage,
    octets: Octets,
    layouts: Iterable[Layout],
    order: Sequence[Ordered] | None = None,
    window: int = DEFAULT_WINDOW,
) -> Iterator[Case]:
    """Yield the present image, then each of ``layouts``, as ``predict_reads``."""
    image = start.image
    read = reader_of(Contents(image, octets))
    sizes = image.files["size"].astype("i8")
    plain = rows_in_tree_order(image)
    rows = {True: rows_in_order(image, order or order_of([start.start])), False: plain}
    same = {ordered: duplicates(sizes, rows[ordered], read) for ordered in (False, True)}
    touches = {image.block_size: start.touches(image.block_size, window)}
    yield case(start, None, image, touches[image.block_size], window)
    for layout in layouts:
        size = layout.block_size
        if size not in touches:
            touches[size] = start.touches(size, window)
        packed, twins = rows[layout.ordered], same[layout.ordered]
        planned = plan(sizes, packed, size, twins, fragmented=image.superblock.fragmented)
        blocks = touches[size][touches[size]["kind"] == Touched.BLOCK]
        wanted = list(zip(blocks["row"].tolist(), blocks["number"].tolist(), strict=True))
        again = relaid(image, planned, layout.compressor, read, wanted)
        again = with_metadata(image, again, rows[True] if layout.ordered else None)
        yield case(start, layout, again, touches[size], window)


def case(
    start: OnImage, layout: Layout | None, image: SquashfsImage, touches: Array, window: int
) -> Case:
    """Return a case: the reads that follow from its touches."""
    reads = squashfs_reads(image, touches, start.rules, start.known, before_a_start(image))
    return Case(layout, image, window, touches, reads)


def counted(start: OnImage, image_case: Case, present: Case) -> Reads:
    """Return the numbers of a case.

    Metadata that the recorded start read and that no file of it leads to (names that do not exist)
    count in every case. Where the model reads more of the present image than was recorded, some of
    the names were in memory: that share of metadata is left out of every case.
    """
    reads, limits, page = image_case.reads, start.limits, start.recording.page_size
    was_requests, was_octets = _metadata(start, present)
    recorded = start.recorded_metadata or was_requests
    share = min(recorded / was_requests, 1.0) if was_requests else 1.0
    requests, octets = (round(number * share) for number in _metadata(start, image_case))
    unnamed = max(recorded - was_requests, 0)
    each = was_octets / was_requests if was_requests else 0.0
    of_data = reads[~_of_metadata(reads)]
    return Reads(
        layout=image_case.layout,
        requests=request_count(of_data, limits, page) + requests + unnamed,
        read_bytes=int(of_data["length"].sum()) + octets + int(unnamed * each),
        metadata_requests=requests + unnamed,
        metadata_bytes=octets + int(unnamed * each),
        unpacked_bytes=_unpacked(image_case) + unnamed // 2 * METADATA_SIZE,
        packed_bytes=int(reads["length"].sum()) + int(unnamed * each),
        inserted_bytes=int(
            _in_blocks(
                image_case, image_case.touches[image_case.touches["kind"] == Touched.BLOCK]
            ).sum()
        ),
    )


def _metadata(start: OnImage, image_case: Case) -> tuple[int, int]:
    """Return requests and bytes of metadata."""
    metadata_reads = image_case.reads[_of_metadata(image_case.reads)]
    page = start.recording.page_size
    return request_count(metadata_reads, start.limits, page), int(metadata_reads["length"].sum())


def _of_metadata(reads: Array) -> Array:
    mask: Array = (reads["kind"] == ReadOf.HEADER) | (reads["kind"] == ReadOf.METADATA)
    return mask


def _in_blocks(image_case: Case, blocks: Array) -> Array:
    """Return the bytes of a file in each touched block."""
    left: Array = image_case.image.files["size"][blocks["row"]].astype("i8")
    left -= blocks["number"].astype("i8") * image_case.image.block_size
    return left.clip(0, image_case.image.block_size)


def _inserted(image_case: Case) -> int:
    """Return the bytes that go into the page cache, and into squashfs's cache of fragments."""
    return int(
        _in_blocks(
            image_case, image_case.touches[image_case.touches["kind"] == Touched.BLOCK]
        ).sum()
    )


def _unpacked(image_case: Case) -> int:
    """Return the bytes that the processor unpacks."""
    image, reads = image_case.image, image_case.reads
    whole = int(
        _in_blocks(
            image_case, image_case.touches[reads["touch"][reads["kind"] == ReadOf.DATA]]
        ).sum()
    )
    fragments = len(set(reads["touch"][reads["kind"] == ReadOf.FRAGMENT].tolist()))
    metadata = int((reads["kind"] == ReadOf.METADATA).sum())
    return whole + fragments * image.block_size + metadata * METADATA_SIZE


def packed_sectors(reads: Reads) -> int:
    """Return the sectors that the processor unpacks."""
    return reads.packed_bytes // SECTOR


def reader_of(contents: Contents) -> Read:
    """Return a function that reads files of an image, unpacked."""
    unit = contents.image.block_size

    def read(file: int, first: int, until: int) -> bytes:
        numbers = range(first // unit, -(-until // unit)) if until > first else range(0)
        whole = b"".join(contents.block(file, number) for number in numbers)
        return whole[first % unit :][: until - first]

    return read


def rows_in_tree_order(image: SquashfsImage) -> list[int]:
    """Return the rows of all files as mksquashfs stores them without a sort file.

    Directory by directory, the names of each in order, a directory in its place among them.
    """
    return _distinct(_names_in_tree_order(image))


def _names_in_tree_order(image: SquashfsImage) -> list[int]:
    """Return the file of each name; one with several names is there several times."""
    paths = sorted(image.rows, key=lambda path: path.split("/"))
    return [int(image.names["file"][image.rows[path]]) for path in paths]


def rows_in_order(image: SquashfsImage, order: Sequence[Ordered]) -> list[int]:
    """Return the rows of all files as mksquashfs stores them with a sort file.

    Files that are not in it follow in the reverse of the order of their names, a file with several
    names at the last one (add_priority_list).
    """
    stored_paths = (_stored_path(image, entry.path) for entry in order)
    listed = [
        int(image.names["file"][image.rows[path]]) for path in stored_paths if path is not None
    ]
    return _distinct([*listed, *reversed(_names_in_tree_order(image))])


def _stored_path(image: SquashfsImage, path: str) -> str | None:
    """Return the path through links of directories; the builder does not follow a link itself."""
    above, _, name = path.rpartition("/")
    parent = image.resolved(above or "/")
    full_path = None if parent is None else f"{parent.rstrip('/')}/{name}"
    return full_path if full_path in image.rows else None


def _distinct(rows: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(row for row in rows if row >= 0))
