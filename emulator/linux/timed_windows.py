"""The timed replay under many windows, in C; windows run in parallel threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from foreread.emulator import _linux
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.measured import Measured
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.fixed import EmulationError
from foreread.emulator.linux.steps import CpuCost, Run, Timed
from foreread.emulator.linux.windows import errors

_FIXED, _PACED, _MEASURED, _STATEFUL = 0.0, 1.0, 2.0, 3.0  # enum lx_device_kind


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
    threads: int | None = None,
) -> list[Timed]:
    """Replay a run, recorded at window 0, under each of ``windows`` (pages).

    The ``cpu`` cost counts from ``recorded``, or where it is None from the replay at 0. Windows run
    in as many ``threads``, None: one a processor. The same as stepwise/timed.py for each window.
    Raises EmulationError for a run that cannot be.
    """
    before = recorded or timed_cases([Case(run, 0, device)])[0]
    if recorded is None and cpu is None and list(windows) == [0]:
        return [before]
    cost = cpu or CpuCost()
    cases = [Case(run, window, device, cost, before) for window in windows]
    return timed_cases(cases, threads)


def timed_cases(cases: Sequence[Case], threads: int | None = None) -> list[Timed]:
    """Replay cases in as many ``threads``, None: one a processor.

    Raises EmulationError for a run that cannot be.
    """
    threads = min(threads or len(os.sched_getaffinity(0)), len(cases))
    if threads < 2:
        return _replays(cases)
    parts = [cases[first::threads] for first in range(threads)]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        replayed = list(pool.map(_replays, parts))
    return [replayed[at % threads][at // threads] for at in range(len(cases))]


def _replays(cases: Sequence[Case]) -> list[Timed]:
    return [_replay(case) for case in cases]


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
            columns = [(*one.sizes, *one.values, *other.values) for one, other in tables]
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


def _replay(case: Case) -> Timed:
    run, cost, recorded = case.run, case.cpu, case.recorded
    numbers = np.array([run.tail_ns, cost.request_ns, cost.page_ns, cost.sector_ns])
    before = np.zeros(0, np.int64) if recorded is None else recorded.work.ravel()
    device = np.array(device_numbers(case.device), np.float64)
    times = np.zeros(4)
    ends = np.zeros(int(run.steps["thread"].max(initial=0)) + 1)
    work = np.zeros((len(run.steps), 3), np.int64)
    over = np.zeros(len(run.steps))
    inputs, outputs = (device, numbers, before), (times, ends, work.reshape(-1), over)
    fill: Callable[..., None] = _linux.replay
    with errors():
        fill(*run.tables, *inputs, *outputs, case.window, run.cpus, run.ends)
    total, compute, waited, unused = times.tolist()
    return Timed(total, compute, waited, unused, ends, work, over)
