"""Cells of disks: starts on an emulated board with a disk of no fixed cost (disks.toml).

The disk is unknown to foreread, as a real board's is: recordings and runs reach the board by ssh,
as a stranger. Each capture is then judged by its probe, by its own requests alone, and by the true
cost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from foreread.boards import disks
from foreread.boards.emulated.live import started
from studies.accuracy import seconds
from studies.accuracy.cli import Foreread
from studies.accuracy.on_boards import MADPLAY, PERL, PYTHON, Application, Live, fixed_cost, missing
from studies.accuracy.store import Cell, Document

MACHINE, KERNEL = "x86_64", "6.12"
PACKAGES = ("madplay", "perl", "python3")
APPLICATIONS = (MADPLAY, PERL, PYTHON)
WINDOWS_KB = (0, 4, 16, 64, 128, 512)
KNOWN = "known"


@dataclass(frozen=True)
class DiskBoard:
    """An emulated board with a kind of disk."""

    disk: str
    packages: tuple[str, ...] = PACKAGES

    def words(self) -> list[object]:
        """Return the arguments that start it."""
        words: list[object] = [MACHINE, "--kernel", KERNEL, "--disk", self.disk]
        return words + [word for name in self.packages for word in ("--package", name)]


def cells(live: Live) -> list[Cell]:
    """Return the cells of the area ``disks``."""
    return [
        _cell(live, DiskBoard(disk), application)
        for disk in disks.kinds()
        for application in APPLICATIONS
    ]


def _cell(live: Live, board: DiskBoard, application: Application) -> Cell:
    def request_of(folder: Path, target: str | None = None) -> seconds.Request:
        return seconds.Request(
            command=application.command,
            devices=_devices(folder, board.disk),
            targets=fixed_cost,
            target=target,
            # After a board's first run, processes that run all the time map one page of libc more,
            # which the runs of the sweep find cached: on a rotating disk it is 3 % of a start.
            warm_first=True,
            windows_kb=WINDOWS_KB,
        )

    def run(folder: Path) -> Document:
        foreread = Foreread()
        target = stranger(live.target(board, foreread), folder)
        return {
            **seconds.measure(request_of(folder, str(target)), folder, foreread),
            "commands": foreread.lines,
        }

    return Cell(
        *("disks", f"{board.disk}-{application.name}"),
        f"{application.name}, {MACHINE} {KERNEL}, {disks.kind(board.disk).title}",
        run=run,
        missing=missing,
        judge=lambda folder: seconds.judge(request_of(folder), folder),
    )


def _devices(folder: Path, disk: str) -> Mapping[str, Path | None]:
    """Return the ways to know the disk: its driver's own costs, and what the capture says."""
    cost = disks.kind(disk).cost(1_000_000, 50_000)
    document = msgspec.to_builtins(cost)
    lines = [f"kind = {json.dumps(document.pop('model'))}"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in document.items()]
    file = folder / "known.toml"
    file.write_text("\n".join(lines) + "\n")
    return {KNOWN: file, seconds.PROBED: None, seconds.OWN: None}


def stranger(name: str, folder: Path) -> Path:
    """Write a profile that reaches a started board by ssh, like any other: its disk is unknown."""
    board = started(name)
    if board is None:
        raise RuntimeError(f"{name} does not run")
    lines = [
        "schema = 1",
        'name = "stranger"',
        'title = "An emulated board of unknown disk"',
        "measured_here = true",
        "[transport]",
        'kind = "ssh"',
        f"url = {json.dumps(str(board.address))}",
        f"known_hosts = {json.dumps(str(board.known_hosts))}",
        f"identity = {json.dumps(str(board.identity))}",
    ]
    profile = folder / "stranger.toml"
    profile.write_text("\n".join(lines) + "\n")
    return profile
