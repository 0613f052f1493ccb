"""The device's cost of a request: learnt from a capture's own requests, or given in a file.

Fixed cost: service time = latency + KiB × time per KiB, one request at a time (emulator/device.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np

from analyzer.ingest.tables import Array, Rwbs, Table
from boards.profile import FixedCost as ProfileCost
from boards.profile import Profile, ProfileError, load_profile
from emulator.device import FixedCost

FEWEST = 20  # requests to learn from
FEWEST_LARGE = 3  # of them of another size than the commonest
_ROUNDS = 50  # of the regression; it settles in a few
_LARGEST_FILE = 1 << 20
_Cost = Annotated[float, msgspec.Meta(ge=0, le=1e12)]

REMEDY = "give the device's cost: --device-model FILE"


class DeviceModelError(ValueError):
    """A device whose cost is not known; ``remedy`` says what to do."""

    def __init__(self, message: str, remedy: str = REMEDY) -> None:
        super().__init__(message)
        self.remedy = remedy


class _Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["fixed"]
    latency_us: _Cost
    ns_per_kib: _Cost


def read_device_model(name_or_file: str) -> FixedCost:
    """Return the cost in a TOML file, or that of the storage of a board profile.

    The file has ``kind = "fixed"``, ``latency_us`` and ``ns_per_kib``, or is a board profile.
    Raises DeviceModelError or ProfileError.
    """
    path = Path(name_or_file)
    if not path.is_file():
        return _of_profile(load_profile(name_or_file), name_or_file)
    with path.open("rb") as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise DeviceModelError(f"{path}: larger than {_LARGEST_FILE} bytes")
    if b"storage" in data:
        return _of_profile(load_profile(str(path.absolute())), name_or_file)
    try:
        model = msgspec.toml.decode(data, type=_Model)
    # tomllib recurses, and gives up on hostile nesting with RecursionError.
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise DeviceModelError(
            f"{path}: {str(error) or type(error).__name__}",
            'give kind = "fixed", latency_us and ns_per_kib, or a board profile',
        ) from error
    return FixedCost(model.latency_us * 1000, model.ns_per_kib)


def _of_profile(profile: Profile, where: str) -> FixedCost:
    costs = [s.cost for s in profile.storage if isinstance(s.cost, ProfileCost)]
    if len(costs) != 1:
        raise ProfileError(
            f"{where}: {len(costs)} storage devices with a fixed cost, where one is needed",
            "give a file with kind, latency_us and ns_per_kib",
        )
    return FixedCost(costs[0].latency_us * 1000, costs[0].ns_per_kib)


def learn(requests: Table) -> FixedCost:
    """Return the cost of the reads of one disk (REQUESTS), by least absolute deviations.

    A request that was issued while another was served begins when that one is complete. Raises
    DeviceModelError where there are too few, or all of one size.
    """
    reads = (requests["flags"] & Rwbs.READ) > 0
    if not (requests["complete_ns"][reads] > 0).all():
        missing = int((requests["complete_ns"][reads] == 0).sum())
        if missing * 20 > reads.sum():
            raise DeviceModelError(f"{missing} of {reads.sum()} reads have no completion")
    taken = requests.take((requests["complete_ns"] > 0) & (requests["sectors"] > 0))
    service = _service(taken)
    wanted = (taken["flags"] & Rwbs.READ) > 0
    kib, service = taken["sectors"][wanted] / 2, service[wanted]
    if len(kib) < FEWEST:
        raise DeviceModelError(f"only {len(kib)} reads: too few to learn the device's cost from")
    sizes, counts = np.unique(kib, return_counts=True)
    if counts.sum() - counts.max() < FEWEST_LARGE:
        usual = sizes[counts.argmax()]
        each = float(np.median(service[kib == usual])) / 1000
        raise DeviceModelError(
            f"nearly all reads are of {usual:g} KiB ({each:,.0f} µs each): how much of that is "
            "for the size cannot be told"
        )
    return _fit(kib, service)


def _service(requests: Table) -> Array:
    """Return how long each request was served (ns)."""
    complete = requests["complete_ns"].astype(np.float64)
    before = np.concatenate(([0.0], np.maximum.accumulate(complete)[:-1]))
    return np.asarray(complete - np.maximum(requests["issue_ns"].astype(np.float64), before))


def _fit(kib: Array, service: Array) -> FixedCost:
    """Fit service = latency + kib × slope with equal weight for each size.

    Least absolute deviations, by least squares that are weighted again and again: a few requests
    that took long, since the machine was busy, do not count. Without the sizes' weight thousands
    of small requests would outvote the few large ones.
    """
    sizes, of_size, counts = np.unique(kib, return_inverse=True, return_counts=True)
    medians = np.array([np.median(service[of_size == row]) for row in range(len(sizes))])
    x = np.column_stack((np.ones(len(sizes)), sizes))
    base = np.sqrt(counts)
    weight = base
    slope = np.zeros(2)
    for _ in range(_ROUNDS):
        root = np.sqrt(weight)
        slope = np.linalg.lstsq(x * root[:, None], medians * root, rcond=None)[0]
        weight = base / np.maximum(np.abs(medians - x @ slope), 1.0)
    latency, per_kib = (max(float(value), 0.0) for value in slope)
    spread = float(np.median(np.abs(service - latency - per_kib * kib)))
    return FixedCost(latency, per_kib, spread)
