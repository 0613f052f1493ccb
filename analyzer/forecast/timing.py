"""Seconds of a recorded start under two kernels, if its capture allows them."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.analyzer.forecast.kernel import Kernel, Side, start_under
from foreread.analyzer.forecast.seconds import Both, predict_both
from foreread.analyzer.predict import remedy
from foreread.analyzer.predict.disk.device_model import DeviceModelError
from foreread.analyzer.predict.inputs import Inputs
from foreread.analyzer.predict.seconds import LADDER
from foreread.analyzer.predict.start import Start, again, prepare
from foreread.boards.base.units import pages_to_kib
from foreread.emulator.devices.device import DeviceModel

MODEL = "--model"


@dataclass(frozen=True)
class Missing:
    """The reason why there are no seconds, and the command that obtains them."""

    why: str
    remedy: str
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Timing:
    """The seconds of a ``start`` on the disk in row ``row`` of Inputs.

    ``windows`` are the other kernel's windows: pages to KiB. ``now`` and ``then`` are the windows
    of the present and the other kernel in pages.
    """

    start: Start
    row: int
    both: Both
    windows: dict[int, int]
    now: int
    then: int

    def seconds(self, kernel: Kernel) -> float:
        """Return the seconds under a kernel with its window."""
        window = kernel.disks[self.row].window(self.start.recording.page_size)
        start = start_under(self.start, kernel, self.row)
        return start.timed([window], recorded=self.both.recorded)[0].total_ns / 1e9

    def notes(self) -> tuple[str, ...]:
        """Return the assumptions of the seconds."""
        return (*self.start.notes, again(self.start, self.both.recorded))


def timing_of(
    inputs: Inputs, now: Side, then: Side, device: DeviceModel | None
) -> Timing | Missing:
    """Return the seconds under both kernels; raises DeviceModelError for a wrong ``device``."""
    try:
        start = prepare(inputs, now.version, device)
    except DeviceModelError as error:
        if device is not None:
            raise
        command = remedy.for_forecast(error.remedy, inputs.recording, MODEL, then.model)
        return Missing(str(error), command)
    row, page = inputs.disks.index(start.disk), inputs.recording.page_size
    first, last = (side.kernel.disks[row].window(page) for side in (now, then))
    windows = sorted({*LADDER, first, last})
    starts = (start_under(start, now.kernel, row), start_under(start, then.kernel, row))
    alike = now.kernel.reads_as(then.kernel)
    versions = (now.version, then.version)
    both = predict_both(starts, (sorted({0, first}), windows), versions, alike)
    if both.unusable:
        return _unusable(both, start, then, by_disk=device is not None)
    kib = {window: pages_to_kib(window, page) for window in windows}
    return Timing(starts[0], row, both, kib, first, last)


def _unusable(both: Both, start: Start, then: Side, by_disk: bool) -> Missing:
    """Return why the seconds must not be used; ``by_disk``: the disk's cost was passed in."""
    recording = start.recording
    command = remedy.record_again(recording)
    if by_disk and all(doubt.of_disk for doubt in both.doubts if doubt.unusable):
        command = remedy.calibrate(recording, start.disk)
        command = remedy.for_forecast(command, recording, MODEL, then.model)
    doubts = tuple(doubt.text for doubt in both.doubts)
    return Missing(both.unusable or "", command, doubts)
