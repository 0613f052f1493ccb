"""Where file systems are tried: a loop device here, an emulated board, or devices named."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.tuner.evaluation import Attempt
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.target import LocalTarget, Target
from studies.tuning.storage_chromosomes import (
    DISK_TYPE,
    SCHEDULER,
    defaults,
    is_valid,
    make_words,
    mount_words,
)
from studies.tuning.storage_rules import MOUNTS, RuleSet, today
from studies.tuning.storage_trial import FileSystem, StorageBench, StorageError, loop_device

SIZE_MIB = 384  # the least for XFS is 300, and two group sizes of it need 321
# Debian's cloud kernels, on the other boards, have neither nilfs2 nor reiserfs.
BOARD = LiveOptions(
    "armhf",
    packages=("btrfs-progs", "e2fsprogs", "fio", "nilfs-tools", "reiserfsprogs", "xfsprogs"),
    modules=("btrfs", "nilfs2", "reiserfs", "xfs"),
    scratch_mib=SIZE_MIB,
    swap_mib=0,
    latency_ns=100_000,
    ns_per_kib=10_000,
    time_out_s=600.0,
)
_SUCCESSORS = ("mq-deadline", "none", "bfq")  # of the paper's deadline, noop and cfq


@dataclass(frozen=True)
class Place:
    """Devices of a target by type of disk; ``name`` and ``kernel`` say what figures are of."""

    target: Target
    devices: Mapping[str, str]
    name: str
    overwrite: bool = False

    @property
    def kernel(self) -> str:
        """The kernel's release."""
        return self._output("uname", "-r")

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Schedulers that every device has, the one in force on the first before the others."""
        offered = [self._queue(device, "scheduler").split() for device in self.devices.values()]
        first = sorted(offered[0], key=lambda word: not word.startswith("["))
        plain = [word.strip("[]") for word in first]
        by_device = [{word.strip("[]") for word in words} for words in offered]
        return tuple(word for word in plain if all(word in words for words in by_device))

    @property
    def v2(self) -> dict[str, tuple[str, ...]]:
        """The choices that Storage v2 adds to v1: schedulers, and types of disks if any."""
        schedulers = tuple(scheduler for scheduler in self.schedulers if scheduler in _SUCCESSORS)
        types = {DISK_TYPE: tuple(self.devices)} if len(self.devices) > 1 else {}
        return {SCHEDULER: schedulers, **types}

    def rules(self) -> RuleSet:
        """Return the rules of the smallest device, for file systems that the target has."""
        sectors = min(int(self._block(device, "size")) for device in self.devices.values())
        page = int(self._output("getconf", "PAGESIZE") or 4096)
        file_systems = self._output("cat", "/proc/filesystems").split()
        rules = today(sectors * 512, page)
        return {
            name: system_rules
            for name, system_rules in rules.items()
            if name in file_systems and self._makes(name)
        }

    def benches(self, job: str, seconds: float) -> dict[str, StorageBench]:
        """Return a bench for each device."""
        return {
            disk: StorageBench(self.target, device, job, seconds, self.overwrite)
            for disk, device in self.devices.items()
        }

    def _makes(self, file_system: str) -> bool:
        words = ["sh", "-c", 'command -v "mkfs.$1"', "sh", file_system]
        return self.target.run(words).status == 0

    def _queue(self, device: str, knob: str) -> str:
        return self._block(device, f"queue/{knob}")

    def _block(self, device: str, knob: str) -> str:
        return self.target.read_knob(f"/sys/class/block/{Path(device).name}/{knob}")

    def _output(self, *words: str) -> str:
        return os.fsdecode(self.target.run(list(words)).stdout).strip()


class StorageEvaluator:
    """Tries chromosomes of Storage v1 or v2; their value is operations a second."""

    def __init__(self, benches: Mapping[str, StorageBench], rules: RuleSet) -> None:
        self._benches = benches
        self._rules = rules

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        """Make, mount, measure; a chromosome that is not a file system is not tried."""
        if not is_valid(chromosome, self._rules):
            return Attempt("invalid", notes=("no such file system can be made and mounted",))
        bench = self._benches[str(chromosome.get(DISK_TYPE, next(iter(self._benches))))]
        file_system = FileSystem(
            str(chromosome["file_system"]),
            make_words(chromosome),
            mount_words(chromosome),
            str(chromosome.get(SCHEDULER, "")),
        )
        measured = bench.run(file_system)
        if measured.status != "ok":
            return Attempt(measured.status, notes=(measured.note,))
        metrics = {
            "operations": float(measured.operations),
            "bytes": float(measured.transferred_bytes),
            "seconds": measured.seconds,
            "latency_ns": measured.latency_ns,
        }
        return Attempt("ok", measured.operations_per_s, metrics)


@contextmanager
def loop_place() -> Iterator[Place]:
    """Make a file, in memory where there is room, and a loop device on it."""
    memory = Path("/dev/shm")
    room = memory.is_dir() and shutil.disk_usage(memory).free > 2 * SIZE_MIB << 20
    with tempfile.TemporaryDirectory(
        prefix="foreread-storage-", dir=memory if room else None
    ) as folder:
        file = Path(folder) / "image"
        file.touch()
        os.truncate(file, SIZE_MIB << 20)
        with loop_device(file, LocalTarget()) as device:
            where = "memory" if room else "a file"
            yield Place(
                LocalTarget(), {"loop": device}, f"loop device of {SIZE_MIB} MiB on {where}"
            )


@contextmanager
def board_place(tell: Callable[[str], None]) -> Iterator[Place]:
    """Boot an emulated board that has all seven file systems, and a disk of its own for them."""
    board = EmulatedTarget(BOARD, tell)
    try:
        # mkfs.nilfs2 looks there for what is mounted.
        board.run(["ln", "-sf", "/proc/self/mounts", "/etc/mtab"])
        cost = f"{BOARD.latency_ns // 1000} µs + {BOARD.ns_per_kib / 1000:g} µs/KiB a request"
        yield Place(board, {"slow": "/dev/slow1"}, f"{BOARD.board} in QEMU, disk of {cost}")
    finally:
        board.close()


@contextmanager
def named_place(devices: Mapping[str, str], overwrite: bool) -> Iterator[Place]:
    """Use devices of this machine that the caller named, and says may be overwritten or not."""
    if not all(path.startswith("/dev/") for path in devices.values()):
        raise StorageError("devices are named by their path", "say --device sata=/dev/sdb")
    yield Place(LocalTarget(), devices, ", ".join(devices.values()), overwrite)


def a_few(rules: RuleSet) -> RuleSet:
    """Return a part of the space that can be measured whole in half an hour: few sizes of each."""
    kept = {
        "block_size": (1024, 4096, 16384, 65536),
        "inode_size": (256, 512),
        "blocks_per_group": (2048, 32768),
    }
    return {name: system_rules.only(kept) for name, system_rules in rules.items()}


def fewer(rules: RuleSet) -> RuleSet:
    """Return a third of ``a_few``: blocks of 4 KiB (btrfs: also 16 KiB), mounted by default."""
    kept = {"block_size": (4096, 16384), "mount": MOUNTS[:1]}
    return {name: system_rules.only(kept) for name, system_rules in a_few(rules).items()}


def plain(rules: RuleSet) -> RuleSet:
    """Return the defaults, and the file systems that differ from one by an allele ``none``."""
    of = {str(chromosome["file_system"]): chromosome for chromosome in defaults(rules)}
    return {
        name: system_rules.only({gene: (allele,) for gene, allele in of[name].items()})
        for name, system_rules in rules.items()
    }


PARTS: Mapping[str, Callable[[RuleSet], RuleSet]] = {
    "all": lambda rules: rules,
    "few": a_few,
    "fewer": fewer,
    "plain": plain,
}
