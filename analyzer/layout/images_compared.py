"""What starts read from an image of EROFS or ext4, and from others of the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.layout.document import LayoutRow, StartReads
from foreread.analyzer.layout.image_start import (
    ImageStart,
    RecordedStart,
    present_window,
    recorded_start,
)
from foreread.analyzer.layout.on_erofs import on_erofs
from foreread.analyzer.layout.on_ext4 import on_ext4
from foreread.analyzer.layout.opened_image import kind_of
from foreread.analyzer.layout.seconds import Unpacking
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.boards.base.counted import plural
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.erofs import ErofsImage, read_erofs
from foreread.emulator.images.ext4 import Ext4Image, read_ext4
from foreread.emulator.images.source import Octets

NO_COMPRESSOR = "none"
_ALGORITHMS = ("lz4", "lzma", "deflate", "zstd")  # Z_EROFS_COMPRESSION_*
_SHOWN_MISSING = 3


@dataclass(frozen=True)
class ErofsLayout:
    """A way to build an image; ``ordered``: in the order of the starts."""

    compressor: str
    cluster_size: int  # bytes: the largest compressed cluster
    ordered: bool


class ImageStarts:
    """Recorded starts, and the image that they were recorded on."""

    def __init__(
        self,
        recordings: Sequence[Recording],
        octets: Octets,
        weights: Sequence[float],
        mountpoint: str | None,
        unpacking: Mapping[str, Unpacking],
        device: DeviceModel | None,
    ) -> None:
        self.mountpoint, self.weights, self.unpacking = mountpoint, list(weights), unpacking
        tables = tables_of(octets)
        self.kind = described(tables)
        self.present = [
            _start(recording, tables, mountpoint, weight)
            for recording, weight in zip(recordings, weights, strict=True)
        ]
        self.notes: list[str] = []
        self.timed = [self._timed(start, device) for start in self.present]
        self._doubt()

    def row(self, octets: Octets, layout: ErofsLayout | None) -> LayoutRow:
        """Return what the starts read of an image; ``layout`` is None for the present one."""
        tables = tables_of(octets)
        compressor, cluster_size = described(tables)
        starts = [
            _start(start.recording, tables, self.mountpoint, weight)
            for start, weight in zip(self.present, self.weights, strict=True)
        ]
        reads = [
            self._reads(start, timed, compressor)
            for start, timed in zip(starts, self.timed, strict=True)
        ]
        seconds = [start_reads.seconds for start_reads in reads if start_reads.seconds is not None]

        def mean(values: Sequence[float]) -> float:
            pairs = zip(self.weights, values, strict=True)
            return sum(weight * value for weight, value in pairs) / sum(self.weights)

        return LayoutRow(
            present=layout is None,
            ordered=layout is not None and layout.ordered,
            block_size=layout.cluster_size if layout else cluster_size,
            compressor=layout.compressor if layout else compressor,
            image_bytes=len(octets),
            starts=tuple(reads),
            requests=mean([start_reads.requests for start_reads in reads]),
            read_bytes=mean([start_reads.read_bytes for start_reads in reads]),
            seconds=mean(seconds) if len(seconds) == len(reads) else None,
        )

    def _reads(self, start: ImageStart, timed: RecordedStart | None, compressor: str) -> StartReads:
        window, page = present_window(start.inputs, start.disk), start.recording.page_size
        counts = start.counts(window)
        hidden = timed.hidden if timed else 0
        return StartReads(
            requests=counts.requests + hidden,
            read_bytes=counts.read_bytes + hidden * page,
            unpacked_bytes=counts.unpacked,
            seconds=self._seconds(start, timed, window, compressor),
        )

    def _seconds(
        self, start: ImageStart, timed: RecordedStart | None, window: int, compressor: str
    ) -> float | None:
        """Return the seconds; None where the disk's cost or the time to unpack is unknown."""
        times = self.unpacking.get(compressor)
        if timed is None or (times is None and compressor != NO_COMPRESSOR):
            return None
        own = self.unpacking.get(self.kind[0])
        if own is None and self.kind[0] != NO_COMPRESSOR:
            return None
        costs = [measured.page_ns if measured else 0.0 for measured in (times, own)]
        return timed.seconds(start, window, *costs)

    def _timed(self, start: ImageStart, device: DeviceModel | None) -> RecordedStart | None:
        try:
            recorded = recorded_start(start, device)
        except DeviceModelError as error:
            if device is not None:
                raise
            self.notes.append(Note(f"no seconds: {error}; {error.remedy}", NoteKind.ANSWER))
            return None
        doubts = (f"doubt about the seconds: {doubt}" for doubt in recorded.doubts)
        self.notes += [Note(doubt, NoteKind.ANSWER) for doubt in doubts]
        return recorded

    def _doubt(self) -> None:
        for number, start in enumerate(self.present, start=1):
            which = f" of capture {number}" if len(self.present) > 1 else ""
            if start.missing:
                some = ", ".join(start.missing[:_SHOWN_MISSING])
                missing = plural(len(start.missing), "file", "is")
                self.notes.append(f"{missing} not in the image{which}: {some}")
        if self.kind[0] != NO_COMPRESSOR:
            self.notes.append(
                "images that are not compressed may read more: the start was recorded from "
                "compressed clusters, which hide what is touched inside of them"
            )


def tables_of(octets: Octets) -> ErofsImage | Ext4Image:
    """Return the tables of an image of EROFS or ext4. Raises ImageError for others."""
    return read_erofs(octets) if kind_of(octets) == "EROFS" else read_ext4(octets)


def _start(
    recording: Recording, tables: ErofsImage | Ext4Image, mountpoint: str | None, weight: float
) -> ImageStart:
    if isinstance(tables, ErofsImage):
        return on_erofs(recording, tables, mountpoint, weight)
    return on_ext4(recording, tables, mountpoint, weight)


def described(image: ErofsImage | Ext4Image) -> tuple[str, int]:
    """Return the compressor of most files of an image, and its largest cluster (bytes)."""
    if isinstance(image, Ext4Image):
        return NO_COMPRESSOR, image.superblock.block_size
    used = [
        _ALGORITHMS[(places.algorithms & 15) % len(_ALGORITHMS)]
        for places in image.indexes
        if places is not None
    ]
    if not used:
        return NO_COMPRESSOR, image.superblock.block_size
    packed = image.pieces[(image.pieces["packed"] > 0) & (image.pieces["fragment"] == 0)]
    largest = int(packed["stored"].max(initial=0))
    block = image.superblock.block_size
    return max(set(used), key=used.count), -(-largest // block) * block
