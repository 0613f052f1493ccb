"""A recorded start under one kernel, as a row of a forecast."""

from __future__ import annotations

from foreread.analyzer.forecast.defaults import ForecastError, accessed_pages
from foreread.analyzer.forecast.document import ForecastCase
from foreread.analyzer.forecast.kernel import Side, counts
from foreread.analyzer.forecast.timing import Timing
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict import remedy
from foreread.analyzer.predict.inputs import Inputs
from foreread.emulator.linux.rules import Version, rules_for, version_of


def recorded_version(recording: Recording) -> Version:
    """Return the kernel that a start was recorded on; raises ForecastError and KernelError."""
    if recording.kernel is None:
        raise ForecastError(
            "the file does not contain the kernel that it was recorded on",
            f"record the start with foreread: {remedy.record_again(recording)}",
        )
    if not recording.accesses.rows:
        raise ForecastError(
            "the recording has no page that was read from a disk", remedy.record_again(recording)
        )
    version = version_of(recording.kernel)
    rules_for(version)
    return version


def most_read(start_inputs: Inputs) -> int:
    """Return the row of the disk with the most accessed pages."""
    pages = accessed_pages(start_inputs)
    return pages.index(max(pages))


def case_of(
    start_inputs: Inputs, side: Side, row: int, timing: Timing | None, recorded: bool = False
) -> ForecastCase:
    """Return the start under a kernel; ``recorded``: under the kernel of the recording."""
    reads = counts(start_inputs, side.kernel)
    disk = side.kernel.disks[row]
    seconds, low, high = None, None, None
    if timing is not None:
        column = timing.both.now if recorded else timing.both.then
        window = disk.window(start_inputs.recording.page_size)
        seconds, (low, high) = column.at(window), column.band(window)
    return ForecastCase(
        model=side.model,
        read_ahead_kb=disk.read_ahead_kb,
        requests=reads.requests,
        pages=reads.pages,
        unused=max(reads.pages - start_inputs.recording.accesses.rows, 0),
        seconds=seconds,
        seconds_low=low,
        seconds_high=high,
    )
