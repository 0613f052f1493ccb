"""One recording of a comparison: what it reads at its own window, by file, and its seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzer.diff.document import DiffSide
from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.predict.choice import predict_by
from analyzer.predict.inputs import Inputs, inputs
from analyzer.predict.linux import FIXED, PREFIX, model_for
from analyzer.predict.prediction import Prediction
from analyzer.predict.seconds import LADDER
from analyzer.predict.start import Start
from analyzer.predict.waste import waste
from analyzer.predict.window import predict as predict_fixed
from boards.base.units import kib_to_pages, pages_to_kib
from emulator import MAX_WINDOW
from emulator.devices.device import DeviceModel
from emulator.linux.rules import Version, rules_for, version_of
from emulator.linux.windows import Emulation


@dataclass(frozen=True, eq=False)
class ByFile:
    """What each file (row) is read with at one window."""

    requests: Array
    pages: Array


@dataclass(frozen=True, eq=False)
class Side:
    """A recording with its prediction at ``window`` (pages), the one that it has.

    ``taken``, ``version`` and ``start`` are of the kernel's model; ``start`` is None without
    seconds, all three with the fixed window.
    """

    recording: Recording
    prediction: Prediction
    window: int
    by_file: ByFile
    taken: Inputs | None = None
    version: Version | None = None
    start: Start | None = None

    @property
    def kib(self) -> int:
        """Its window in KiB."""
        return pages_to_kib(self.window, self.recording.page_size)

    @property
    def seconds(self) -> float | None:
        """The predicted seconds at its window."""
        return self.prediction.total.seconds_at(self.window)

    def document(self) -> DiffSide:
        """Return it as JSON has it."""
        total, capture = self.prediction.total, self.recording.capture
        at = total.windows.index(self.window)
        best = total.predicted_best
        page = self.recording.page_size
        return DiffSide(
            path=self.recording.path or "",
            recorded=capture.created if capture else None,
            kernel=self.recording.kernel,
            machine=capture.host.machine if capture else None,
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
    """Return the window (pages) that a recording's board has."""
    found = kib_to_pages(predict_fixed(recording, [0]).reference.kb, recording.page_size)
    return min(found, MAX_WINDOW)


def side_of(
    recording: Recording, windows: Sequence[int], model: str | None, device: DeviceModel | None
) -> Side:
    """Return a recording, predicted at ``windows`` (pages), of which the first is its own."""
    chosen = model or model_for(recording)
    wanted = sorted({0, *windows, *LADDER})
    own = windows[0]
    if chosen == FIXED:
        prediction = predict_by(recording, FIXED, wanted)
        found = waste(recording, own)
        accessed = recording.files["accessed"].astype(np.int64)
        by_file = ByFile(found.requests, accessed + found.wasted)
        return Side(recording, prediction, own, by_file)
    prediction = predict_by(recording, chosen, wanted, device)
    version = version_of(prediction.model.removeprefix(f"{PREFIX}-"))
    start = prediction.starts[0] if prediction.starts else None
    taken = inputs(recording, version) if start is None else start.taken
    by_file = counts_by_file(taken, version, own)
    return Side(recording, prediction, own, by_file, taken, version, start)


def counts_by_file(taken: Inputs, version: Version, window: int) -> ByFile:
    """Return what each file of a start is read with at ``window`` (pages) under a kernel."""
    program = taken.program
    files = len(program.files)
    requests, pages = np.zeros((2, files), np.int64)
    on_disk = taken.disk_of_file[program.file_of_operations()]
    for row in range(len(taken.disks)):
        part = replace(program, operations=program.operations[on_disk == row])
        machine, limits = taken.machine(row)
        group = np.arange(files, dtype=np.uint32)
        emulation = Emulation(part, rules_for(version), machine, limits, taken.extents, group)
        found = emulation.counts([window])
        requests += found.requests[:, 0]
        pages += found.pages[:, 0]
    return ByFile(requests, pages)
