"""Runs for the timed replay: what each thread does, written as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import PAGE, Script

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Layout, Limits
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.steps import STEP, Run

NOWHERE = Layout(np.zeros(0, EXTENT))


def steps_of(rows: list[dict[str, Any]]) -> np.ndarray:
    """Steps by name of column; what is not named is 0, or waits for nothing."""
    steps = np.zeros(len(rows), STEP)
    steps["waits_for"] = steps["woken_by"] = -1
    steps["bios"] = 1
    for row, columns in enumerate(rows):
        for name, value in columns.items():
            steps[name][row] = value
    return steps


def run_of(script: Script, rows: list[dict[str, Any]], tail_ns: float = 0, **more: Any) -> Run:
    """A run on Linux 6.12."""
    machine, rules = Machine(page_size=PAGE), rules_for((6, 12))
    limits = Limits(1280)
    program = script.program()
    return Run(program, steps_of(rows), tail_ns, rules, machine, limits, NOWHERE, **more)
