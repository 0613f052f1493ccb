"""The timed replay in C of many cases: windows, devices and costs, in parallel threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from foreread.emulator import _linux
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.measured import Measured
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.parallel import in_threads
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.linux.windows import errors

_FIXED, _PACED, _MEASURED, _STATEFUL = 0.0, 1.0, 2.0, 3.0  # enum lx_device_kind
Result = TypeVar("Result")
_TIMES, _WORK = 4, 4  # of a case; of a step of a case
# struct lx_case: a device is the ``numbers`` numbers of a batch's devices from ``device`` on.
CASE = np.dtype(
    [
        ("request_ns", "f8"),
        ("page_ns", "f8"),
        ("sector_ns", "f8"),
        ("cold_ns", "f8"),
        ("cold_share", "f8"),
        ("window", "i8"),
        ("device", "u8"),
        ("numbers", "u8"),
    ],
    align=True,
)


@dataclass(frozen=True, eq=False)
class Case:
    """A run to replay under one window (pages) of a device.

    The ``cpu`` cost counts from ``recorded``; without it computing is as it was.
    """

    run: Run
    window: int
    device: DeviceModel
    cpu: CpuCost = field(default_factory=CpuCost)
    recorded: Timed | None = None


def timed_windows(
    run: Run,
    windows: Sequence[int],
    device: DeviceModel,
    cpu: CpuCost | None = None,
    recorded: Timed | None = None,
) -> list[Timed]:
    """Replay a run, recorded at window 0, under each of ``windows`` (pages).

    The ``cpu`` cost counts from ``recorded``, or where it is None from the replay at 0. The same as
    stepwise/timed.py for each window. Raises EmulationError for a run that cannot be.
    """
    before = recorded or timed_cases([Case(run, 0, device)])[0]
    if recorded is None and cpu is None and list(windows) == [0]:
        return [before]
    cost = cpu or CpuCost()
    return timed_cases([Case(run, window, device, cost, before) for window in windows])


def timed_cases(cases: Sequence[Case]) -> list[Timed]:
    """Replay cases; consecutive cases of one run share its checks and its memory.

    Raises EmulationError for a run that cannot be.
    """
    return in_threads(partial(_by_batch, _timed_batch), cases)


def total_ns(cases: Sequence[Case]) -> npt.NDArray[np.float64]:
    """Return the duration (ns) of each case: ``Timed.total_ns``. Raises as ``timed_cases``."""
    return np.array(in_threads(partial(_by_batch, _total_batch), cases), np.float64)


def _by_batch(
    replay: Callable[[Sequence[Case]], Iterable[Result]], cases: Sequence[Case]
) -> Iterator[Result]:
    """Yield the results of ``replay`` for each batch: consecutive cases of one run."""
    for _, batch in groupby(cases, lambda case: (id(case.run), id(case.recorded))):
        yield from replay(list(batch))


def _timed_batch(cases: Sequence[Case]) -> Iterator[Timed]:
    steps = len(cases[0].run.steps)
    work = np.zeros((len(cases), steps, _WORK), np.int64)
    over = np.zeros((len(cases), steps))
    times, ends = _replay(cases, work.reshape(-1), over.reshape(-1))
    for row, (total, compute, waited, unused) in enumerate(times.tolist()):
        yield Timed(total, compute, waited, unused, ends[row], work[row], over[row])


def _total_batch(cases: Sequence[Case]) -> list[float]:
    times, _ = _replay(cases, np.zeros(0, np.int64), np.zeros(0))
    totals: list[float] = times[:, 0].tolist()
    return totals


def _replay(
    cases: Sequence[Case], work: npt.NDArray[np.int64], over: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Replay cases of one run; return their times and the ends of their threads."""
    run, recorded = cases[0].run, cases[0].recorded
    before = np.zeros(0, np.int64) if recorded is None else recorded.work.ravel()
    records, devices = _records(cases)
    times = np.zeros((len(cases), _TIMES))
    ends = np.zeros((len(cases), int(run.steps["thread"].max(initial=0)) + 1))
    outputs = (times.reshape(-1), ends.reshape(-1), work, over)
    fill: Callable[..., None] = _linux.replay
    with errors():
        fill(*run.tables, before, records, devices, *outputs, run.tail_ns, run.cpus, run.ends)
    return times, ends


def _records(cases: Sequence[Case]) -> tuple[npt.NDArray[np.void], npt.NDArray[np.float64]]:
    """Return cases as the core reads them (CASE), and the numbers of their devices."""
    numbers: list[float] = []
    places: dict[int, tuple[int, int]] = {}
    for case in cases:
        if id(case.device) not in places:
            device = device_numbers(case.device)
            places[id(case.device)] = len(numbers), len(device)
            numbers += device
    rows = [(*case.cpu.numbers, case.window, *places[id(case.device)]) for case in cases]
    return np.array(rows, CASE), np.array(numbers, np.float64)


def device_numbers(device: DeviceModel) -> list[float]:
    """Return kind and numbers of a device (core/linux/device.h); EmulationError for other kinds."""
    match device:
        case FixedCost():
            return [_FIXED, *_costs(device)]
        case Paced():
            rates = [device.requests_per_second, device.bytes_per_second]
            return [_PACED, *rates, device.slice_ns, device.tick_ns, *_costs(device.base)]
        case Measured():
            tables = [device.times(sequential) for sequential in (False, True)]
            sizes = [float(len(latency.sizes)) for latency, _ in tables]
            columns = [
                (*latency.sizes, *latency.values, *occupancy.values)
                for latency, occupancy in tables
            ]
            return [_MEASURED, *sizes, *columns[0], *columns[1]]
        case Stateful():
            return [_STATEFUL, *_stateful(device)]
    raise EmulationError(
        f"a device of type {type(device).__name__} cannot be replayed",
        "pass FixedCost, Paced, Measured or Stateful",
    )


def _stateful(device: Stateful) -> list[float]:
    return [
        device.latency_ns,
        device.ns_per_kib,
        device.hit_ns,
        device.hit_ns_per_kib,
        device.seek_ns,
        device.seek_ns_per_root,
        device.slow_ns_per_kib,
        device.rest_ns,
        device.jitter_ns,
        device.handover_ns,
        device.parallel,
        device.unit_kib,
        device.kept_units,
        device.fast_kib,
        device.seed,
    ]


def _costs(device: FixedCost) -> list[float]:
    return [device.latency_ns, device.ns_per_kib, device.handover_ns]
