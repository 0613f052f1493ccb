"""An order for the starts of several captures, and every layout of the image compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.document import LayoutRow, StartReads
from foreread.analyzer.layout.image_start import present_window
from foreread.analyzer.layout.incomplete import incomplete, unnamed
from foreread.analyzer.layout.on_image import OnImage, on_image
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.order import LayoutError, Ordered, Start, order_of, start_of
from foreread.analyzer.layout.predicted import Case, Layout, cases, counted
from foreread.analyzer.layout.seconds import Timing, Unpacking, timing
from foreread.analyzer.layout.support import Support, support_of
from foreread.analyzer.predict.disk.device_model import DeviceModelError, device_from
from foreread.boards.base.brief import brief
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.compressors import COMPRESSORS, Compressor, remedy_of
from foreread.emulator.images.relaid import BLOCK_SIZES
from foreread.emulator.images.source import Octets
from foreread.emulator.images.squashfs import SquashfsImage, read_squashfs

_NO_MODEL = "{}: the order alone; `foreread layout --image` predicts what the starts read of it"


@dataclass(frozen=True, repr=False)
class Compared:
    """The order of files, and the layouts: the present image, the order alone, then the others.

    ``rows`` is empty without an image, or for one of a file system without a model.
    ``best_doubt``: nothing shows that the board's kernel unpacks the compressor of the best row.
    ``fragmented`` is false of a squashfs that is built with -no-fragments, as snaps are.
    """

    __repr__ = brief

    order: tuple[Ordered, ...]
    starts: tuple[Start, ...]
    rows: tuple[LayoutRow, ...] = ()
    notes: tuple[str, ...] = ()
    best_doubt: str | None = None
    fragmented: bool = True

    @property
    def best(self) -> LayoutRow | None:
        """The row with the fewest seconds; with the fewest bytes where no seconds are known.

        It is the present image or one in the new order.
        """
        rows = [row for row in self.rows if row.present or row.ordered]
        timed = [row for row in rows if row.seconds is not None]
        if len(timed) > 1:
            return min(timed, key=lambda row: (row.seconds or 0.0, row.image_bytes))
        return min(rows, key=lambda row: row.read_bytes, default=None)

    def with_doubt(self, support: Support) -> Compared:
        """Return the same with the doubt about the compressor of the best row, and a note of it."""
        doubt = None if self.best is None else support.doubt(self.best.compressor)
        return self if doubt is None else replace(self.with_notes([doubt]), best_doubt=doubt)

    def with_notes(self, notes: Sequence[str]) -> Compared:
        """Return the same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class LayoutQuestion:
    """What to compare: block sizes (bytes), compressors, and the time to unpack by compressor.

    ``refused`` are compressors of which the board's kernel mounted no image; ``config`` are the
    options that its configuration sets (``read_kernel_config``). ``orders``: layouts in the
    builder's order (False), in that of the starts (True), or in both.
    """

    block_sizes: Sequence[int] = BLOCK_SIZES
    compressors: Sequence[Compressor] | None = None
    unpacking: Mapping[str, Unpacking] | None = None
    device: DeviceModel | StrPath | None = None
    refused: Sequence[str] = ()
    config: frozenset[str] | None = None
    orders: Sequence[bool] = (True,)

    def support(self, recordings: Sequence[Recording], image: SquashfsImage) -> Support:
        """Return what is known of the kernel that has to mount an image."""
        own, unpacked = image.superblock.compressor, self.unpacking or {}
        return support_of("squashfs", recordings, own, unpacked, self.refused, self.config)


