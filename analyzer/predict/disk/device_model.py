"""The device's cost: learnt from a capture's own requests, or given in a file.

boards/cost.py has the kinds of cost; emulator/ has a model of each.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.tables import Array, Rwbs, Table
from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.counted import plural
from foreread.boards.base.document import shown
from foreread.boards.cost import Calibration, Cost, CostPoint, MeasuredCost, PacedCost, StatefulCost
from foreread.boards.cost import FixedCost as FixedFigures
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.measured import Measured, Point
from foreread.emulator.devices.paced import THROTL_SLICE_NS, Paced
from foreread.emulator.devices.stateful import Stateful

if TYPE_CHECKING:
    from foreread.boards.profile import Profile

FEWEST = 20  # requests to learn from
FEWEST_LARGE = 3  # of them of another size than the commonest
_STALL_NS = 8e6  # two ticks of the clock
_FEWEST_BURSTS = 8
_IDLE_SHARE = 0.3
_IN_SLICES = 0.5  # of the idle time; of bursts at random a sixth would be
_ROUNDS = 50  # of the regression; it settles in a few
_FITS, _SEED = 20, 2010  # lines through requests drawn anew, for the standard error

REMEDY = "give the device's cost: --device-model FILE; `foreread calibrate` writes one"
_BY_HAND = (
    'give kind = "fixed" with latency_us and ns_per_kib, kind = "paced" with requests_per_second '
    "and bytes_per_second, what `foreread calibrate` wrote, or a board profile"
)


class DeviceModelError(AnalyzerError, ValueError):
    """A device of unknown cost; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str = REMEDY) -> None:
        super().__init__(message, remedy)


class UnexplainedError(DeviceModelError):
    """Requests whose cost depends on a property that no kind of disk has."""


def device_from(given: DeviceModel | StrPath | None) -> DeviceModel | None:
    """Return a device as it is, or the one that a name or a file stands for; None for None."""
    return read_device_model(given) if isinstance(given, (str, os.PathLike)) else given


def read_device_model(name_or_file: StrPath) -> DeviceModel:
    """Return the device of a part; raises as ``read_part``."""
    return read_part(name_or_file).device


@dataclass(frozen=True)
class StoragePart:
    """A device model with its name, and the source of its figures."""

    name: str
    source: str
    cost: Cost

    @property
    def device(self) -> DeviceModel:
        """Its device."""
        return device_of(self.cost)


def read_part(name_or_file: StrPath) -> StoragePart:
    """Return the device model in a TOML file or of a name.

    The file is a board profile, or has a ``kind`` and its parameters (boards/cost.py); the name is
    of a kind in boards/disks.toml, of a part in boards/parts.toml, or of a board.
    Raises DeviceModelError or ProfileError.
    """
    # Few predictions are given a device.
    from foreread.boards.base.toml_document import parse_toml, read_toml  # noqa: PLC0415
    from foreread.boards.disks import costly_kinds  # noqa: PLC0415
    from foreread.boards.parts import published_parts  # noqa: PLC0415
    from foreread.boards.profile import ProfileError, builtin_names, load_profile  # noqa: PLC0415

    path, name = Path(name_or_file), str(name_or_file)
    if not path.is_file():
        kind = costly_kinds().get(name)
        if kind is not None:
            return StoragePart(name, kind.source, kind.own_cost())
        part = published_parts().get(name)
        if part is not None:
            return StoragePart(name, f"{part.title}: {part.source}", part.cost())
        if name in builtin_names():
            return _of_profile(load_profile(name), name)
        raise DeviceModelError(
            f"no file and no storage part is called {name!r}",
            f"choose from {', '.join((*costly_kinds(), *published_parts()))}, a board of `foreread "
            "boards list`, or the file of `foreread calibrate -o FILE DEVICE`",
        )
    try:
        table = parse_toml(read_toml(path, _BY_HAND))
        if "kind" not in table and ("storage" in table or "schema" in table):
            return _of_profile(load_profile(str(path.absolute())), name)
        return _part(name, _cost(table))
    except (ProfileError, UnboundedError):
        raise
    except (msgspec.ValidationError, ValueError) as error:
        raise DeviceModelError(f"{path}: {shown(error)}", _BY_HAND) from error


def _part(name: str, cost: Cost, *sources: str) -> StoragePart:
    """Return a part; its source is that of the figures, or else the first of ``sources``."""
    measured = cost.calibration
    if not isinstance(measured, UnsetType):
        sources = (f"{measured.device}, {measured.tool}, {measured.date}", *sources)
    if not isinstance(cost.source, UnsetType):
        sources = (cost.source, *sources)
    return StoragePart(name, next(iter(sources), ""), cost)


