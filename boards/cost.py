"""The cost of a storage device's requests, in board profiles and device-model files.

docs/explanation/disk.md has the formulas; the modules of emulator/devices/ compute them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Text = Annotated[str, Meta(min_length=1, max_length=4000)]
Count = Annotated[int, Meta(ge=1, le=1 << 53)]
Amount = Annotated[int, Meta(ge=0, le=1 << 53)]
# The upper limit also keeps out infinity, and either limit NaN.
Rate = Annotated[float, Meta(gt=0, le=1e15)]
Time = Annotated[float, Meta(ge=0, le=1e15)]
Share = Annotated[float, Meta(ge=0, le=1)]

_TICK_MS = 4  # granularity of a limiter's waits
# How a figure was obtained. "set": the driver or a limit sets the figure.
Obtained = Literal["published", "measured", "assumed", "set"]


class Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A table of a profile; unknown keys and values out of range are errors."""


class Calibration(Part, frozen=True, kw_only=True):
    """The source of measured figures, and their errors.

    ``error_median`` and ``error_worst`` are relative errors of the measured throughputs.
    """

    date: Text
    kernel: Text
    tool: Text
    device: Text
    error_median: Time
    error_worst: Time


class _Cost(Part, frozen=True, kw_only=True):
    """``band``: standard error of the figures, as a share."""

    obtained: Obtained
    source: Text | UnsetType = UNSET
    band: Share = 0.0
    calibration: Calibration | UnsetType = UNSET


class FixedCost(_Cost, frozen=True, kw_only=True, tag_field="model", tag="fixed"):
    """Requests are served one at a time: a fixed time each, and a time by length."""

    latency_us: Time
    ns_per_kib: Time


class PacedCost(_Cost, frozen=True, kw_only=True, tag_field="model", tag="paced"):
    """Two simultaneous limits: the stricter one determines the time.

    The device grants the budget of ``slice_ms`` at once (100, the default: the kernel's limiter,
    blkio and io.max); 0: requests pass evenly. ``latency_us`` and ``ns_per_kib`` are the device's
    without the limits.
    """

    requests_per_second: Rate | UnsetType = UNSET
    bytes_per_second: Rate | UnsetType = UNSET
    slice_ms: Annotated[float, Meta(ge=0, le=1e5)] = 100.0
    latency_us: Time = 0.0
    ns_per_kib: Time = 0.0

    def __post_init__(self) -> None:
        if self.requests_per_second is UNSET and self.bytes_per_second is UNSET:
            raise ValueError("a paced device needs requests_per_second or bytes_per_second")
        if 0 < self.slice_ms < _TICK_MS:
            raise ValueError(f"slice_ms is 0, or at least {_TICK_MS}")


class CostPoint(Part, frozen=True, kw_only=True):
    """The time of requests of a size: of a single one, and (``occupancy_us``) of one of many."""

    request_kib: Rate
    sequential: bool = False
    latency_us: Rate
    occupancy_us: Rate | UnsetType = UNSET


class MeasuredCost(_Cost, frozen=True, kw_only=True, tag_field="model", tag="measured"):
    """Measured times by size of the request, sizes rising, separately at random and in order."""

    points: Annotated[list[CostPoint], Meta(min_length=1, max_length=10_000)]

    def __post_init__(self) -> None:
        for sequential in (False, True):
            sizes = [point.request_kib for point in self.points if point.sequential == sequential]
            if any(smaller >= larger for smaller, larger in pairwise(sizes)):
                raise ValueError("the sizes of points must rise")


class StatefulCost(_Cost, frozen=True, kw_only=True, tag_field="model", tag="stateful"):
    """The cost of a request depends on earlier requests.

    ``parallel`` latencies pass at once. With ``unit_kib`` the disk reads whole units and keeps the
    last ``kept_units``; a request from them costs ``hit_us`` and ``hit_ns_per_kib``. A request that
    does not begin at the end of the previous one costs ``seek_us`` more, and ``seek_us_per_root``
    times the square root of the distance in KiB. After ``fast_kib`` without an idle ``rest_ms``, a
    KiB costs ``slow_ns_per_kib``. ``jitter_us`` is the mean of a random latency.
    """

    latency_us: Time
    ns_per_kib: Time
    parallel: Annotated[int, Meta(ge=1, le=32)] = 1
    unit_kib: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    kept_units: Annotated[int, Meta(ge=1, le=256)] = 1
    hit_us: Time = 0.0
    hit_ns_per_kib: Time = 0.0
    seek_us: Time = 0.0
    seek_us_per_root: Time = 0.0
    fast_kib: Annotated[int, Meta(ge=0, le=1 << 31)] = 0
    slow_ns_per_kib: Time = 0.0
    rest_ms: Time = 0.0
    jitter_us: Time = 0.0


Cost = FixedCost | PacedCost | MeasuredCost | StatefulCost
