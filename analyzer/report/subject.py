"""The data of one report, with derived data that several of its parts need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from foreread.analyzer.advise.document import AdviceDocument
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Rwbs
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kernel_waste import Caused, kernel_waste
from foreread.analyzer.predict.linux import release_of
from foreread.analyzer.predict.prediction import Curve, Prediction, Reference
from foreread.analyzer.predict.validate import Validation
from foreread.analyzer.predict.waste import Waste, waste
from foreread.analyzer.predict.window import predict
from foreread.analyzer.prefetch.measured import Listed
from foreread.analyzer.tuner.findings.results import Results
from foreread.boards.base.printable import printable
from foreread.boards.base.units import KIB
from foreread.emulator import MAX_WINDOW
from foreread.emulator.linux.rules import Version, series_text, version_of
from foreread.tracer.formats.capture import dev_text
from foreread.tracer.formats.sweep import Sweep


@dataclass(frozen=True)
class Subject:
    """One recording with its prediction and, where there are some, its measurements."""

    recording: Recording
    prediction: Prediction
    sweep: Sweep | None
    validation: Validation | None
    listed: Listed | None = None
    tuned: Results | None = None
    advice: AdviceDocument | None = None

    @property
    def command(self) -> list[str] | None:
        """Return the recorded command, if the file contains it."""
        return self.recording.capture.command

    @property
    def page_kb(self) -> float:
        """Return the page size in KiB."""
        return self.prediction.page_size / KIB

    @property
    def window(self) -> int:
        """Return the recommended window in pages; the present one if none is recommended."""
        kb = self.prediction.verdict.read_ahead_kb
        return min(self.current_window, MAX_WINDOW) if kb is None else int(kb // self.page_kb)

    @property
    def window_kb(self) -> int:
        """Return the same in KiB."""
        return int(self.window * self.page_kb)

    @property
    def current_known(self) -> bool:
        """Whether the window in force before the recording is known."""
        return self.reference.in_force

    @property
    def current_kb(self) -> int:
        """Return the window found on the board, else the window of the reference."""
        return self.reference.kb

    @cached_property
    def reference(self) -> Reference:
        """The window that others are compared with."""
        return self.prediction.reference

    @property
    def current_window(self) -> int:
        """Return the window in force before, in pages."""
        return int(self.current_kb // self.page_kb)

    @property
    def several_devices(self) -> bool:
        """Whether pages came from more than one disk."""
        return len(self.prediction.devices) > 1

    @property
    def version(self) -> Version | None:
        """Return the kernel whose readahead was emulated; None for the fixed window."""
        release = release_of(self.prediction.model)
        return version_of(release) if release else None

    @property
    def model_name(self) -> str:
        """Return the source of the pages and requests."""
        version = self.version
        return "fixed window" if version is None else series_text(version)

    @cached_property
    def fixed_total(self) -> Curve:
        """The fixed window's figures, total, for the windows of the prediction."""
        if self.version is None:
            return self.prediction.total
        return self._fixed.total

    @property
    def compared(self) -> tuple[Curve, Curve]:
        """The curves by the prediction's model and by the fixed window, for the swept disk.

        That is the one disk whose reads the sweep counted, or else all disks.
        """
        pairs = [(self.prediction.total, self.fixed_total)]
        if self.validation is not None and self.version is not None:
            fixed = {curve.dev: curve for curve in self._fixed.devices}
            wanted = self.validation.device
            devices = [curve for curve in self.prediction.devices if curve.name == wanted]
            pairs = [(curve, fixed[curve.dev]) for curve in devices if curve.dev in fixed] or pairs
        return pairs[0]

    @cached_property
    def _fixed(self) -> Prediction:
        return predict(self.recording, self.prediction.total.windows)

    @cached_property
    def _of_kernel(self) -> tuple[Waste, list[Caused]] | None:
        if self.version is None:
            return None
        return kernel_waste(inputs(self.recording, self.version), self.version, self.window)

    @property
    def causes(self) -> list[Caused] | None:
        """The pages that each rule of the kernel reads at ``window``; None without such a count."""
        return None if self._of_kernel is None else self._of_kernel[1]

    @cached_property
    def waste(self) -> Waste:
        """The unused pages at ``window``, by file."""
        return waste(self.recording, self.window) if self._of_kernel is None else self._of_kernel[0]

    @cached_property
    def reads(self) -> Array:
        """Which of the recorded requests are reads of the disks that matter.

        All reads if no request is of such a disk: a foreign trace may only have partitions.
        """
        requests = self.recording.requests
        reads: Array = (requests["flags"] & Rwbs.READ) != 0
        disks = [_dev_t(curve.dev) for curve in self.prediction.worth_setting]
        ours: Array = reads & np.isin(requests["dev"], disks)
        return ours if ours.any() else reads

    @property
    def unanswered(self) -> int:
        """Return how many of these reads have no recorded completion."""
        return int((self.recording.requests["complete_ns"][self.reads] == 0).sum())

    @property
    def start_ns(self) -> int:
        """Return the trace clock's reading that figures call 0 seconds."""
        begin = self.recording.capture.start_ns
        if begin is not None:
            return begin
        times = self.recording.accesses["time_ns"]
        return int(times[0]) if len(times) else 0

    def path(self, file: int) -> str:
        """Return the path of a row of the files table, fit to be shown."""
        path = self.recording.paths[file]
        if path:
            return printable(path)
        dev, ino = (int(self.recording.files[name][file]) for name in ("dev", "ino"))
        return f"inode {ino} on {dev_text(dev)}"

    def name(self, file: int) -> str:
        """Return the last part of the path."""
        path = self.path(file)
        return PurePosixPath(path).name or path


def _dev_t(dev: str) -> int:
    """Return the number of ``major:minor``; -1, which is not a device, for anything else."""
    major, _, minor = dev.partition(":")
    return int(major) << 20 | int(minor) if major.isdecimal() and minor.isdecimal() else -1


def row_of(curve: Curve, window: int) -> int | None:
    """Return the row of ``window`` (pages) in ``curve``; None if it was not predicted."""
    return curve.windows.index(window) if window in curve.windows else None
