"""Speed of the emulation of the kernel's readahead: accesses times windows per second, as JSON.

The accesses are a start-up's: many files, mapped and faulted in mostly forward steps, and some
read in one go; every page once. Both kinds of work are measured with all CPUs and with one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

import numpy as np

from emulator.linux.operations import FILE, MAPPING, OPERATION, Machine, Op, Program
from emulator.linux.requests import EXTENT, Limits
from emulator.linux.rules import rules_for
from emulator.linux.windows import Emulation

PAGES_PER_FILE = 200


def program(accesses: int, seed: int = 1) -> Program:
    random = np.random.default_rng(seed)
    files = max(accesses // PAGES_PER_FILE, 1)
    file = np.sort(random.integers(0, files, accesses))
    page = random.integers(0, 2 * PAGES_PER_FILE, accesses)
    near = random.random(accesses) < 0.7  # a page behind the one before
    page[1:] = np.where(near[1:], page[:-1] + 1, page[1:])
    order = np.argsort(random.permutation(files)[file] + random.random(accesses), kind="stable")
    operations = np.zeros(accesses, OPERATION)
    mapped = random.random(files) < 0.7
    operations["op"] = np.where(mapped[file], Op.FAULT, Op.READ)[order]
    operations["handle"] = operations["mapping"] = file[order]
    page = np.minimum(page, 4 * PAGES_PER_FILE - 1)[order]
    operations["at"] = np.where(operations["op"] == Op.READ, page * 4096, page)
    operations["length"] = np.where(operations["op"] == Op.READ, 4096, 0)
    mappings = np.zeros(files, MAPPING)
    mappings["handle"] = np.arange(files)
    mappings["pages"] = 4 * PAGES_PER_FILE
    mappings["flags"] = random.random(files) < 0.3
    table = np.zeros(files, FILE)
    table["size"], table["window"], table["large_folios"] = 4 * PAGES_PER_FILE * 4096, -1, 1
    return Program(operations, mappings, np.arange(files, dtype=np.uint32), table)


def seconds(emulation: Emulation, windows: list[int], repeat: int) -> float:
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        emulation.counts(windows)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accesses", type=int, default=1_000_000)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--kernel", default="6.18")
    args = parser.parse_args()
    version = tuple(map(int, args.kernel.split(".")))
    made = program(args.accesses)
    group = np.zeros(len(made.files), np.uint32)
    limits = Limits(1280, 128, 65536)
    emulation = Emulation(made, rules_for(version), Machine(), limits, np.zeros(0, EXTENT), group)
    windows = [round(at * 256 / args.windows) for at in range(args.windows)]
    everywhere = os.sched_getaffinity(0)
    result = {"accesses": args.accesses, "windows": args.windows, "kernel": args.kernel}
    for name, cpus in (("all_cpus", everywhere), ("one_cpu", {min(everywhere)})):
        os.sched_setaffinity(0, cpus)
        took = seconds(emulation, windows, args.repeat)
        rate = args.accesses * args.windows / took
        result[name] = {"cpus": len(cpus), "seconds": took, "access_windows_per_s": rate}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