def compare_layouts(
    recordings: Sequence[Recording],
    image: StrPath | None = None,
    *,
    weights: Sequence[float] = (),
    mountpoint: str | None = None,
    asked: LayoutQuestion | None = None,
) -> Compared:
    """Return one order for the starts of captures, and what each layout of the image costs.

    Args:
        recordings: starts, read by :func:`foreread.load`.
        image: the image's file; None: the order alone.
        weights: how much each start counts, 1 where none are given.
        mountpoint: where the image was mounted; None: the file system with most of its files, or,
            without an image, the one that each start reads most.
        asked: layouts to compare, and what is known of the target.

    Raises:
        LayoutError: captures of another image, or without a named file; a wrong weight.
        ImageError: a file that is not an image, or is damaged.
    """
    if weights and len(weights) != len(recordings):
        raise LayoutError(
            f"{len(weights)} weights for {len(recordings)} captures", "give one for each"
        )
    each = list(weights) or [1.0] * len(recordings)
    question = asked or LayoutQuestion()
    # An error of the device is raised here, not after a minute.
    question = replace(question, device=device_from(question.device))
    weighted = list(zip(recordings, each, strict=True))
    if image is None:
        return _order_alone(weighted, mountpoint)
    with opened(image) as octets:
        kind = kind_of(octets)
        if kind != "squashfs":
            return _order_alone(weighted, mountpoint).with_notes([_NO_MODEL.format(kind)])
        tables = read_squashfs(octets)
        starts = [
            on_image(recording, tables, mountpoint, weight, question.config)
            for recording, weight in weighted
        ]
        return _compared(starts, octets, question)


def _order_alone(weighted: Sequence[tuple[Recording, float]], mountpoint: str | None) -> Compared:
    """Return the order of recordings with their weights."""
    starts = tuple(start_of(recording, mountpoint, weight) for recording, weight in weighted)
    return Compared(order_of(starts), starts, notes=unnamed(starts))


def _compared(starts: Sequence[OnImage], octets: Octets, question: LayoutQuestion) -> Compared:
    """Return the layouts of an image for starts on it."""
    image, own = starts[0].image, tuple(start.start for start in starts)
    order = order_of(own)
    support = question.support([start.recording for start in starts], image)
    layouts, notes = layouts_of(image, question, support, question.compressors or ())
    columns: list[list[tuple[StartReads, int]]] = []
    for start in starts:
        column, doubts = _column(start, octets, layouts, order, question)
        columns.append(column)
        notes += doubts
    sizes = image_sizes(image, [size for _, size in columns[0]], layouts)
    rows = tuple(
        _row(layout, starts, [column[number][0] for column in columns], sizes[number])
        for number, layout in enumerate([None, *layouts])
    )
    notes += incomplete(starts, question.block_sizes)
    texts = tuple(dict.fromkeys((*unnamed(own), *notes)))
    compared = Compared(order, own, rows, texts, fragmented=image.superblock.fragmented)
    return compared.with_doubt(support)


def layouts_of(
    image: SquashfsImage, question: LayoutQuestion, support: Support, named: Sequence[str] = ()
) -> tuple[list[Layout], list[str]]:
    """Return the layouts to compare, the order alone first, and notes.

    Raises LayoutError if the kernel lacks a compressor that the user ``named``.
    """
    wanted = question.compressors or COMPRESSORS
    usable, notes = support.usable(wanted, named)
    known_compressors = [
        compressor
        for compressor in wanted
        if compressor in usable and remedy_of(compressor) is None
    ]
    notes += [
        f"{compressor} is not compared: its library is missing; {remedy}"
        for compressor in wanted
        if compressor in usable and (remedy := remedy_of(compressor)) is not None
    ]
    sizes = [size for size in question.block_sizes if size >= support.page_size]
    notes += [
        f"blocks of {size // KIB} KiB are not compared: the board's pages have "
        f"{support.page_size // KIB} KiB, and its kernel mounts no squashfs of smaller blocks"
        for size in question.block_sizes
        if size < support.page_size
    ]
    own = image.superblock.compressor
    first = [
        Layout(image.block_size, compressor, True)
        for compressor in COMPRESSORS
        if compressor == own in known_compressors
    ]
    if not first:
        notes.append(f"the order alone is not predicted: nothing here compresses with {own}")
    others = [
        Layout(size, compressor, ordered)
        for compressor in known_compressors
        for size in sizes
        for ordered in question.orders
    ]
    return list(dict.fromkeys([*first, *others])), notes


