"""Values of genes other than the window that the replay of a start predicts, with every window.

Predicted are inode_readahead_blks of ext4, from the blocks of inode tables that a start needs;
max_sectors_kb, which splits requests; and nr_requests, where a request waits for room in the queue.
Which value is best depends on the window, and the other way round: each pair is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.start import Start
from foreread.analyzer.predict.verdict import KEEP_PERCENT
from foreread.analyzer.program.inode_tables import read_ahead
from foreread.boards.base.units import KIB, kib_to_pages, pages_to_kib
from foreread.emulator.devices.paced import Paced
from foreread.tracer.formats.capture import dev_of

INODES, LARGEST, QUEUE = "inode_readahead_blks", "max_sectors_kb", "nr_requests"
# The values to try: those of analyzer/tuner/space/catalogue.toml.
LEVELS = {
    INODES: (0, 8, 32, 128, 512),
    LARGEST: (16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
}
_FACTORS = (1 / 4, 1 / 2, 2, 4)  # of the present nr_requests
_FEWEST = 4  # BLKDEV_MIN_RQ
MORE = KEEP_PERCENT / 100  # of the seconds: the least that a further gene must save
_PASSES = 2  # over the genes: each may have a better value beside the others


@dataclass(frozen=True)
class Setting:
    """A value of a gene of the tuner's catalogue, by its name."""

    gene: str
    value: int

    def applied(self, start: Start) -> tuple[Start, Array]:
        """Return the start with it, and the rows of the steps before which others were added."""
        run = start.run
        if self.gene == INODES:
            run, rows = read_ahead(
                run, start.inode_tables, self.value, isinstance(start.device, Paced)
            )
            return replace(start, run=run), rows
        if self.gene == LARGEST:
            machine = replace(run.machine, io_pages=kib_to_pages(self.value, run.machine.page_size))
            limits = replace(run.limits, max_sectors_kb=self.value)
            run = replace(run, machine=machine, limits=limits)
        else:
            run = replace(run, limits=replace(run.limits, nr_requests=self.value))
        return replace(start, run=run), np.zeros(0, np.int64)


@dataclass(frozen=True)
class PredictedSettings:
    """The window and the values of genes that are predicted to be best together.

    ``genes`` has values by the genes' names in the tuner's catalogue; it is empty if no value saves
    enough beside the best window. ``read_ahead_kb`` is the best window beside them, ``seconds`` are
    those of both, ``by_window`` those of every window (KiB) with the genes in force. ``alone_kb``
    is the best window with the genes as they were found, and ``alone_seconds`` are its seconds. Of
    windows that differ by no more than MORE the smallest counts as the best.
    """

    genes: dict[str, int]
    read_ahead_kb: int
    seconds: float
    by_window: dict[int, float] = field(repr=False)
    alone_kb: int
    alone_seconds: float


def settings_of(start: Start, genes: Sequence[str] = (INODES, LARGEST, QUEUE)) -> list[Setting]:
    """Return the values other than the present ones that the replay of a start can predict."""
    values_of = {INODES: _inodes, LARGEST: _largest, QUEUE: _queue}
    return [Setting(gene, value) for gene in genes for value in values_of[gene](start)]


def _inodes(start: Start) -> Iterator[int]:
    present = {table.ahead for table in start.inode_tables}
    if present:
        yield from (value for value in LEVELS[INODES] if {value} != present)


def _largest(start: Start) -> Iterator[int]:
    """Yield largest requests that the disk takes; it must be known what it takes."""
    queue, page_kb = _queue_of(start), start.run.machine.page_size // KIB
    most, present = _number(queue, "max_hw_sectors_kb"), _number(queue, LARGEST)
    own = start.run.machine.io_pages * page_kb == start.run.limits.max_sectors_kb
    if most and present and own:
        values = (value for value in LEVELS[LARGEST] if page_kb <= value <= most)
        yield from (value for value in values if value != present)


def _queue(start: Start) -> Iterator[int]:
    """Yield lengths of a scheduler's queue; without a scheduler the disk's own is the longest."""
    queue = _queue_of(start)
    present = _number(queue, QUEUE)
    if isinstance(start.device, Paced) or "[none]" in queue.get("scheduler", "[none]"):
        return
    if present == start.run.limits.nr_requests:
        values = (int(present * factor) for factor in _FACTORS)
        yield from (value for value in values if value >= _FEWEST)


def _queue_of(start: Start) -> dict[str, str]:
    devices = start.recording.capture.devices
    from_dev = (device.queue for device in devices if dev_of(device.dev) == start.disk)
    return next(from_dev, {})


def _number(queue: dict[str, str], name: str) -> int:
    text = queue.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else 0


def seconds_with(
    starts: Sequence[Start], settings: Sequence[Setting], windows: Sequence[int]
) -> Array:
    """Return the seconds of each window (pages) with settings: medians over the starts."""
    changed = (_with(start, settings) for start in starts)
    each = [[run.total_ns / 1e9 for run in start.timed(list(windows))] for start in changed]
    return np.asarray(np.median(each, axis=0))


def _with(start: Start, settings: Sequence[Setting]) -> Start:
    for setting in settings:
        start, _ = setting.applied(start)
    return start


def best_settings(
    starts: Sequence[Start], windows: Sequence[int], settings: Sequence[Setting]
) -> PredictedSettings:
    """Return the best window (of ``windows``, pages, rising) and values of genes, together.

    Gene by gene every value is replayed with every window; a value is chosen if it saves more than
    MORE of the seconds.
    """
    alone = seconds_with(starts, (), windows)
    chosen: dict[str, Setting] = {}
    best = alone
    for _ in range(_PASSES):
        before = dict(chosen)
        for gene in dict.fromkeys(setting.gene for setting in settings):
            others = [setting for name, setting in chosen.items() if name != gene]
            for setting in settings:
                if setting.gene == gene and chosen.get(gene) != setting:
                    seconds = seconds_with(starts, [*others, setting], windows)
                    if seconds.min() < best.min() * (1 - MORE):
                        chosen[gene], best = setting, seconds
        if chosen == before:
            break
    kib = [pages_to_kib(window, starts[0].run.machine.page_size) for window in windows]
    together, single = _smallest(best), _smallest(alone)
    return PredictedSettings(
        genes={name: setting.value for name, setting in chosen.items()},
        read_ahead_kb=kib[together],
        seconds=float(best[together]),
        by_window=dict(zip(kib, best.tolist(), strict=True)),
        alone_kb=kib[single],
        alone_seconds=float(alone[single]),
    )


def _smallest(seconds: Array) -> int:
    """Return the row of the smallest window whose seconds are as good as the best."""
    return int(np.flatnonzero(seconds <= seconds.min() * (1 + MORE))[0])


def unpredicted(start: Start) -> str | None:
    """Return why the values of inode_readahead_blks are not predicted; None if they are."""
    capture = start.recording.capture
    mounts = {dev_of(mount.dev): mount for mount in capture.mounts}
    devices = start.recording.devices
    own = [mount for dev, mount in mounts.items() if devices.get(dev, dev) == start.disk]
    ext4 = [mount for mount in own if mount.fstype == "ext4"]
    if start.inode_tables or not ext4:
        return None
    known = any(mount.inode_tables is not None for mount in ext4)
    why = (
        "the start read no inode from the disk"
        if known
        else "the capture was recorded with readahead in inode tables, so it does not show which "
        "blocks of them the start needs: record again"
    )
    return f"no other {INODES} of {ext4[0].mountpoint} is predicted: {why}"
