"""The capture: a directory with the raw trace and everything needed to read it off the board.

::

    NAME/
      capture.json   metadata (class RunMetadata), written last: without it the capture is partial
      files.json     list of FileEntry: path and size of every inode seen
      disk.json      DiskProbe (disk_probe.py): requests that show the cost of the disk
      trace/         back-end's raw trace: tracefs pages and formats, trace.dat or perf.data

The same directory packed as ``.tar``, ``.tar.gz`` or ``.tar.xz`` is a capture too.
Strings that come from the target (paths, commands) are decoded with surrogateescape.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import field

from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.boards.base.brief import brief
from foreread.boards.base.document import Document, OtherSchemaError, decode, encode, says
from foreread.boards.stack import Stack
from foreread.tracer.error import TracerError
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.disk_probe import DiskProbe
from foreread.tracer.formats.limits import (
    METADATA_REMEDY,
    MOST_DISK_BYTES,
    MOST_FILES_BYTES,
    MOST_METADATA_BYTES,
)
from foreread.tracer.formats.memory import Memory
from foreread.tracer.formats.scenario import IDLE

# Bounds of a capture's numbers: a capture may come from anybody.
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
PageBytes = Annotated[int, msgspec.Meta(ge=1024, le=1 << 20)]
FileSize = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 63) - 1)]  # -1 if unknown
ThreadId = Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)]

METADATA = "capture.json"
FILES = "files.json"
DISK = "disk.json"
TRACE = "trace"
_MAJOR_BITS, _MINOR_BITS = 12, 20  # dev_t in the kernel (include/linux/kdev_t.h)
HUGE_PAGES = "CONFIG_TRANSPARENT_HUGEPAGE"  # one of Host.kernel_options


def dev_text(dev: int) -> str:
    """Return "major:minor" of a kernel dev_t."""
    return f"{dev >> _MINOR_BITS}:{dev & (1 << _MINOR_BITS) - 1}"


class CaptureError(TracerError, ValueError):
    """A capture that cannot be read; ``remedy`` says what to do."""


@lru_cache  # a capture names few devices, thousands of times
def dev_of(text: str) -> int:
    """Return the kernel's dev_t of "major:minor". Raises CaptureError."""
    match = re.fullmatch(r"([0-9]{1,4}):([0-9]{1,7})", text)
    if match is None or int(match[1]) >> _MAJOR_BITS or int(match[2]) >> _MINOR_BITS:
        raise CaptureError(f"no device number: {text!r}", "the capture is damaged: record again")
    return int(match[1]) << _MINOR_BITS | int(match[2])


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine that was recorded."""

    __repr__ = brief

    kernel: str  # uname -r
    version: str  # uname -v
    machine: str  # uname -m
    nodename: str = ""
    page_size: PageBytes
    byte_order: Literal["little", "big"]
    long_size: int
    cpu_model: str = ""  # or the board's, from the device tree, where the CPU has none
    cpu_count: Count
    memory_kib: Count
    sequential_cat: bool | None = None  # its cat asks for it, as GNU's does; None: unknown
    kernel_options: dict[str, str] = {}  # value by CONFIG_ name, "n" if unset; {} if unreadable

    @property
    def board(self) -> str:
        """The machine and its processor, in words."""
        return board_words(self.machine, self.cpu_model)


def board_words(machine: str, cpu_model: str) -> str:
    """Return a machine and its processor in words, as far as they are known."""
    return " ".join(filter(None, (machine, cpu_model)))


def start_name(command: list[str] | None, path: str | os.PathLike[str] = "") -> str:
    """Return the name of a start: its command, else the name of the file that it is from."""
    return " ".join(command or []) or Path(path).name


class Squashfs(msgspec.Struct, frozen=True, kw_only=True):
    """The image that a squashfs is mounted from; 0 or "" where the recorder could not read it."""

    block_bytes: Count = 0  # of an unpacked block: f_bsize of statfs(2)
    device_block_bytes: Count = 0  # reads are multiples of it: st_blksize of stat(2)
    compressor: str = ""


class InodeTables(msgspec.Struct, frozen=True, kw_only=True):
    """The inode tables of a mounted ext4 that the run read from; places in blocks."""

    block_bytes: Count
    read_ahead_blocks_before: Count  # inode_readahead_blks as found, restored after the run
    read_ahead_blocks: Count  # in force during the run
    # First block of each table, and the last that is read ahead: the one with the first unused
    # inode. Tables that the run did not read from are left out.
    tables: list[tuple[Count, Count]] = []


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of mountinfo."""

    __repr__ = brief

    dev: str  # "major:minor" of the superblock
    mountpoint: str
    fstype: str
    source: str
    options: str
    first_sector: Count = 0  # of the partition on its disk, 512-byte sectors
    squashfs: Squashfs | None = None  # None: not a squashfs, or recorded by foreread 0.1
    inode_tables: InodeTables | None = None  # None: not an ext4, or they could not be read


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A disk: the unit that has a read_ahead_kb."""

    __repr__ = brief

    dev: str  # "major:minor" of the disk
    name: str
    filesystems: list[str]  # superblock devs that read from it, partitions included
    size_bytes: Count
    read_ahead_kb_before: Count  # as found, restored after the run
    read_ahead_kb: Count  # in force during the run
    queue: dict[str, str]  # every readable attribute of /sys/block/NAME/queue
    model: str = ""


class Extent(msgspec.Struct, frozen=True, array_like=True):
    """A part of a file in one piece on its file system's device, in bytes (FIEMAP)."""

    at: Count
    physical: Count
    length: Count
    written: bool  # otherwise it reads as zeros, without I/O


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """A part of a program or library that is mapped when it runs, in bytes (PT_LOAD)."""

    at: Count
    length: Count
    executable: bool
    writable: bool


class FileEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An inode seen in the trace.

    ``extents`` is None where they are not known; ``segments`` are an ELF file's.
    ``cached_pages`` are the [first page, pages] that were in the page cache when the run began,
    although caches were dropped; None where that could not be determined. ``link``: a symbolic
    link.
    """

    __repr__ = brief

    dev: str
    ino: int
    path: str | None
    size_bytes: FileSize
    extents: list[Extent] | None = None
    segments: list[Segment] = []
    cached_pages: list[tuple[Count, Count]] | None = None
    link: bool = False


class Resident(msgspec.Struct, frozen=True, kw_only=True):
    """Pages of one file that were cached before the run although caches were dropped."""

    __repr__ = brief

    dev: str
    ino: int
    path: str | None
    pages: Count


class Cold(msgspec.Struct, frozen=True, kw_only=True):
    """The proof that the run was cold."""

    __repr__ = brief

    proven: bool
    how: str
    resident_pages: Count  # still cached after the drop, mapped by running processes
    resident: list[Resident]


class ReadBefore(msgspec.Struct, frozen=True, kw_only=True):
    """What a disk had read when the recording of a boot began."""

    disk: str
    requests: Count
    bytes: Count


Origin = Literal["init", "scripts"]


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded boot, before its recording began.

    ``recorded_from``: the init program itself, or the first script that it runs. ``processes`` ran
    already; what they start belongs to the boot.
    """

    recorded_from: Origin = "scripts"
    processes: list[ThreadId]
    read_before: list[ReadBefore]


class Metadata(Document, frozen=True, kw_only=True):
    """What a recorder notes of a run in addition to its trace: None or empty for no note.

    foreread's recorder notes all of it (RunMetadata). Another tool's trace comes without any:
    ``Metadata()``.
    """

    foreread: str | None = None
    created: str | None = None
    backend: str | None = None
    backend_version: str = ""
    host: Host | None = None
    command: list[str] | None = None  # empty for a load
    cwd: str = ""
    pid: ThreadId | None = None
    exit_status: int | None = None
    signal: Annotated[int | None, says("number of the signal that ended the command")] = None
    options: Annotated[list[str], says("options of foreread record that repeat the run")] = field(
        default_factory=list
    )
    environment: Annotated[
        dict[str, str], says("variables of the command that change how it starts")
    ] = field(default_factory=dict)
    cgroups: Annotated[list[str], says("of the command, as in /proc/PID/cgroup")] = field(
        default_factory=list
    )
    ended_by: str | None = None
    wall_seconds: float | None = None
    start_ns: Count | None = None
    end_ns: Count | None = None
    clock: str | None = None
    read_ahead_kb: Count | None = None
    events: list[str] = field(default_factory=list)
    events_missing: list[str] = field(default_factory=list)
    lost: dict[str, Count] | None = None
    cold: Cold | None = None
    memory: Annotated[
        Memory | None, says("the memory that the run had; null in captures of older forereads")
    ] = None
    devices: list[Device] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    stacks: Annotated[
        list[Stack], says("what lies under each file system; empty in captures of foreread 0.1")
    ] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    boot: Annotated[Boot | None, says("null unless a whole boot was recorded")] = None
    scenario: Annotated[str, says("the load beside the start, as --scenario names it")] = IDLE
    load_apart: Annotated[
        str, says("why the scenario's load is not in the start's control group; empty if it is")
    ] = ""
    is_load: Annotated[
        bool, says("true: what the machine read and wrote by itself, without a start")
    ] = False
    confirmations: Annotated[list[Confirmation], says("measured proofs of the proposed window")] = (
        field(default_factory=list)
    )

    @property
    def span_ns(self) -> tuple[int, int] | None:
        """When the run began and ended, by the trace's clock (ns)."""
        if self.start_ns is None or self.end_ns is None:
            return None
        return self.start_ns, self.end_ns


