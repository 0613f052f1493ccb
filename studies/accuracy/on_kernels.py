"""Cells of another kernel: captures on one kernel, runs on the other, and the forecast between.

A side is a start on a board with one kernel: a capture, and cold runs at the default windows of all
kernels. A pair compares what ``foreread forecast`` says from one side's capture with the runs of
both sides. Sides come first, board by board, so that each board boots once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from foreread.boards.emulated import MACHINES
from studies.accuracy import on_boards, seconds
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, SD, Application, Board, Live
from studies.accuracy.store import Cell, Document

AREA = "forecast"
KERNELS = ("5.10", "6.1", "6.12", "7.2")
APPLICATIONS = (MADPLAY, PYTHON, PERL)
PACKAGES = ("madplay", "python3", "perl")
MACHINE_NAMES = ("x86_64", "arm64")
# The default windows of the slow disk: of all kernels, and from 6.17 on if it is rotational.
WINDOWS_KB = (128, 252)
REPEAT = 3
SMALL = 0.01  # a difference that forecast calls "same" (analyzer/predict/verdict.py KEEP_PERCENT)


@dataclass(frozen=True)
class Side:
    """A start on a board with one kernel."""

    board: Board
    application: Application

    @property
    def name(self) -> str:
        """Its folder in the store, and its cell."""
        return f"{self.board.machine}-{self.board.kernel}-{self.application.name}"

    def missing(self) -> str | None:
        """Return why it cannot be measured here."""
        kernels = MACHINES[self.board.machine].kernels
        if self.board.kernel not in kernels:
            return f"no board {self.board.machine} with Linux {self.board.kernel}: {kernels}"
        return on_boards.missing()


def cells(live: Live) -> list[Cell]:
    """Return the cells of sides, and the cells of pairs of sides."""
    sides = {
        (machine, kernel, application.name): Side(Board(machine, kernel, PACKAGES, SD), application)
        for machine in MACHINE_NAMES
        for kernel in KERNELS
        for application in APPLICATIONS
    }
    pairs = [
        _pair(sides[machine, now, application.name], sides[machine, then, application.name])
        for machine in MACHINE_NAMES
        for application in APPLICATIONS
        for now, then in permutations(KERNELS, 2)
    ]
    return [*(_side(live, side) for side in sides.values()), *pairs]


def _side(live: Live, side: Side) -> Cell:
    def run(folder: Path) -> Document:
        foreread = Foreread()
        target = live.target(side.board, foreread)
        request = seconds.Request(
            command=side.application.command,
            devices={},
            targets=on_boards.fixed_cost,
            target=target,
            repeat=REPEAT,
            warm_first=side.application.writes,
            windows_kb=WINDOWS_KB,
        )
        document = seconds.measure(request, folder, foreread)
        return {"kernel": document["kernel"], "runs": document["sweep"], "commands": foreread.lines}

    board = side.board
    title = f"{side.application.name}, {board.machine} {board.kernel}: capture and runs"
    return Cell(AREA, side.name, title, run, side.missing)


def _pair(now: Side, then: Side) -> Cell:
    def missing() -> str | None:
        return now.missing() or then.missing()

    def run(folder: Path) -> Document:
        sides = [folder.parent / side.name for side in (now, then)]
        absent = [side.name for side in sides if not (side / "sweep.json").exists()]
        if absent:
            raise RuntimeError(f"not measured yet: {', '.join(absent)}")
        return {"pair": compared(sides[0], sides[1], then.board.kernel, now.board.device)}

    board = now.board
    name = f"{now.name}-to-{then.board.kernel}"
    title = f"{now.application.name}, {board.machine}, {board.kernel} to {then.board.kernel}"
    return Cell(AREA, name, title, run, missing)


def compared(now: Path, then: Path, kernel: str, device: on_boards.Device) -> Document:
    """Return the forecast from one side's capture for another kernel, and the runs of both."""
    then_kb = default_kb(then)
    words = ["--model", f"linux-{kernel}", "--device-model", device.write(now)]
    foreread = Foreread()
    own = foreread.json("forecast", now / "capture", *words)
    forecast = foreread.json("forecast", now / "capture", *words, "--read-ahead-kb-then", then_kb)
    measured = [_runs(now, own["now"]["read_ahead_kb"]), _runs(then, then_kb)]
    return {
        "windows_kb": [own["now"]["read_ahead_kb"], then_kb],
        "forecast_kb": own["then"]["read_ahead_kb"],
        "forecast": forecast["change"],
        "causes": forecast["causes"],
        "measured": forecast["change"] and judged(measured[0], measured[1], forecast["change"]),
        "commands": foreread.lines,
    }


def default_kb(side: Path) -> int:
    """Return the window that a board's kernel gave the slow disk."""
    devices = json.loads((side / "capture/capture.json").read_text())["devices"]
    return int(
        next(device["read_ahead_kb_before"] for device in devices if device["name"] == "slow0")
    )


def _runs(side: Path, kb: int) -> list[float]:
    points = json.loads((side / "sweep.json").read_text())["points"]
    runs_s = [point["seconds"] for point in points if point["read_ahead_kb"] == kb]
    if not runs_s:
        raise RuntimeError(f"{side.name} was not measured at {kb} KiB")
    return [float(value) for value in runs_s[0]]


def judged(now: Sequence[float], then: Sequence[float], change: Mapping[str, Any]) -> Document:
    """Return the measured difference, and whether the forecast has its sign and its size.

    On an emulated board a disturbance only adds time: the shortest run counts, and the next
    one shows the noise. A difference of up to SMALL, or up to the noise, is none.
    """
    present = min(now)
    share = min(then) / present - 1
    noise = max(SMALL, *(_noise(runs) for runs in (now, then)))
    direction = "same" if abs(share) <= noise else "slower" if share > 0 else "faster"
    band = (change["seconds_low"], change["seconds_high"])
    return {
        "share": share,
        "noise": noise,
        "direction": direction,
        "right": right_sign(change["share"], share, noise),
        "same_word": change["direction"] == direction,
        "in_band": band[0] <= share * present <= band[1],
    }


def _noise(runs: Sequence[float]) -> float:
    """Return by how much the two shortest runs differ, as a part of the shortest."""
    shortest = sorted(runs)[:2]
    return shortest[-1] / shortest[0] - 1


def right_sign(forecast: float, measured: float, noise: float) -> bool:
    """Return whether a forecast difference has the sign of a measured one, both as shares.

    Where nothing but noise was measured, a forecast is right that is no more than that noise.
    """
    if abs(measured) <= noise:
        return abs(forecast) <= noise
    return forecast * measured > 0