def _cost(table: dict[str, object]) -> Cost:
    """Return the cost in a device-model file, where ``kind`` says which."""
    if "model" in table:
        raise ValueError("unknown field `model`: a device-model file has `kind`")
    named = {"model" if key == "kind" else key: value for key, value in table.items()}
    cost: Cost = msgspec.convert({"obtained": "assumed"} | named, type=Cost)
    return cost


def _of_profile(profile: Profile, where: str) -> StoragePart:
    costs = [s.cost for s in profile.storage if not isinstance(s.cost, UnsetType)]
    if len(costs) != 1:
        from foreread.boards.profile import ProfileError  # noqa: PLC0415  (as above)

        raise ProfileError(
            f"{where}: {len(costs)} storage devices with a known cost, where one is needed",
            "give a device-model file: `foreread calibrate` writes one",
        )
    return _part(where, costs[0], *profile.sources, profile.title)


def device_of(cost: Cost) -> DeviceModel:
    """Return the device of the figures in a profile or a device-model file."""
    if isinstance(cost, FixedFigures):
        return FixedCost(cost.latency_us * 1000, cost.ns_per_kib, band=cost.band)
    if isinstance(cost, MeasuredCost):
        return Measured(tuple(_point(point) for point in cost.points), cost.band)
    if isinstance(cost, StatefulCost):
        return _stateful(cost)
    requests, size = cost.requests_per_second, cost.bytes_per_second
    return Paced(
        inf if isinstance(requests, UnsetType) else requests,
        inf if isinstance(size, UnsetType) else size,
        FixedCost(cost.latency_us * 1000, cost.ns_per_kib),
        slice_ns=cost.slice_ms * 1e6,
        band=cost.band,
    )


def _stateful(cost: StatefulCost) -> Stateful:
    return Stateful(
        latency_ns=cost.latency_us * 1000,
        ns_per_kib=cost.ns_per_kib,
        parallel=cost.parallel,
        unit_kib=cost.unit_kib,
        kept_units=cost.kept_units,
        hit_ns=cost.hit_us * 1000,
        hit_ns_per_kib=cost.hit_ns_per_kib,
        seek_ns=cost.seek_us * 1000,
        seek_ns_per_root=cost.seek_us_per_root * 1000,
        fast_kib=cost.fast_kib,
        slow_ns_per_kib=cost.slow_ns_per_kib,
        rest_ns=cost.rest_ms * 1e6,
        jitter_ns=cost.jitter_us * 1000,
        band=cost.band,
    )


def _point(point: CostPoint) -> Point:
    latency = point.latency_us * 1000
    each = point.occupancy_us
    occupancy = latency if isinstance(each, UnsetType) else each * 1000
    return Point(point.request_kib, point.sequential, latency, occupancy)


def cost_of(device: DeviceModel, band: float, calibration: Calibration) -> Cost:
    """Return the figures of a measured device, as files hold them."""
    if isinstance(device, Measured):
        points = [
            CostPoint(
                request_kib=point.kib,
                sequential=point.sequential,
                latency_us=_figure(point.latency_ns / 1000),
                occupancy_us=_figure(point.occupancy_ns / 1000),
            )
            for point in device.points
        ]
        return MeasuredCost(
            obtained="measured", band=_figure(band), calibration=calibration, points=points
        )
    line = device.base if isinstance(device, Paced) else device
    if not isinstance(line, FixedCost):
        raise TypeError(f"no figures are known of a {type(device).__name__}")
    latency, per_kib = _figure(line.latency_ns / 1000), _figure(line.ns_per_kib)
    if not isinstance(device, Paced):
        return FixedFigures(
            obtained="measured",
            band=_figure(band),
            calibration=calibration,
            latency_us=latency,
            ns_per_kib=per_kib,
        )
    requests, size = device.requests_per_second, device.bytes_per_second
    return PacedCost(
        obtained="measured",
        band=_figure(band),
        calibration=calibration,
        requests_per_second=_figure(requests) if requests < inf else UNSET,
        bytes_per_second=_figure(size) if size < inf else UNSET,
        slice_ms=device.slice_ns / 1e6,
        latency_us=latency,
        ns_per_kib=per_kib,
    )


def _figure(value: float) -> float:
    """Return a measured figure without insignificant digits."""
    return float(f"{value:.4g}")


