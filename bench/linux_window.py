"""Speed of the emulation of the kernel's readahead; prints JSON.

The accesses are those of a recorded start-up (examples/python-start), repeated with files of
their own until there are enough. Speed is accesses × windows per second of ``counts``: the
median of --repeat calls, windows spread evenly from 0 to --largest pages, with all CPUs and
with one. The peer is the plain Python of emulator/stepwise/replay.py on the capture itself.

``timed`` is the replay of the capture's operations in time, a step each, on a disk of 1 ms and
50 µs/KiB, under 13 windows; its peer is the plain Python of emulator/stepwise/timed.py.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.linux import Inputs, inputs
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Op, Program
from foreread.emulator.linux.requests import Layout
from foreread.emulator.linux.rules import Rules, rules_for, version_of
from foreread.emulator.linux.steps import STEP, CpuCost, Run
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate
from foreread.emulator.stepwise.timed import timed as replay

PEER_WINDOWS = (0, 8, 32, 128)
TIMED_WINDOWS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 768)
CAPTURE = Path(__file__).parents[1] / "examples/python-start/python-start.capture.tar.xz"


def repeated(program: Program, times: int) -> Program:
    """Return a program that does everything ``times`` times, each time on other files."""
    rows = (len(program.handles), len(program.mappings), len(program.files))
    operations, mappings, handles = [], [], []
    for at in range(times):
        own_operations = program.operations.copy()
        direct = np.isin(own_operations["op"], (Op.SINGLE, Op.PRESENT))
        own_operations["handle"] += np.where(direct, at * rows[2], at * rows[0]).astype(np.uint32)
        own_operations["mapping"] += np.uint32(at * rows[1])
        operations.append(own_operations)
        mapped = program.mappings.copy()
        mapped["handle"] += np.uint32(at * rows[0])
        mappings.append(mapped)
        handles.append(program.handles + np.uint32(at * rows[2]))
    return Program(
        np.concatenate(operations),
        np.concatenate(mappings),
        np.concatenate(handles),
        np.tile(program.files, times),
    )


def timed(emulation: Emulation, windows: list[int], repeat: int) -> tuple[float, float]:
    """Return medians of the seconds on the clock and of those of all CPUs together."""
    seconds, cpu_seconds = [], []
    for _ in range(repeat):
        start, cpu_start = time.perf_counter(), time.process_time()
        emulation.counts(windows)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu_start)
    return statistics.median(seconds), statistics.median(cpu_seconds)


def peer(start_inputs: Inputs, rules: Rules) -> float:
    """Return the speed of the plain Python on the capture itself."""
    start = time.perf_counter()
    for window in PEER_WINDOWS:
        emulate(start_inputs.program, rules, window, start_inputs.machine(0)[0])
    seconds = time.perf_counter() - start
    return len(start_inputs.program.operations) * len(PEER_WINDOWS) / seconds


def replays(start_inputs: Inputs, rules: Rules, repeat: int) -> dict[str, float]:
    """Return seconds of the timed replay, of the core (median) and of the plain Python."""
    count = len(start_inputs.program.operations)
    steps = np.zeros(count, STEP)
    steps["operation"], steps["cpu_ns"] = np.arange(count), 20_000
    steps["waits_for"] = steps["woken_by"] = -1
    machine, limits = start_inputs.machine(0)
    run = Run(
        start_inputs.program, steps, 0.0, rules, machine, limits, Layout(start_inputs.extents)
    )
    device, cpu = FixedCost(1e6, 5e4), CpuCost(60_000, 1_000)
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        timed_windows(run, TIMED_WINDOWS, device, cpu)
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    recorded = replay(run, 0, device)
    for window in TIMED_WINDOWS:
        replay(run, window, device, cpu, recorded)
    plain = time.perf_counter() - start
    core = statistics.median(seconds)
    return {"operations": count, "seconds": core, "plain_python_seconds": plain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accesses", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--largest", type=int, default=256, help="window, pages")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--kernel", default="6.18")
    args = parser.parse_args()
    version = version_of(args.kernel)
    start_inputs = inputs(load(CAPTURE), version)
    times = -(-args.accesses // len(start_inputs.program.operations))
    program = repeated(start_inputs.program, times)
    group = np.zeros(len(program.files), np.uint32)
    machine, limits = start_inputs.machine(0)
    extents = np.zeros(0, start_inputs.extents.dtype)
    emulation = Emulation(program, rules_for(version), machine, limits, extents, group)
    windows = np.linspace(0, args.largest, args.windows).astype(int).tolist()
    result: dict[str, Any] = {
        "accesses": len(program.operations),
        "windows": args.windows,
        "kernel": args.kernel,
        "machine": platform.machine(),
        "load": os.getloadavg()[0],
    }
    result["plain_python_access_windows_per_s"] = peer(start_inputs, rules_for(version))
    result["timed"] = replays(start_inputs, rules_for(version), args.repeat)
    everywhere = os.sched_getaffinity(0)
    for name, cpus in (("all_cpus", everywhere), ("one_cpu", {min(everywhere)})):
        os.sched_setaffinity(0, cpus)
        seconds, cpu_seconds = timed(emulation, windows, args.repeat)
        result[name] = {
            "cpus": len(cpus),
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "access_windows_per_s": len(program.operations) * args.windows / seconds,
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
