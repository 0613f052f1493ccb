"""Measures what requests of a disk cost, with fio, and finds the model that explains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.predict.disk.calibration import Found, Trial, explain
from foreread.analyzer.predict.disk.device_model import cost_of
from foreread.analyzer.predict.disk.document import CalibrationDocument, trial_documents
from foreread.boards.base.brief import brief
from foreread.boards.base.silent import silent
from foreread.boards.base.written import write_whole
from foreread.boards.cost import Calibration, Cost
from foreread.boards.open import LOCAL, open_target
from foreread.boards.profile_toml import encode_cost
from foreread.checks import checked_path, key_of
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.devices.measured import Measured
from foreread.emulator.devices.paced import Paced
from foreread.tracer.calibrate.fio import Place, find_place
from foreread.tracer.calibrate.limits import Limit, limits_elsewhere
from foreread.tracer.calibrate.run import measure_all
from foreread.version import VERSION


def _unwarned(limits: list[Limit]) -> None:
    pass


@dataclass(frozen=True, repr=False)
class Calibrated:
    """A measured disk: where, every trial, the model that explains them, and its cost."""

    __repr__ = brief

    place: Place
    trials: tuple[Trial, ...]
    found: Found
    cost: Cost

    @property
    def device(self) -> FixedCost | Paced | Measured:
        """The device, as :func:`foreread.predict` takes it."""
        return self.found.device

    @property
    def document(self) -> CalibrationDocument:
        """The document of ``foreread calibrate --json``."""
        return CalibrationDocument(
            device=self.place.path,
            size_bytes=self.place.size,
            cost=self.cost,
            summary=self.device.describe(),
            error_median=self.found.median,
            error_worst=self.found.worst,
            trials=trial_documents(list(self.trials), self.found),
        )

    def to_json(self) -> str:
        """Return the document of ``foreread calibrate --json``."""
        return self.document.to_json()

    def write(self, output: StrPath) -> None:
        """Write the device model (TOML), which ``predict`` reads."""
        write_whole(output, encode_cost(self.cost).encode())


def calibrate(
    device: StrPath,
    *,
    target: str = LOCAL,
    identity: StrPath | None = None,
    tell: Callable[[str], None] = silent,
    limited: Callable[[list[Limit]], None] = _unwarned,
    progress: Callable[[int, int], None] = silent,
) -> Calibrated:
    """Measure what requests of a disk cost, by reading it with fio for less than a minute.

    Args:
        device: block device, large file, or directory on the disk; it is only read.
        target: the machine, as in :func:`foreread.record`.
        identity: private key that logs in to an ssh target.
        tell: is called with each step, in words.
        limited: is called with the cgroup limits on the disk that this measurement is outside of.
        progress: is called before each trial with the trials that are done, and their total.

    Raises:
        CalibrateError: fio is missing, or the disk cannot be measured.
        TargetError: the target cannot be reached.
    """
    name = str(checked_path(device, "device"))
    with open_target(target, identity=key_of(identity), tell=tell) as opened:
        place = find_place(opened, name)
        if place.disk:
            limited(limits_elsewhere(opened, place.disk))
        seen = measure_all(opened, place, progress)
    trials = tuple(
        Trial(
            measured.job.kib,
            measured.job.sequential,
            measured.job.depth,
            measured.done_ns,
            measured.latency_ns,
        )
        for measured in seen
    )
    explained = explain(trials)
    return Calibrated(
        place, trials, explained, cost_of(explained.device, explained.band, _of(place, explained))
    )


def _of(place: Place, explained: Found) -> Calibration:
    return Calibration(
        date=datetime.now(UTC).date().isoformat(),
        kernel=place.kernel,
        tool=f"{place.fio}, foreread {VERSION}",
        device=place.path,
        error_median=round(explained.median, 4),
        error_worst=round(explained.worst, 4),
    )