def learn(requests: Table) -> FixedCost:
    """Return the cost of the reads of one disk (REQUESTS), by least absolute deviations.

    A request that was issued while another was served begins when that one is complete. Raises
    DeviceModelError where there are too few, or all of one size.
    """
    reads = (requests["flags"] & Rwbs.READ) > 0
    if not (requests["complete_ns"][reads] > 0).all():
        missing = int((requests["complete_ns"][reads] == 0).sum())
        if missing * 20 > reads.sum():
            raise DeviceModelError(
                f"{missing} of {plural(int(reads.sum()), 'read', 'has')} no completion"
            )
    completed = requests.take((requests["complete_ns"] > 0) & (requests["sectors"] > 0))
    if is_held_back(completed):
        raise DeviceModelError(
            "reads come in bursts 100 ms apart: a limiter of the kernel (blkio, io.max) throttles "
            "this disk, and the capture does not show the limit",
            "measure it within the same limits: foreread calibrate -o FILE DEVICE; then add "
            "--device-model FILE",
        )
    service = _service(completed)
    wanted = (completed["flags"] & Rwbs.READ) > 0
    kib, service = completed["sectors"][wanted] / 2, service[wanted]
    if len(kib) < FEWEST:
        raise DeviceModelError(f"only {plural(len(kib), 'read')}: too few to fit the device's cost")
    sizes, counts = np.unique(kib, return_counts=True)
    if counts.sum() - counts.max() < FEWEST_LARGE:
        usual = sizes[counts.argmax()]
        each = float(np.median(service[kib == usual])) / 1000
        raise DeviceModelError(
            f"nearly all reads are of {usual:g} KiB ({each:,.0f} µs each): the share that "
            "depends on the size is unknown"
        )
    return _fit(kib, service)


def is_held_back(requests: Table) -> bool:
    """Return whether the disk idles for most of the time, until the next slice of a limiter."""
    issue = requests["issue_ns"].astype(np.float64)
    complete = np.maximum.accumulate(requests["complete_ns"].astype(np.float64))
    if requests.rows < FEWEST:
        return False
    idle = issue[1:] - complete[:-1]
    bursts = np.flatnonzero(idle > _STALL_NS)
    if len(bursts) < _FEWEST_BURSTS or idle[bursts].sum() < _IDLE_SHARE * (issue[-1] - issue[0]):
        return False
    slices = np.diff(issue[bursts + 1]) / THROTL_SLICE_NS
    whole = np.round(slices)
    near = (whole >= 1) & (np.abs(slices - whole) * THROTL_SLICE_NS <= _STALL_NS)
    stalled = idle[bursts[1:]]
    return float(stalled[near].sum()) >= _IN_SLICES * float(stalled.sum())


def _service(requests: Table) -> Array:
    """Return how long each request was served (ns)."""
    complete = requests["complete_ns"].astype(np.float64)
    before = np.concatenate(([0.0], np.maximum.accumulate(complete)[:-1]))
    return np.asarray(complete - np.maximum(requests["issue_ns"].astype(np.float64), before))


def _fit(kib: Array, service: Array) -> FixedCost:
    """Fit service = latency + kib × slope with equal weight for each size.

    Least absolute deviations, by least squares that are weighted again and again: so a few requests
    that took long because the machine was busy have no effect. Without the weights per size,
    thousands of small requests would outvote the few large ones.
    """
    latency, per_kib = _line(kib, service)
    spread = float(np.median(np.abs(service - latency - per_kib * kib)))
    return FixedCost(latency, per_kib, spread, _standard_error(kib, service))


def _line(kib: Array, service: Array) -> tuple[float, float]:
    sizes, of_size, counts = np.unique(kib, return_inverse=True, return_counts=True)
    medians = np.array([np.median(service[of_size == row]) for row in range(len(sizes))])
    return fit_line(sizes, medians, np.sqrt(counts))


def _standard_error(kib: Array, service: Array) -> float:
    """Return the relative errors of the time of a page, and of a request of the largest size.

    They come from lines through requests that are drawn with replacement.
    """
    rng = np.random.default_rng(_SEED)
    draws = rng.integers(len(kib), size=(_FITS, len(kib)))
    lines = np.array([_line(kib[rows], service[rows]) for rows in draws])
    times = lines[:, :1] + lines[:, 1:] * np.array([[kib.min(), kib.max()]])
    return float((times.std(axis=0) / np.maximum(times.mean(axis=0), 1.0)).max())


def fit_line(kib: Array, times: Array, weights: Array) -> tuple[float, float]:
    """Return latency and time per KiB (neither below 0) by weighted least absolute deviations."""
    x = np.column_stack((np.ones(len(kib)), kib))
    weight = weights
    line = np.zeros(2)
    for _ in range(_ROUNDS):
        root = np.sqrt(weight)
        line = np.linalg.lstsq(x * root[:, None], times * root, rcond=None)[0]
        weight = weights / np.maximum(np.abs(times - x @ line), 1.0)
    latency, per_kib = line.tolist()
    if latency < 0:
        return 0.0, float(np.median(times / kib))
    return (latency, per_kib) if per_kib >= 0 else (float(np.median(times)), 0.0)
