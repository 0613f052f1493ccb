"""Workloads by fio on an emulated board, in guest time: their throughput, and the disk's counters.

The file lies on a disk of its own, so that its counters hold the workload's I/O alone; it is
mounted anew before every trial, which makes it cold, while programs stay in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foreread.analyzer.tuner.engine import Scored
from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.analyzer.tuner.space.genes import NONE, Chromosome, Gene, Space
from foreread.boards.emulated.live import LiveOptions
from foreread.boards.target import Target
from foreread.tracer.remote.bios import SUMS
from studies.tuning.workload import Ground, Workload, lay_out, run_watched
from studies.tuning.workload_board import Booted

BOARD = LiveOptions(
    "x86_64",
    kernel="6.12",
    packages=("fio",),
    scratch_mib=160,
    swap_mib=0,
    latency_ns=250_000,
    ns_per_kib=20_000,
    time_out_s=600.0,
)
DISK = "slow1"
SECONDS = 0.5
# In the order of the benchmark, each the opposite of the one before. Of 256 KiB, as what the 2005
# paper gained most with, and of one process: several look random to a fingerprint, whatever each
# of them does.
WORKLOADS = {
    "sequential write": Workload(1, 0, 0, 256),
    "random read": Workload(1, 100, 100, 256),
    "random write": Workload(1, 0, 100, 256),
    "sequential read": Workload(1, 100, 0, 256),
}
_AT = "/mnt"
_MOUNT = ["mount", "-t", "ext4", "-o", "noatime", f"/dev/{DISK}", _AT]
_GROUND = Ground(f"{_AT}/data", 80 << 20)
_COUNTERS = ("reads", "read_sectors", "writes", "written_sectors", "waited_ms")
_QUEUE = "/sys/block/{disk}/queue/"
_WITH_NUMBER = ("mq-deadline", "kyber", "bfq")  # none has one request a hardware queue's place
# In the order in which they are written: max_sectors_kb gives read_ahead_kb its default, and a
# scheduler gives nr_requests its own.
SPACE = Space(
    (
        Gene(
            name="scheduler",
            kind="categorical",
            choices=(NONE, *_WITH_NUMBER),
            default="mq-deadline",
            knob=f"{_QUEUE}scheduler",
        ),
        Gene(
            name="max_sectors_kb",
            kind="integer",
            choices=(16, 64, 127),
            default=127,
            knob=f"{_QUEUE}max_sectors_kb",
        ),
        Gene(
            name="read_ahead_kb",
            kind="integer",
            choices=(16, 64, 128, 512),
            default=128,
            knob=f"{_QUEUE}read_ahead_kb",
        ),
        Gene(
            name="nr_requests",
            kind="integer",
            choices=(2, 64),
            default=2,
            requires={"scheduler": _WITH_NUMBER},
            knob=f"{_QUEUE}nr_requests",
        ),
    )
)


@dataclass(frozen=True)
class Measured:
    """A workload under a chromosome: bytes in ``seconds``, the disk's counters, sums of bios."""

    workload: str
    chromosome: Chromosome
    transferred_bytes: int
    seconds: float
    counters: Mapping[str, int]
    bios: Mapping[str, int]

    @property
    def rate(self) -> float:
        """Bytes a second that the workload got: transactions a second times their size."""
        return self.transferred_bytes / self.seconds

    @property
    def snapshot(self) -> Snapshot:
        """The input of a fingerprint."""
        return Snapshot(**self.bios)

    def scored(self) -> Scored:
        """Return it as an evaluation: the counters named as in foreread's trials."""
        counters = {f"disk.{name}": float(value) for name, value in self.counters.items()}
        metrics = {**counters, "seconds": self.seconds, **self.snapshot.metrics()}
        return Scored(self.chromosome, self.rate, metrics)


class Trials:
    """A board ready for trials, which ends with the block."""

    def __enter__(self) -> Trials:
        self._board = Booted(BOARD, _prepare)
        return self

    def __exit__(self, *_: object) -> None:
        self._board.close()

    def run(self, workload: str, chromosome: Chromosome) -> Measured:
        """Make a trial; raises CalibrateError for one that cannot be made, and TargetError."""
        settings = SPACE.settings(chromosome, [DISK])
        return self._board.ask(lambda board: _measure(board, workload, chromosome, settings))


def _prepare(board: Target) -> None:
    """Make the file system, and lay out its file."""
    board.run(["mkdir", "-p", _AT])
    board.run(["mke2fs", "-b", "4096", f"/dev/{DISK}"])
    board.run(_MOUNT)
    lay_out(board, _GROUND)


def _measure(
    board: Target, workload: str, chromosome: Chromosome, settings: Sequence[tuple[str, str]]
) -> Measured:
    """Measure a trial on a file system that is mounted anew, which is cold."""
    board.run(["umount", _AT])
    board.run(_MOUNT)
    done, seen = run_watched(board, _GROUND, WORKLOADS[workload], SECONDS, settings, DISK)
    counters = {name: int(seen.counters[f"disk.{name}"]) for name in _COUNTERS}
    return Measured(workload, chromosome, done.transferred_bytes, done.seconds, counters, seen.bios)


def as_line(measured: Measured) -> dict[str, Any]:
    """Return it as the raw file keeps it."""
    return {
        "workload": measured.workload,
        **measured.chromosome,
        "bytes": measured.transferred_bytes,
        "seconds": measured.seconds,
        "counters": list(measured.counters.values()),
        "bios": list(measured.bios.values()),
    }


def of_line(line: Mapping[str, Any]) -> Measured:
    """Return the content of a line of the raw file."""
    return Measured(
        line["workload"],
        {name: line[name] for name in SPACE.names},
        line["bytes"],
        line["seconds"],
        dict(zip(_COUNTERS, line["counters"], strict=True)),
        dict(zip(SUMS, line["bios"], strict=True)),
    )
