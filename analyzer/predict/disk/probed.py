"""The disk's cost from the capture's probe: its raw requests are fitted as those of `calibrate`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreread.analyzer.ingest.tables import REQUESTS, Rwbs, Table
from foreread.analyzer.predict.disk.calibration import SMALLEST_BAND, Trial, explain
from foreread.analyzer.predict.disk.device_model import DeviceModelError, device_of, is_held_back
from foreread.analyzer.predict.disk.slices import Held, held, held_trial, limiter
from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.devices.measured import Measured
from foreread.tracer.formats.disk_probe import DiskProbe, PageReads, ProbeTrial

_FEWEST = 3  # requests that a trial needs to be usable
_FEWEST_TRIALS = 2
_SLICES_NS = 4e8
_EXPLAINED, _MOST_ERROR = 0.15, 1.0  # median and 90th percentile of the trials' errors
_MORE_TRIALS = 2  # than fitted figures: fewer always fit
_ONE_SIZE = 0.95  # part of the run's requests that are of one size
_REMEDY = "give the disk's cost (--device-model FILE; `foreread calibrate` writes one)"


@dataclass(frozen=True)
class Probed:
    """The disk by a capture's probe; ``how`` names the source, and its accuracy."""

    device: DeviceModel
    how: str


class LimiterUnknownError(DeviceModelError):
    """A limiter delays the disk, and the measurements do not determine its limits."""


def device_of_probe(disk: DiskProbe, requests: Table | None = None) -> Probed:
    """Return the device that the probe's requests show, or the one that the board was given.

    ``requests`` are those of the recorded run to this disk: a limiter held them, too. Raises
    DeviceModelError where these show none: too few, or impossible times.
    """
    if disk.known is not None:
        return Probed(device_of(disk.known), "as configured when the emulated board was started")
    if any(trial.how == "buffered" for trial in disk.trials):
        from foreread.analyzer.predict.disk.learnt import learn_disk  # noqa: PLC0415  (old probes)

        return Probed(learn_disk(_requests_of(disk)), _how(disk))
    trials = trials_of(disk)
    own = _held_run(requests) if requests is not None else None
    if own is not None or any(held_trial(trial) for trial in trials):
        return _limited(disk, trials, own)
    fit = explain(_longest(trials))
    most = np.percentile(np.abs(fit.errors), 90)
    too_few = len(fit.errors) < fit.figures + _MORE_TRIALS
    if too_few or fit.median > _EXPLAINED or most > _MOST_ERROR:
        raise DeviceModelError(
            f"the capture's probe of {disk.name} is inconsistent: the machine was busy",
            f"record again, or {_REMEDY}",
        )
    device = fit.with_band()
    if isinstance(device, Measured):
        # A table reproduces its input; its accuracy comes from comparing the halves of trials.
        device = replace(device, band=min(max(fit.band, _scatter(trials_of(disk))), 1.0))
    return Probed(device, _how(disk))


def _limited(disk: DiskProbe, trials: list[Trial], own: Held | None) -> Probed:
    """Return the limiter that the trials and the run show; raises LimiterUnknownError."""
    known = limiter(trials, own)
    if known is not None:
        device, band = known
        return Probed(replace(device, band=min(max(band, SMALLEST_BAND), 1.0)), _how(disk))
    raise LimiterUnknownError(
        f"a limiter of the kernel throttles {disk.name}, and the capture's probe does not show the "
        "limit: the machine was busy",
        f"record again, or {_REMEDY}",
    )


def _held_run(requests: Table) -> Held | None:
    """Return how the limiter delayed the run's requests, nearly all of one size."""
    sectors, counts = np.unique(requests["sectors"], return_counts=True)
    if not counts.sum() or counts.max() < _ONE_SIZE * counts.sum() or not is_held_back(requests):
        return None
    return held(float(sectors[counts.argmax()]) / 2, np.sort(requests["issue_ns"]).astype(float))


def _scatter(trials: list[Trial]) -> float:
    """Return by how much the usual latency of a trial's halves differs, median of all trials."""
    halves = [np.array_split(trial.latency_ns, 2) for trial in trials]
    first, second = np.array([[np.median(half) for half in pair] for pair in halves]).T
    return float(np.median(np.abs(first - second) / np.maximum(first + second, 1.0)))


