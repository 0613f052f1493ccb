"""Runs small programs on the running kernel, cold, and says what it read ahead.

Everything is on a loop device of its own: other work on the machine is filtered out by device.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from machine_lock import nobody_records
from waiting import wait_until

from foreread.emulator.linux.operations import MapFlag, Op, Program

PAGE = os.sysconf("SC_PAGE_SIZE")
_WINDOWS = "readahead/page_cache_ra_order"
_EVENTS = {
    "filemap/mm_filemap_add_to_page_cache": "s_dev",
    _WINDOWS: "s_dev",
    "block/block_rq_issue": "dev",
}
_INSERT = re.compile(r"mm_filemap_add_to_page_cache: .* ino (\w+) pfn=(\w+) ofs=(\d+) order=(\d+)")
_WINDOW = re.compile(
    r"page_cache_ra_order: .* ino=(\w+) index=(\d+) order=\d+ size=(\d+) async_size=(\d+)"
)
_REQUEST = re.compile(r"block_rq_issue: \S+ (\w+) \d+ \(\) (\d+) \+ (\d+)")
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_ADVICE = {
    Op.NORMAL: os.POSIX_FADV_NORMAL,
    Op.SEQUENTIAL: os.POSIX_FADV_SEQUENTIAL,
    Op.RANDOM: os.POSIX_FADV_RANDOM,
    Op.WILLNEED: os.POSIX_FADV_WILLNEED,
}
_MADVICE = {
    MapFlag.SEQUENTIAL: mmap.MADV_SEQUENTIAL,
    MapFlag.RANDOM: mmap.MADV_RANDOM,
    MapFlag.HUGE: mmap.MADV_HUGEPAGE,
}
_FIXED_NOREPLACE = 0x100000
_REGION = 0x6000_0000_0000  # where mappings go: nothing else lives there
_STRIDE = 1 << 32  # bytes between two of them, so that none merges with another


@dataclass
class Seen:
    """What the kernel did: as an Outcome, but for runs; requests as (rwbs, sector, sectors).

    ``joined`` says of each insert whether its memory lies right after that of the one before.
    """

    inserts: list[tuple[int, int, int]] = field(default_factory=list)
    joined: list[bool] = field(default_factory=list)
    windows: list[tuple[int, int, int, int]] = field(default_factory=list)
    requests: list[tuple[str, int, int]] = field(default_factory=list)


class Judge:
    """One mounted file system, with an ftrace instance that sees nothing else."""

    def __init__(self, device: str, dev: int, instance: Path) -> None:
        self._queue = Path(f"/sys/block/{device}")
        self._instance = instance
        self.sees_windows = (instance / "events" / _WINDOWS).is_dir()  # from Linux 6.18 on
        for event, name in _EVENTS.items():
            if event != _WINDOWS or self.sees_windows:
                (instance / "events" / event / "filter").write_text(f"{name} == {dev}")
                (instance / "events" / event / "enable").write_text("1")

    def limit(self, name: str) -> int:
        """Return a limit of the device's queue."""
        return int((self._queue / "queue" / name).read_text())

    def run(self, paths: Sequence[Path], program: Program, window: int) -> Seen:
        """Execute ``program`` on ``paths`` (its files), cold, with a window in pages.

        No foreread of another test records meanwhile: it would change the window. Done again
        if somebody dropped all caches.
        """
        return wait_until(lambda: self._run_undisturbed(paths, program, window))

    def _run_undisturbed(self, paths: Sequence[Path], program: Program, window: int) -> Seen | None:
        with nobody_records() as undisturbed:
            seen = self._run(paths, program, window)
            return seen if undisturbed() else None

    def _run(self, paths: Sequence[Path], program: Program, window: int) -> Seen:
        self._queue.joinpath("queue/read_ahead_kb").write_text(str(window * PAGE // 1024))
        for path in paths:
            _drop(path)
        inodes = {path.stat().st_ino: row for row, path in enumerate(paths)}
        (self._instance / "trace").write_text("")
        (self._instance / "tracing_on").write_text("1")
        try:
            self._execute(paths, program)
        finally:
            (self._instance / "tracing_on").write_text("0")
        return _parse((self._instance / "trace").read_text(), inodes)

    def _execute(self, paths: Sequence[Path], program: Program) -> None:
        descriptors: dict[int, int] = {}
        mapped: dict[int, int] = {}
        try:
            for op, handle, mapping, at, length in program.operations.tolist():
                if op == Op.OPEN:
                    descriptors[handle] = os.open(paths[program.handles[handle]], os.O_RDONLY)
                elif op == Op.READ:
                    os.pread(descriptors[handle], length, at)
                elif op == Op.FAULT:
                    if mapping not in mapped:
                        row = program.mappings[mapping].tolist()
                        mapped[mapping] = _map(mapping, descriptors, row)
                    _touch(mapped[mapping], at - int(program.mappings[mapping]["start"]), length)
                else:
                    advice = _ADVICE[Op(op)]
                    os.posix_fadvise(descriptors[handle], at * PAGE, length * PAGE, advice)
                self._wait()
        finally:
            for mapping, address in mapped.items():
                _libc.munmap(address, int(program.mappings[mapping]["pages"]) * PAGE)
            for descriptor in descriptors.values():
                os.close(descriptor)

    def _wait(self) -> None:
        """Wait until nothing is being read: what is locked decides what is mapped around."""
        inflight = self._queue / "inflight"
        wait_until(lambda: inflight.read_text().split() == ["0", "0"])


def _map(row: int, descriptors: dict[int, int], mapping: tuple[int, ...]) -> int:
    handle, start, pages, address, flags = mapping
    at = _REGION + row * _STRIDE + (address % 512) * PAGE
    protection = mmap.PROT_READ | (mmap.PROT_EXEC if flags & MapFlag.EXEC else mmap.PROT_WRITE)
    how = (mmap.MAP_SHARED if flags & MapFlag.SHARED else mmap.MAP_PRIVATE) | _FIXED_NOREPLACE
    if flags & MapFlag.SHARED:
        protection &= ~mmap.PROT_WRITE
    found = _libc.mmap(at, pages * PAGE, protection, how, descriptors[handle], start * PAGE)
    if found != at:
        raise OSError(ctypes.get_errno(), "mmap")
    for flag, advice in _MADVICE.items():
        if flags & flag and _libc.madvise(at, pages * PAGE, advice) != 0:
            raise OSError(ctypes.get_errno(), "madvise")
    return at


def _touch(address: int, page: int, write: int) -> None:
    byte = ctypes.c_ubyte.from_address(address + page * PAGE)
    if write:
        byte.value = 1
    else:
        _ = byte.value


def _drop(path: Path) -> None:
    """Take a file out of the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        wait_until(lambda: _dropped(descriptor), lambda: f"{path} stays cached")
    finally:
        os.close(descriptor)


def _dropped(descriptor: int) -> bool:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return not _cached(descriptor)


def _cached(descriptor: int) -> int:
    """Return how many pages of a file are cached (cachestat, Linux 6.5)."""
    whole, answer = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()
    if _libc.syscall(451, descriptor, whole, answer, 0) != 0:
        raise OSError(ctypes.get_errno(), "cachestat")
    return answer[0]


def _parse(text: str, inodes: dict[int, int]) -> Seen:
    seen = Seen()
    behind = -1
    for line in text.splitlines():
        if match := _INSERT.search(line):
            ino, frame = int(match[1], 16), int(match[2], 16)
            position, order = int(match[3]), int(match[4])
            if ino in inodes:
                seen.joined.append(frame == behind)
                behind = frame + (1 << order)
                seen.inserts.append((inodes[ino], position // PAGE, order))
        elif match := _WINDOW.search(line):
            ino, *numbers = int(match[1], 16), *map(int, match.groups()[1:])
            if ino in inodes:
                start, size, ahead = numbers
                seen.windows.append((inodes[ino], start, size, ahead))
        elif (match := _REQUEST.search(line)) and match[1].startswith("R"):
            seen.requests.append((match[1], int(match[2]), int(match[3])))
    return seen


@contextmanager
def judge(tracefs: Path, mountpoint: Path, device: str) -> Iterator[Judge]:
    """Yield a Judge of the file system mounted from a loop device."""
    dev = mountpoint.stat().st_dev
    kernel_dev = os.major(dev) << 20 | os.minor(dev)
    instance = tracefs / "instances" / f"judge-{os.getpid()}"
    instance.mkdir()
    try:
        yield Judge(device, kernel_dev, instance)
    finally:
        with suppress(OSError):
            instance.joinpath("tracing_on").write_text("0")
        instance.rmdir()