NO_METADATA = Metadata()  # of another tool's trace


class RunMetadata(Metadata, frozen=True, kw_only=True):
    """What is known of one recorded run, except its disk's probe."""

    foreread: Annotated[str, says("version of foreread")]
    created: Annotated[str, says("ISO 8601, UTC")]
    backend: Literal["tracefs", "trace-cmd", "perf"]
    host: Host
    command: list[str]
    cwd: str
    pid: Annotated[ThreadId, says("process id of the command's first process")]
    exit_status: Annotated[
        int | None, says("null if the command still ran when the recording ended")
    ]
    ended_by: Annotated[
        Literal["exit", "signal", "duration", "idle", "output", "boot-done"],
        says("what ended the recording"),
    ]
    wall_seconds: Annotated[
        float, says("seconds from exec to the end of the recording or of the command")
    ]
    start_ns: Annotated[Count, says("trace clock just before exec, in ns")]
    end_ns: Annotated[Count, says("trace clock at the end, in ns")]
    clock: Annotated[str, says("name of the trace clock: mono")]
    read_ahead_kb: Annotated[Count, says("the window that was asked for, in KiB")]
    events: Annotated[list[str], says("recorded events, as system:name")]
    events_missing: Annotated[list[str], says("wanted events that this kernel does not have")]
    lost: Annotated[dict[str, Count], says("lost events by CPU")]
    cold: Cold
    devices: list[Device]
    mounts: list[Mount]


class Capture(RunMetadata, frozen=True, kw_only=True):
    """Metadata of one recorded run; ``disk`` is kept in a file of its own."""

    disk: DiskProbe | None = None


def write(directory: Path, capture: Capture, files: list[FileEntry]) -> None:
    """Complete the capture in ``directory``: files first, the metadata last and atomically."""
    _write_json(directory / FILES, files)
    if capture.disk is not None:
        add_disk(directory, capture.disk)
    _write_json(directory / METADATA, msgspec.structs.replace(capture, disk=None))


def add_disk(directory: Path, disk: DiskProbe) -> None:
    """Add the probe of its disk to a complete capture."""
    _write_json(directory / DISK, disk, indent=None)


def read(directory: Path) -> tuple[Capture, list[FileEntry]]:
    """Return metadata and files of the capture in ``directory``.

    Raises CaptureError when it is partial, of a newer schema or damaged.
    """
    metadata = directory / METADATA
    if not metadata.exists():
        raise CaptureError(
            f"{directory} is a partial capture: {METADATA} is missing",
            "the recording was interrupted: record again",
        )
    capture = _read_json(metadata, Capture, MOST_METADATA_BYTES)
    if (directory / DISK).exists():
        disk = _read_json(directory / DISK, DiskProbe, MOST_DISK_BYTES)
        capture = msgspec.structs.replace(capture, disk=disk)
    return capture, read_files(directory / FILES)


def read_files(path: Path) -> list[FileEntry]:
    """Return the files in a capture's files.json; raises CaptureError when it is damaged."""
    files: list[FileEntry] = _read_json(path, list[FileEntry], MOST_FILES_BYTES)
    return files


def _write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(encode(value, indent) + "\n")
    temporary.replace(path)


def _read_json(path: Path, kind: Any, most_bytes: int) -> Any:
    try:
        return decode(read_bounded(path, most_bytes, METADATA_REMEDY), kind)
    except OtherSchemaError as error:
        raise CaptureError(f"{path} {error}", error.remedy) from error
    except UnboundedError as error:
        raise CaptureError(str(error), METADATA_REMEDY) from error
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise CaptureError(f"{path}: {error}", "the capture is damaged: record again") from error
