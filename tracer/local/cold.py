"""Drop the caches before a run, and prove that they were dropped.

``drop_caches`` silently keeps pages that a running process maps. So the
drop is checked: the pages that the page cache still holds (/proc/meminfo) are counted against
those that running processes map (mincore over every mapped file). Cached pages that nobody maps
were not dropped; a few are normal (pages under I/O, superblocks).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from foreread.boards.base.apart import apart
from foreread.boards.base.units import kib_to_pages
from foreread.boards.mounts import MountPoint, mount_of, read_mounts
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Cold, Resident
from foreread.tracer.local.displaced import displace_squashfs
from foreread.tracer.memory import meminfo
from foreread.tracer.runs.cold import allowed_kib, judged, parse_mapping
from foreread.tracer.runs.residency import Inode, Runs, runs_of

_BLKFLSBUF = 0x1261  # <linux/fs.h>
_DROP = Path("/proc/sys/vm/drop_caches")
_ATTEMPTS = 6  # with growing pauses, 3 s in all: disturbances are often short
_CHUNK_PAGES = 1 << 16  # mapped at a time: 256 MiB, which a 32-bit address space has
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def drop_and_prove(files: list[Path], mounts: list[MountPoint]) -> tuple[Cold, dict[Inode, Runs]]:
    """Drop the caches; return the proof and the pages that are still cached.

    ``proven`` is False if the proof failed. The pages belong to files that running processes
    map.

    The proof itself looks up inodes and directories: drop once more just before the run.
    ``files`` are those that must not be cached unless a running process maps them (the
    command's executable). Raises RecordError if the kernel does not let the caches be dropped.
    """
    before = cached_pages()
    for attempt in range(_ATTEMPTS):
        drop_caches()
        # Apart: the files that processes map may be databases that this process has locked.
        cold, cached = apart(partial(_prove, files, before, mounts))
        if cold.proven:
            break
        time.sleep(0.2 * (attempt + 1))  # somebody else's reads may still be under way
    return cold, cached


def drop() -> None:
    """Drop page cache, directory entries and inodes, and the caches of squashfs."""
    displace_squashfs()
    drop_caches()


def drop_caches() -> None:
    """Write back dirty pages, then drop page cache, directory entries and inodes."""
    os.sync()
    if keeps_last_used(os.uname().release):
        _release_last_used()
    try:
        _DROP.write_text("3\n")
    except OSError as error:
        raise RecordError(
            f"the caches cannot be dropped: {_DROP}: {error.strerror}",
            "run as root, outside of containers that make /proc/sys read-only",
        ) from error


def keeps_last_used(release: str) -> bool:
    """Return whether drop_caches keeps the blocks and pages that a processor used last.

    They are in bh_lrus of fs/buffer.c and lru_add of mm/swap.c; drop_caches drains them since 6.7.
    """
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and (int(version[1]), int(version[2])) < (6, 7)


def _release_last_used() -> None:
    """Make all processors release them: BLKFLSBUF of a mounted disk (block/bdev.c) does that."""
    for source in {mount.source for mount in read_mounts() if mount.source.startswith("/dev/")}:
        with suppress(OSError):  # not a disk, or a container that has none
            disk = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                fcntl.ioctl(disk, _BLKFLSBUF)
            finally:
                os.close(disk)


def cached_pages() -> int:
    """Return the file pages in the page cache: Cached + Buffers − Shmem of /proc/meminfo."""
    kib = meminfo()
    return kib_to_pages(kib["Cached"] + kib["Buffers"] - kib.get("Shmem", 0), _PAGE_BYTES)


def resident_pages(path: Path) -> list[int]:
    """Return which pages of the file are in the page cache; reads none of them.

    Raises OSError if the file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return []
        pages = -(-status.st_size // _PAGE_BYTES)
        starts = range(0, pages, _CHUNK_PAGES)
        chunks = (_resident(descriptor, at, min(_CHUNK_PAGES, pages - at)) for at in starts)
        return [page for chunk in chunks for page in chunk]
    finally:
        os.close(descriptor)


def mapped_files(pids: Iterable[int] | None = None) -> dict[tuple[str, int], str]:
    """Return path by (dev, ino) of every file that the processes map, all by default.

    ``dev`` is the superblock's "major:minor", as in traces (fs/proc/task_mmu.c, show_map_vma).
    """
    return {key: path for key, path, _ in _mappings(pids)}


def _mappings(pids: Iterable[int] | None = None) -> Iterator[tuple[tuple[str, int], str, Path]]:
    """Yield (dev, ino), path, and the link in /proc that opens the file itself.

    The path is the process's own: for a process in a container it may name another file here, or
    none.
    """
    for pid in [path.name for path in Path("/proc").glob("[0-9]*")] if pids is None else pids:
        try:
            lines = os.fsdecode(Path(f"/proc/{pid}/maps").read_bytes()).split("\n")
        except OSError:
            continue  # it has ended, or is a kernel thread
        for line in lines:
            if mapping := parse_mapping(line):
                start, end = (int(address, 16) for address in line.split(None, 1)[0].split("-"))
                yield *mapping, Path(f"/proc/{pid}/map_files/{start:x}-{end:x}")


def _prove(
    files: list[Path], before: int, mounts: list[MountPoint]
) -> tuple[Cold, dict[Inode, Runs]]:
    resident, cached = _resident_mapped(
        {mount.dev for mount in mounts if mount.fstype in _IN_MEMORY}
    )
    after = cached_pages()
    mapped = sum(file.pages for file in resident)
    allowed = kib_to_pages(allowed_kib(meminfo()["MemTotal"]), _PAGE_BYTES)
    proven, how = judged(
        "", (before, after, mapped, allowed), "mapped by running processes (mincore)"
    )
    warm = _warm(files, {file.path for file in resident}, mounts)
    cold = Cold(
        proven=proven and not warm,
        how="; ".join([how, *(f"{path} is still cached" for path in warm)]),
        resident_pages=mapped,
        resident=resident,
    )
    return cold, cached


def _pages_of(link: Path, path: Path, ino: int) -> list[int]:
    """Return the cached pages of a mapped file; none if nothing opens it (its process has ended).

    The links need CONFIG_CHECKPOINT_RESTORE before Linux 4.3: the path does where it is right.
    """
    for place in (link, path):
        try:
            if place.stat().st_ino == ino:
                return resident_pages(place)
        except OSError:
            continue
    return []


def _resident_mapped(in_memory: set[str]) -> tuple[list[Resident], dict[Inode, Runs]]:
    """Return the cached pages of the files that processes map, except on ``in_memory`` devs."""
    resident, cached = [], {}
    mapped = {key: (path, link) for key, path, link in _mappings()}
    for (dev, ino), (path, link) in mapped.items():
        if dev in in_memory:
            continue  # counted as Shmem or not at all, and nothing that could be dropped
        if pages := _pages_of(link, Path(path), ino):
            resident.append(Resident(dev=dev, ino=ino, path=path, pages=len(pages)))
            cached[dev, ino] = runs_of(pages)
    return sorted(resident, key=lambda file: -file.pages), cached


def _warm(files: list[Path], mapped: set[str | None], mounts: list[MountPoint]) -> list[Path]:
    """Return the files that are cached although nobody maps them; tmpfs always is."""
    return [
        real
        for file in files
        if str(real := file.resolve()) not in mapped
        and _on_storage(real, mounts)
        and resident_pages(real)
    ]


def _on_storage(path: Path, mounts: list[MountPoint]) -> bool:
    mount = mount_of(path, mounts)
    return mount is not None and mount.fstype not in _IN_MEMORY


def _resident(descriptor: int, first: int, pages: int) -> list[int]:
    """Return the resident pages of one chunk, by mincore(2) over a mapping of it."""
    length = pages * _PAGE_BYTES
    address = _MMAP(None, length, 1, 1, descriptor, first * _PAGE_BYTES)  # PROT_READ, MAP_SHARED
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        vector = (ctypes.c_ubyte * pages)()
        if _LIBC.mincore(ctypes.c_void_p(address), ctypes.c_size_t(length), vector) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
        return [first + at for at, byte in enumerate(bytes(vector)) if byte & 1]
    finally:
        _LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))


def _mmap_function(libc: ctypes.CDLL) -> Callable[..., int]:
    # mmap64 where it exists: with it an offset has 64 bits on 32-bit machines, too.
    function = getattr(libc, "mmap64", None) or libc.mmap
    function.restype = ctypes.c_void_p
    integers = [ctypes.c_int] * 3
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *integers, ctypes.c_int64]
    return function


_LIBC = ctypes.CDLL(None, use_errno=True)
_MMAP = _mmap_function(_LIBC)
