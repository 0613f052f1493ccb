"""Workloads by fio on an emulated board, in guest time: what they did, and what the disk counted.

The file lies on a disk of its own, so that its counters hold the workload's I/O alone; it is
mounted anew before every trial, which makes it cold, while programs stay in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from analyzer.tuner.engine import Scored
from analyzer.tuner.fingerprint import Snapshot
from analyzer.tuner.genes import NONE, Chromosome, Gene, Space
from boards.emulated.live import EmulatedTarget, LiveOptions
from boards.target import Target, TargetError
from tracer.workload import Ground, Workload, job_text, lay_out, parse

HERE = Path(__file__).parent
BOARD = LiveOptions(
    "x86_64",
    kernel="6.12",
    packages=("fio",),
    scratch_mib=160,
    swap_mib=0,
    latency_ns=250_000,
    ns_per_kib=20_000,
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
_FOLDER = "/run/study"
_GROUND = Ground("/mnt/data", 80 << 20, _FOLDER)
_COUNTERS = ("reads", "read_sectors", "writes", "written_sectors", "waited_ms")
_SUMS = ("reads", "writes", "sectors", "followers", "distances", "jumps")
_SAFE = "end_fsync=1\n"  # or what is not on the disk yet would count as written
_TRIAL_S = 60.0
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
        """What a fingerprint is made of."""
        return Snapshot(**self.bios)

    def scored(self) -> Scored:
        """Return it as an evaluation: the counters named as in foreread's trials."""
        counters = {f"disk.{name}": float(value) for name, value in self.counters.items()}
        metrics = {**counters, "seconds": self.seconds, **self.snapshot.metrics()}
        return Scored(self.chromosome, self.rate, metrics)


class WorkloadBoard:
    """A board ready for trials, which ends with the block."""

    def __init__(self, board: LiveOptions = BOARD) -> None:
        self._options = board

    def __enter__(self) -> WorkloadBoard:
        self._board = EmulatedTarget(self._options, print)
        try:
            _prepare(self._board)
        except BaseException:
            self._board.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._board.close()

    def run(self, trials: Sequence[tuple[str, Chromosome]]) -> list[Measured]:
        """Make the trials in that order; one that cannot be made is told and left out."""
        lines = [" ".join([_slug(name), *_settings(one)]) for name, one in trials]
        answer = self._board.run(
            ["sh", f"{_FOLDER}/fingerprint_trials.sh", _FOLDER],
            stdin="".join(f"{line}\n" for line in lines).encode(),
            timeout_s=_TRIAL_S * len(trials),
        )
        said = answer.stdout.decode().splitlines()
        if len(said) != len(trials):
            raise TargetError(f"the board made {len(said)} trials of {len(trials)}")
        measured = []
        for (name, chromosome), line in zip(trials, said, strict=True):
            if line.startswith("error "):
                print(f"{name}: {line}", flush=True)
            else:
                measured.append(_parsed(name, chromosome, line))
        return measured


def _prepare(board: Target) -> None:
    """Bring the board the scripts and the jobs, and lay out the file."""
    board.run(["mkdir", "-p", _FOLDER, "/mnt"])
    board.push(HERE / "fingerprint_trials.sh", f"{_FOLDER}/fingerprint_trials.sh")
    texts = {"watch.sh": (resources.files("tracer.remote") / "watch.sh").read_text()}
    for name, workload in WORKLOADS.items():
        texts[f"{_slug(name)}.fio"] = job_text(_GROUND, workload, SECONDS) + _SAFE
    for name, text in texts.items():
        with NamedTemporaryFile("w") as file:
            file.write(text)
            file.flush()
            board.push(Path(file.name), f"{_FOLDER}/{name}")
    board.run(["mke2fs", "-b", "4096", f"/dev/{DISK}"])
    board.run(["mount", "-t", "ext4", "-o", "noatime", f"/dev/{DISK}", "/mnt"])
    lay_out(board, _GROUND)


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _settings(chromosome: Chromosome) -> list[str]:
    """Return the scheduler, and the other knobs with their values, in the order to be written."""
    (_, scheduler), *others = SPACE.settings(chromosome, [DISK])
    return [scheduler, *(f"{knob}={value}" for knob, value in others)]


def _parsed(name: str, chromosome: Chromosome, line: str) -> Measured:
    *numbers, report = line.split(" ", len(_COUNTERS) + len(_SUMS))
    counted = list(map(int, numbers))
    done = parse(report.encode())
    return Measured(
        name,
        chromosome,
        done.transferred_bytes,
        done.seconds,
        dict(zip(_COUNTERS, counted[: len(_COUNTERS)], strict=True)),
        dict(zip(_SUMS, counted[len(_COUNTERS) :], strict=True)),
    )


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
    """Return what a line of the raw file holds."""
    return Measured(
        line["workload"],
        {name: line[name] for name in SPACE.names},
        line["bytes"],
        line["seconds"],
        dict(zip(_COUNTERS, line["counters"], strict=True)),
        dict(zip(_SUMS, line["bios"], strict=True)),
    )