def _how(disk: DiskProbe) -> str:
    reads = plural(disk.requests, "read")
    return f"by the capture's probe of {disk.name} ({reads} in {disk.seconds:.1f} s)"


def _requests_of(disk: DiskProbe) -> Table:
    """Return the requests that block events timed, in order of issue."""
    rows = [
        (start, end, trial.request_bytes // 512, at // 512)
        for trial in disk.trials
        for start, end, at in zip(trial.issue_ns, trial.complete_ns, trial.offset, strict=True)
    ]
    rows.sort()
    columns = np.array(rows, np.uint64).reshape(-1, 4).T
    zeros = np.zeros(columns.shape[1], np.uint64)
    by_name = {
        "issue_ns": columns[0] + np.uint64(1),
        "complete_ns": columns[1] + np.uint64(1),
        "sectors": columns[2],
        "sector": columns[3],
        "flags": zeros + np.uint64(Rwbs.READ),
    }
    return Table(
        REQUESTS,
        {c.name: by_name.get(c.name, zeros).astype(c.dtype) for c in REQUESTS.columns},
    )


def page_cost(disk: DiskProbe | None, page_bytes: int) -> float:
    """Return the cost (ns) of inserting a page into the page cache, without its transfer.

    Reads into the cache take longer than direct reads. The cost is the growth of that difference
    from the smaller to the larger reads, per page; 0.0 where the probe has no such reads.
    """
    if disk is None or len(disk.pages) < 2:
        return 0.0
    small, large = min(disk.pages, key=_size), max(disk.pages, key=_size)
    pages = (large.request_bytes - small.request_bytes) / page_bytes
    columns = (small.direct_ns, small.cached_ns, large.direct_ns, large.cached_ns)
    if pages <= 0 or not all(columns):
        return 0.0
    return max((_longer(large) - _longer(small)) / pages, 0.0)


def _size(reads: PageReads) -> int:
    return reads.request_bytes


def _longer(reads: PageReads) -> float:
    """Return how much longer (ns) the typical read into the cache took than a direct read."""
    return float(np.median(reads.cached_ns) - np.median(reads.direct_ns))


def probe_text(disk: DiskProbe) -> str:
    """Return one line on a capture's probe: its reads, and the resulting device."""
    read = f"{disk.name}: "
    if disk.known is None:
        group = f" in cgroup {disk.group}" if disk.group else ""
        read += f"{plural(disk.requests, 'read')} in {disk.seconds:.1f} s{group}: "
    try:
        return read + device_of_probe(disk).device.describe()
    except DeviceModelError as error:
        return f"{read}{error}"


def _longest(trials: list[Trial]) -> list[Trial]:
    """Return the trials that a limiter delayed for several slices, or all if there are none."""
    held = [trial for trial in trials if trial.done_ns[-1] > _SLICES_NS]
    if len(held) < 2:
        return trials
    return held if any(trial.depth == 1 for trial in held) else [*_alone(trials), *held]


def _alone(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.depth == 1]


def probe_of(probe: DiskProbe | None, dev: str) -> DiskProbe | None:
    """Return a recording's probe if it is of the disk "major:minor"; None otherwise."""
    return probe if probe is not None and probe.dev == dev else None


def trials_of(disk: DiskProbe) -> list[Trial]:
    """Return the probe's trials that are long enough; raises DeviceModelError if too few are."""
    trials = [_trial(trial) for trial in disk.trials if _tells(trial)]
    smallest = min((trial.kib for trial in trials), default=0)
    alone = any(trial.depth == 1 and trial.kib == smallest for trial in trials)
    if len(trials) < _FEWEST_TRIALS or not alone:
        raise DeviceModelError(f"the capture's probe of {disk.name} has too few requests", _REMEDY)
    return trials


def _tells(trial: ProbeTrial) -> bool:
    done = trial.complete_ns
    return len(done) >= _FEWEST and trial.request_bytes >= 1024 and max(done) > min(done)


def _trial(trial: ProbeTrial) -> Trial:
    """Return a trial that begins at 0, in order of completion."""
    issue, done = (np.array(rows, np.float64) for rows in (trial.issue_ns, trial.complete_ns))
    order = np.argsort(done, kind="stable")
    latency = np.maximum(done - issue, 1.0)[order]
    return Trial(
        trial.request_bytes // KIB,
        trial.sequential,
        trial.depth,
        done[order] - issue.min(),
        latency,
    )
