"""Which probes a kernel needs, and their definitions for its kprobe_events.

Functions and their arguments by kernel: mm/filemap.c, mm/mmap.c, fs/namei.c, Linux 4.11 to 6.12.
The syntax of definitions: Documentation/trace/kprobetrace.rst.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from foreread.tracer.probes.convention import Convention, convention_of
from foreread.tracer.probes.error import ProbeError
from foreread.tracer.probes.offsets import Offsets, find_offsets

FAULT, READ, MAP, OPEN = PROBES = ("file_fault", "file_read", "file_map", "openat")
_OLDEST = (4, 11)  # earlier, filemap_fault has another first argument
_FILEMAP_READ_SINCE = (5, 12)
_DO_FILE_OPEN_SINCE = (7, 0)
_GROUP = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_LONGEST_ARGUMENT = 63  # MAX_ARGSTR_LEN, kernel/trace/trace_probe.h


@dataclass(frozen=True)
class ProbePlan:
    """What to define: by the probe's name, its function and arguments.

    In tracefs a probe is the event GROUP/NAME. ``origin`` says where the struct offsets come from.
    """

    group: str
    bodies: dict[str, str]
    origin: str
    notes: list[str]

    @property
    def definitions(self) -> list[str]:
        """The lines to write, one a write, to kprobe_events (or dynamic_events)."""
        return [f"p:{self.group}/{name} {body}" for name, body in self.bodies.items()]


def plan(
    kernel_release: str,
    machine: str,
    btf: bytes | None,
    wanted: Collection[str] = PROBES,
    group: str = "foreread",
    at_any_risk: bool = False,
) -> ProbePlan:
    """Return the definitions of the ``wanted`` probes (of PROBES).

    ``kernel_release`` and ``machine`` are what uname -r and -m say, ``btf`` the content of
    /sys/kernel/btf/vmlinux, None where there is none; ``group`` names the owner. Fields:
    ``file_fault`` file, ino, dev, index (pages); ``file_read`` file, ino, dev, pos, count
    (bytes); ``file_map`` file (0 for anonymous memory, whose other file fields mean nothing),
    ino, dev, index (pages), addr, len (bytes), vm_flags; ``openat`` dfd, path, flags.
    Raises ProbeError where the offsets, the machine or the kernel are not known, and where probes
    are known to endanger the machine, unless ``at_any_risk``.
    """
    version = _version(kernel_release)
    if version < _OLDEST:
        raise ProbeError(
            f"probes need Linux 4.11 or later, and this is {kernel_release}",
            "record without probes, at read_ahead_kb=0",
        )
    if not _GROUP.fullmatch(group):
        raise ProbeError(f"{group!r} can be no group of events", "this is a bug: report it")
    call = convention_of(machine)
    if call.danger and not at_any_risk:
        raise ProbeError(call.danger, "record without probes, at read_ahead_kb=0")
    offsets = find_offsets(kernel_release, machine, btf)
    lines = _Lines(call, offsets, version)
    return ProbePlan(
        group=group,
        bodies={name: _checked(lines.of(name)) for name in PROBES if name in wanted},
        origin=offsets.origin,
        notes=[f"probes: struct offsets from {offsets.origin}"],
    )


@dataclass(frozen=True)
class _Lines:
    """The right-hand sides of the definitions for one kernel."""

    call: Convention
    offsets: Offsets
    version: tuple[int, int]

    def of(self, name: str) -> str:
        make = {FAULT: self.fault, READ: self.read, MAP: self.map, OPEN: self.open}
        return make[name]()

    def fault(self) -> str:
        vmf = self.call.arguments[0]
        file = self.at("vm_area_struct.vm_file", self.at("vm_fault.vma", vmf))
        index = self.at("vm_fault.pgoff", vmf)
        return f"filemap_fault {self.file(file)} index={index}:{self.long}"

    def read(self) -> str:
        iocb, iter_ = self.call.arguments[:2]
        since = self.version >= _FILEMAP_READ_SINCE
        function = "filemap_read" if since else "generic_file_read_iter"
        position, count = self.at("kiocb.ki_pos", iocb), self.at("iov_iter.count", iter_)
        file = self.file(self.at("kiocb.ki_filp", iocb))
        return f"{function} {file} pos={position}:u64 count={count}:{self.long}"

    def map(self) -> str:
        file, address, length, flags, index = self.call.arguments
        # All uses of mmap_region pass here, those of exec too.
        return (
            f"mmap_region {self.file(file)} index={index}:{self.long} addr={address}:{self.long} "
            f"len={length}:{self.long} vm_flags={flags}:{self.long}"
        )

    def open(self) -> str:
        dfd, name, flags = self.call.arguments[:3]
        # Not do_sys_openat2: there the path is the caller's, and perhaps not in memory yet.
        # open_flag is the first member of struct open_flags (fs/internal.h).
        path = self.at("filename.name", name)
        function = "do_file_open" if self.version >= _DO_FILE_OPEN_SINCE else "do_filp_open"
        return f"{function} dfd={dfd}:s32 flags=+0({flags}):u32 path=+0({path}):string"

    def file(self, file: str) -> str:
        """Return the arguments that name a struct file and its inode.

        The tracepoints take f_mapping->host, which is the same for all but block devices, and
        f_inode lies in the same place whatever a kernel's configuration.
        """
        inode = self.at("file.f_inode", file)
        ino = self.at("inode.i_ino", inode)
        dev = self.at("super_block.s_dev", self.at("inode.i_sb", inode))
        return f"file={file}:{self.long} ino={ino}:{self.long} dev={dev}:u32"

    def at(self, member: str, base: str) -> str:
        return f"+{self.offsets.of[member]}({base})"

    @property
    def long(self) -> str:
        return f"u{self.call.long_bits}"


def _version(release: str) -> tuple[int, int]:
    match = re.match(r"(\d{1,3})\.(\d{1,4})(?!\d)", release)
    if not match:
        raise ProbeError(f"{release!r} is not a kernel release", "record without probes")
    return int(match[1]), int(match[2])


def _checked(body: str) -> str:
    longest = max(len(word) for word in body.split()[1:])
    if longest > _LONGEST_ARGUMENT:
        raise ProbeError(
            f"a probe's argument has {longest} characters, of which kernels take "
            f"{_LONGEST_ARGUMENT}",
            "record without probes, and report the kernel's version as a bug",
        )
    return body
