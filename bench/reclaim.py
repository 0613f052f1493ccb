"""Speed of the emulation of little memory, by the number of touches; prints JSON.

Random pages of a file are touched through a mapping: of data, whose pages are reclaimed, and of
code, which stays in use, so that memory is exceeded and reclaim finds nothing. Seconds are CPU
time; ``growth`` is that of the last size against half of it (2: linear). The peer is the plain
Python of emulator/stepwise on the smallest size.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from foreread.emulator.linux.operations import (
    FILE,
    MAPPING,
    OPERATION,
    Machine,
    MapFlag,
    Op,
    Program,
)
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate

TOUCHES = (5_000, 10_000, 20_000, 40_000)
WINDOW, PAGES_A_TOUCH = 8, 20
CACHE_PAGES = 500
VERSIONS = ((6, 12), (7, 2))


def touching(touches: int, flags: MapFlag) -> Program:
    """Return a program that touches so many random pages of a mapping."""
    pages = PAGES_A_TOUCH * touches
    operations = np.zeros(1 + touches, OPERATION)
    operations["op"] = [Op.OPEN] + [Op.FAULT] * touches
    operations["at"][1:] = np.random.default_rng(1).integers(0, pages, touches)
    mappings = np.array([(0, 0, pages, 0, flags)], MAPPING)
    files = np.array([(pages * 4096, 0, 0, -1)], FILE)
    return Program(operations, mappings, np.zeros(1, np.uint32), files)


def cpu_s(action: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time()
    action()
    return time.process_time() - begin


def measured(version: tuple[int, ...], flags: MapFlag, *, generations: bool) -> dict[str, Any]:
    """Return the seconds of each size, their growth, and those of the peer."""
    rules, machine = rules_for(version), Machine(cache_pages=CACHE_PAGES, generations=generations)
    seconds = []
    for touches in TOUCHES:
        group = np.zeros(1, np.uint32)
        emulation = Emulation(
            touching(touches, flags), rules, machine, Limits(1280), np.zeros(0, EXTENT), group
        )
        seconds.append(cpu_s(lambda emulation=emulation: emulation.counts([WINDOW])))
    program = touching(TOUCHES[0], flags)
    return {
        "kernel": ".".join(map(str, version)),
        "lists": "generations" if generations else "two",
        "mapping": "code" if flags & MapFlag.EXEC else "data",
        "cpu_seconds": dict(zip(map(str, TOUCHES), seconds, strict=True)),
        "growth": seconds[-1] / seconds[-2],
        "peer_cpu_seconds": cpu_s(lambda: emulate(program, rules, WINDOW, machine)),
    }


def main() -> None:
    """Print the figures of all kernels, lists and mappings."""
    rows = [
        measured(version, flags, generations=generations)
        for version in VERSIONS
        for generations in (False, True)
        for flags in (MapFlag.SHARED, MapFlag.SHARED | MapFlag.EXEC)
    ]
    print(json.dumps({"touches": list(TOUCHES), "window_pages": WINDOW, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
