"""A start from compressed EROFS at every window, predicted with the image that it was recorded on.

The capture has no places and lengths of compressed clusters (analyzer/predict/clusters.py), the
image has them. The replay reads clusters as the kernel does, in place of the recorded requests that
it explains; the others, of names and of other processes, stay at their recorded times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.layout.cluster_cpu import ClusterCost, cluster_cost
from foreread.analyzer.layout.image_start import present_window, run_on
from foreread.analyzer.layout.images_compared import NO_COMPRESSOR, described
from foreread.analyzer.layout.on_erofs import OnErofs, on_erofs
from foreread.analyzer.layout.opened_image import kind_of, opened
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.analyzer.predict.bands import Bands, left_out
from foreread.analyzer.predict.conclusion import conclude
from foreread.analyzer.predict.counts import Counts, total_of
from foreread.analyzer.predict.disk.device_model import DeviceModelError, device_from
from foreread.analyzer.predict.disks import MetadataReads
from foreread.analyzer.predict.doubts.counts import of_counts
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.predict.doubts.kernel import of_model
from foreread.analyzer.predict.doubts.start import of_seconds
from foreread.analyzer.predict.linux import count_linux
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.seconds import LADDER, Seconds, replayed_bands, seconds_of
from foreread.analyzer.predict.start import Start, prepare
from foreread.analyzer.predict.verdict import Missing
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.images.erofs import ErofsImage, read_erofs
from foreread.emulator.images.erofs_kernel import CountingOnErofs
from foreread.emulator.images.erofs_reads import Read
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.steps import Timed
from foreread.tracer.formats.capture import dev_of

_LEAST_READ = 0.75  # of the clusters that are read at window 0
# Root mean square of the errors with clusters of more than a block (accuracy/filesystems.md).
_LARGE_SPREAD = 0.035


def predict_on_image(
    recording: Recording,
    image: StrPath,
    windows: Sequence[int] | None = None,
    device_model: DeviceModel | StrPath | None = None,
    mountpoint: str | None = None,
    unpacking: Mapping[str, Unpacking] | None = None,
) -> Prediction:
    """Predict what every window reads from an image of EROFS, and how long the start takes.

    ``windows`` are in pages (None: 21 from 0 to 1023); 0 and the board's own are added.
    ``mountpoint`` is where the image was mounted (None: where the start reads most). ``unpacking``
    is the time to unpack by compressor; without it, unpacking takes as long at every window as in
    the recording.

    Raises LayoutError if the capture is of another image or another file system, ImageError for a
    damaged image, DeviceModelError for a device model that cannot be read.
    """
    device = device_from(device_model)
    with opened(image) as octets:
        if kind_of(octets) != "EROFS":
            raise LayoutError(
                f"{image} is not an image of EROFS; captures of other file systems do not need it",
                "leave out --image",
            )
        tables = read_erofs(octets)
    start = on_erofs(recording, tables, mountpoint)
    compressor = described(tables)[0]
    wanted = sorted({0, present_window(start.inputs, start.disk), *(windows or LADDER)})
    kernels = [start.counting(window)[0] for window in wanted]
    unread = _unread_clusters(start, kernels[0])
    plain = count_linux(start.inputs, start.version, wanted)
    of_kernel = of_model(recording, start.version)
    doubts = [*of_counts(plain), *of_kernel.doubts, *unread]
    counts = _on_image(start, plain, kernels)
    try:
        replayed = prepare(start.inputs, start.version, device)
    except DeviceModelError as error:
        if device is not None:
            raise
        return conclude(counts, Missing(str(error), error.remedy), doubts, of_kernel.notes)
    cost = cluster_cost(recording, kernels[0].calls, first_sector(start))
    if cost is None:
        if compressor != NO_COMPRESSOR and compressor not in (unpacking or {}):
            return conclude(counts, _unknown(compressor), doubts, of_kernel.notes)
        cost = ClusterCost(replayed.cpu, 0.0, 0.0)
    if unpacking and compressor in unpacking:
        cost = replace(cost, unpack_page_ns=unpacking[compressor].page_ns)
    seconds = _TimedStart(start, replayed, kernels[0], cost).seconds(wanted)
    doubts += [*of_seconds(seconds), *large_clusters(start.image)]
    return conclude(counts, seconds, doubts, of_kernel.notes)


def _unread_clusters(start: OnErofs, at_zero: CountingOnErofs) -> list[Doubt]:
    """Return the doubt about clusters that the replay at window 0 reads and no request did.

    Raises LayoutError if most clusters of the image were not read where it has them.
    """
    here = [read.at // SECTOR + first_sector(start) for read in at_zero.reads if not read.metadata]
    requests = start.recording.requests
    begun = np.isin(here, requests["sector"][requests["dev"] == start.inputs.disks[start.disk]])
    if begun.size and begun.mean() < _LEAST_READ:
        raise LayoutError(
            "the capture was recorded on another build of the image: only "
            f"{begun.mean():.0%} of the clusters that the start needs of this one were read",
            "record again on this image, or give the image of that build",
        )
    unread = len(here) - int(np.count_nonzero(begun))
    if not unread:
        return []
    text = (
        f"the replay at the recorded window, 0 KiB, reads {plural(len(here), 'cluster')} of the "
        f"image; {unread:,} of them were not recorded"
    )
    return [Doubt(text)]


def _unknown(compressor: str) -> Missing:
    return Missing(
        f"the recording has too few clusters to learn how long {compressor} takes to unpack",
        "foreread layout CAPTURE --image IMAGE --target T -o layout "
        "(then give --unpacking layout/unpacking.json)",
    )


def _on_image(start: OnErofs, plain: Counts, kernels: Sequence[CountingOnErofs]) -> Counts:
    """Return the counts with requests and pages as they are read from the image."""
    f, pages = [], []
    for kernel in kernels:
        most = kernel.limits.max_sectors * SECTOR
        f.append(sum(-(-read.length // most) for read in kernel.reads if not read.metadata))
        pages.append(sum(1 << order for _, _, order, _ in kernel.outcome.inserts))
    page_size, image = plain.recording.page_size, start.inputs.disks[start.disk]
    read = sum(cluster.length for cluster in kernels[0].reads if not cluster.metadata) // page_size
    disks = []
    for disk in plain.disks:
        if dev_of(disk.dev) != image:
            disks.append(disk)
            continue
        # Clusters come through the pages of no file: the capture counts their reads as metadata.
        of = disk.metadata
        metadata = of and MetadataReads(max(of.requests - f[0], 0), max(of.pages - read, 0))
        disks.append(replace(disk, f=np.array(f), pages=np.array(pages), metadata=metadata))
    return replace(plain, disks=disks, total=total_of(disks, plain.windows))


@dataclass(frozen=True, eq=False)
class _TimedStart:
    """A start to be replayed on its image; ``at_zero`` is the kernel after it at window 0."""

    start: OnErofs
    replayed: Start
    at_zero: CountingOnErofs
    cost: ClusterCost

    def runs(self, windows: Sequence[int]) -> list[Timed]:
        """Return the replays under windows (pages), 0 among them."""
        replayed = self.replayed
        run = run_on(replayed, self.start)
        explained = _within(run.steps["sector"], self.at_zero.reads, first_sector(self.start))
        steps = run.steps.copy()
        steps["sectors"][explained & (steps["operation"] < 0)] = 0
        run = replace(run, steps=steps, program=self.start.without_filled(run.program))
        unpacking = self.cost.unpack_page_ns, self.cost.ready_page_ns
        before = self.start.replay(run, 0, replayed.device, None, None, *unpacking)
        # At window 0 the threads unpack themselves: each step's time there, in ns, is taken off.
        cpu = replace(self.cost.cpu, sector_ns=1.0)
        ahead, spared = replayed.reading_ahead(run, before, cpu)
        replays = []
        for window in windows:
            window_run, window_cpu = (ahead, spared) if window else (run, cpu)
            replays.append(
                self.start.replay(
                    window_run, window, replayed.device, window_cpu, before, *unpacking
                )
            )
        return replays

    def seconds(self, windows: list[int]) -> Seconds:
        """Return the seconds by window; their relative draws are as of files without clusters.

        A draw takes as long as a whole replay, which is slow here.
        """
        replayed, cost = self.replayed, self.cost
        runs = [self.runs(windows)]
        (seconds,) = seconds_of(runs)
        same_cost = replace(replayed, cpu=cost.cpu, cpu_samples=None)
        plain = replayed_bands([same_cost], windows, windows)[1]
        rest = left_out(replayed.device, seconds, float(seconds[windows.index(0)]))
        bands = Bands(windows, seconds, plain.draws * (seconds / plain.seconds), windows, rest)
        described = (
            f"{cost.cpu.describe()}, {cost.unpack_page_ns / 1000:.1f} µs to unpack a page and "
            f"{cost.ready_page_ns / 1000:.1f} µs to hand it over"
        )
        notes = [note.changed(replayed.cpu.describe(), described) for note in replayed.notes]
        present = present_window(self.start.inputs, self.start.disk)
        return Seconds((replayed,), runs, bands, present, tuple(notes), on_image=True)


def large_clusters(image: ErofsImage) -> Iterator[Doubt]:
    """Yield a doubt if an image has clusters that fill more than one block."""
    packed = image.pieces["stored"][(image.pieces["packed"] > 0) & (image.pieces["fragment"] == 0)]
    if int(packed.max(initial=0)) > image.superblock.block_size:
        yield Doubt(
            f"the image has compressed clusters of {int(packed.max()) // KIB} KiB; on boards such "
            "predictions were up to 9 % off",
            spread=_LARGE_SPREAD,
        )


def first_sector(start: OnErofs) -> int:
    """Return where the image begins on the disk."""
    recording = start.recording
    dev = int(recording.files["dev"][np.flatnonzero(start.file >= 0)[0]])
    mounts = recording.capture.mounts
    return next((mount.first_sector for mount in mounts if dev_of(mount.dev) == dev), 0)


def _within(sector: Array, reads: Iterable[Read], first: int) -> Array:
    """Return a mask of the sectors that lie within reads of the image."""
    spans = sorted((read.at // SECTOR, (read.at + read.length) // SECTOR) for read in reads)
    begin, stop = np.array(spans, np.int64).reshape(-1, 2).T
    if not len(begin):
        return np.zeros(len(sector), bool)
    at = sector.astype(np.int64) - first
    row = np.maximum(np.searchsorted(begin, at, side="right") - 1, 0)
    return np.asarray((at >= begin[row]) & (at < np.maximum.accumulate(stop)[row]))
