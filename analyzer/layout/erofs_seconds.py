"""The seconds of a recorded start on an image of EROFS: the replay, with the time to unpack."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from analyzer.layout.on_erofs import OnErofs
from analyzer.predict.start import Start, prepare
from analyzer.program.plug import with_plugs
from emulator.devices.device import DeviceModel
from emulator.images.erofs_kernel import TimedOnErofs
from emulator.images.erofs_reads import ErofsReader
from emulator.linux.requests import SECTOR
from emulator.linux.timed import CpuCost, Timed, timed
from emulator.linux.timed_windows import timed_windows


@dataclass(frozen=True, eq=False)
class RecordedStart:
    """A start as it was recorded, ready to be replayed on other images."""

    replayed: Start
    recorded: Timed  # its replay at window 0 on the recorded file system
    requests: int  # of metadata, in the replay as they were recorded

    @property
    def page_size(self) -> int:
        """The page size of the recording."""
        return self.replayed.recording.page_size


def recorded_start(start: OnErofs, device: DeviceModel | None = None) -> RecordedStart:
    """Return a start to be timed. Raises DeviceModelError if the cost of the disk is unknown."""
    replayed = prepare(start.taken, start.version, device)
    recorded = timed_windows(replayed.run, [0], replayed.device)[0]
    steps = replayed.run.steps
    as_it_was = (steps["operation"] < 0) & (steps["sectors"] > 0)
    return RecordedStart(replayed, recorded, int(as_it_was.sum()))


def erofs_seconds(
    base: RecordedStart, start: OnErofs, window: int, unpack_page_ns: float, more_metadata: int
) -> float:
    """Return the seconds of a start on an image under a window (pages).

    ``unpack_page_ns`` is the processor's time to unpack a page; ``more_metadata`` are the requests
    of metadata before the replay's own, in addition to the recorded ones (or fewer).
    """
    replayed = base.replayed
    run = replace(
        replayed.run,
        program=replace(replayed.run.program, files=start.files()),
        layout=start.layout(),
    )
    cpu = replayed.cpu
    if replayed.unplugged_ns and window:
        run = with_plugs(run, base.recorded, replayed.unplugged_ns)
        cpu = replace(cpu, request_ns=max(cpu.request_ns - replayed.unplugged_ns, 0.0))
    sector_ns = unpack_page_ns * SECTOR / base.page_size
    cost = CpuCost(cpu.request_ns, cpu.page_ns, sector_ns)
    kernel = partial(TimedOnErofs, reader=_known(start), rows=start.rows)
    found = timed(run, window, replayed.device, cost, base.recorded, kernel)
    queue = replayed.device.queue()
    one = queue.submit(0.0, 0, base.page_size // SECTOR)
    return (found.total_ns + more_metadata * one) / 1e9


def _known(start: OnErofs) -> ErofsReader:
    """Return the mounted image with all metadata in memory: the replay has their reads."""
    reader, _ = start.reader()
    return reader
