"""One recording of a comparison: its reads at its own window, by file, and its seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.diff.document import DiffSide
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.counts import FIXED
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.linux import model_for, release_of
from foreread.analyzer.predict.prediction import Prediction
from foreread.analyzer.predict.seconds import LADDER
from foreread.analyzer.predict.start import Start
from foreread.analyzer.predict.waste import waste
from foreread.analyzer.predict.window import predict as predict_fixed
from foreread.boards.base.units import kib_to_pages, pages_to_kib
from foreread.emulator import MAX_WINDOW
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import Version, rules_for, version_of
from foreread.emulator.linux.windows import Emulation


@dataclass(frozen=True, eq=False)
class ByFile:
    """The requests and pages of each file (row) at one window."""

    requests: Array
    pages: Array


@dataclass(frozen=True, eq=False)
class Side:
    """A recording with its prediction at its own ``window`` (pages).

    ``inputs``, ``version`` and ``start`` belong to the kernel's model; ``start`` is None without
    seconds, and all three are None for the fixed window.
    """

    recording: Recording
    prediction: Prediction
    window: int
    by_file: ByFile
    inputs: Inputs | None = None
    version: Version | None = None
    start: Start | None = None

    @property
    def kib(self) -> int:
        """The window in KiB."""
        return pages_to_kib(self.window, self.recording.page_size)

    @property
    def seconds(self) -> float | None:
        """The predicted seconds at the window."""
        return self.prediction.total.seconds_at(self.window)

    def document(self) -> DiffSide:
        """Return the side for the JSON document."""
        total, capture = self.prediction.total, self.recording.capture
        at = total.windows.index(self.window)
        best = total.predicted_best
        page = self.recording.page_size
        return DiffSide(
            path=self.recording.path or "",
            recorded=capture.created,
            kernel=self.recording.kernel,
            machine=capture.host.machine if capture.host else None,
            board=capture.host.board if capture.host else None,
            model=self.prediction.model,
            disk=self.prediction.disk_cost,
            read_ahead_kb=self.kib,
            window_is=self.prediction.reference.name,
            best_read_ahead_kb=None if best is None else pages_to_kib(best, page),
            accessed=total.tap,
            requests=total.f[at],
            pages=total.pages[at],
            metadata_requests=total.metadata_requests,
            seconds=self.seconds,
            seconds_low=None if total.seconds_low is None else total.seconds_low[at],
            seconds_high=None if total.seconds_high is None else total.seconds_high[at],
        )


def window_of(recording: Recording) -> int:
    """Return the window (pages) of the recorded board."""
    pages = kib_to_pages(predict_fixed(recording, [0]).reference.kb, recording.page_size)
    return min(pages, MAX_WINDOW)


def side_of(
    recording: Recording, windows: Sequence[int], model: str | None, device: DeviceModel | None
) -> Side:
    """Return a recording, predicted at ``windows`` (pages); its own window is the first."""
    chosen = model or model_for(recording)
    predicted_windows = sorted({0, *windows, *LADDER})
    own = windows[0]
    if chosen == FIXED:
        prediction = predict_by(recording, FIXED, predicted_windows)
        wasted = waste(recording, own)
        accessed = recording.files["accessed"].astype(np.int64)
        by_file = ByFile(wasted.requests, accessed + wasted.wasted)
        return Side(recording, prediction, own, by_file)
    prediction = predict_by(recording, chosen, predicted_windows, device)
    version = version_of(release_of(prediction.model))
    start = prediction.starts[0] if prediction.starts else None
    start_inputs = inputs(recording, version) if start is None else start.inputs
    by_file = counts_by_file(start_inputs, version, own)
    return Side(recording, prediction, own, by_file, start_inputs, version, start)


def counts_by_file(start_inputs: Inputs, version: Version, window: int) -> ByFile:
    """Return the requests and pages of each file at ``window`` (pages) under a kernel."""
    program = start_inputs.program
    files = len(program.files)
    requests, pages = np.zeros((2, files), np.int64)
    on_disk = start_inputs.disk_of_file[program.file_of_operations()]
    for row in range(len(start_inputs.disks)):
        part = replace(program, operations=program.operations[on_disk == row])
        machine, limits = start_inputs.machine(row)
        group = np.arange(files, dtype=np.uint32)
        emulation = Emulation(
            part, rules_for(version), machine, limits, start_inputs.extents, group
        )
        reads = emulation.counts([window])
        requests += reads.requests[:, 0]
        pages += reads.pages[:, 0]
    return ByFile(requests, pages)