def _column(
    start: OnImage,
    octets: Octets,
    layouts: Sequence[Layout],
    order: Sequence[Ordered],
    question: LayoutQuestion,
) -> tuple[list[tuple[StartReads, int]], list[str]]:
    """Return what a start reads with each layout, with the bytes of all data, and notes."""
    reads_and_bytes: list[tuple[StartReads, int]] = []
    notes: list[str] = []
    present, timed = None, None
    for image_case in cases(
        start, octets, layouts, order, present_window(start.inputs, start.disk)
    ):
        if present is None:
            present = image_case
            timed, notes = _timing(start, image_case, question)
        reads = counted(start, image_case, present)
        each = StartReads(
            requests=reads.requests,
            read_bytes=reads.read_bytes,
            unpacked_bytes=reads.unpacked_bytes,
            seconds=timed.seconds(image_case, reads) if timed else None,
        )
        reads_and_bytes.append((each, stored_bytes(image_case)))
    return reads_and_bytes, notes


def _timing(
    start: OnImage, present: Case, question: LayoutQuestion
) -> tuple[Timing | None, list[str]]:
    """Return what times a start; None where the cost of the disk is unknown."""
    device = device_from(question.device)
    try:
        timed = timing(start, present, question.unpacking or {}, device)
    except DeviceModelError as error:
        if device is not None:
            raise
        return None, [f"no seconds: {error}; {error.remedy}"]
    doubts = (f"doubt about the seconds: {doubt}" for doubt in timed.doubts)
    return timed, [Note(doubt, NoteKind.ANSWER) for doubt in doubts]


def _row(
    layout: Layout | None, starts: Sequence[OnImage], reads: Sequence[StartReads], image_bytes: int
) -> LayoutRow:
    """Return a row: what each start reads, and the means by weight."""
    image = starts[0].image
    weights = [start.start.weight for start in starts]

    def mean(values: Sequence[float]) -> float:
        return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)

    seconds = [start_reads.seconds for start_reads in reads if start_reads.seconds is not None]
    return LayoutRow(
        present=layout is None,
        ordered=layout is not None and layout.ordered,
        block_size=layout.block_size if layout else image.block_size,
        compressor=layout.compressor if layout else image.superblock.compressor,
        image_bytes=image_bytes,
        starts=tuple(reads),
        requests=mean([start_reads.requests for start_reads in reads]),
        read_bytes=mean([start_reads.read_bytes for start_reads in reads]),
        seconds=mean(seconds) if len(seconds) == len(reads) else None,
    )


def stored_bytes(image_case: Case) -> int:
    """Return the bytes of all data; blocks that no start reads are estimated by those read."""
    image = image_case.image
    return int(image.blocks["length"].sum()) + int(image.fragments["length"].sum())


def image_sizes(
    image: SquashfsImage, stored: Sequence[int], layouts: Sequence[Layout]
) -> list[int]:
    """Return the sizes of images by their data; the present image's size corrects the estimate.

    The estimates of the present block size and compressor, in the same order where there is one,
    and of the present image are of the same data, which compress better or worse than what the
    starts read.
    """
    present = image.superblock.bytes_used
    own = (image.block_size, image.superblock.compressor)
    estimates = list(zip(stored[1:], layouts, strict=True))
    same = {
        layout.ordered: stored[0] / size
        for size, layout in estimates
        if (layout.block_size, layout.compressor) == own and size
    }
    some = next(iter(same.values()), 1.0)
    tables = max(present - stored[0], 0)
    sizes = [tables + round(size * same.get(layout.ordered, some)) for size, layout in estimates]
    return [present, *sizes]
