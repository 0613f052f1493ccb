"""Offsets of the struct members that probes read: from BTF, or a table by kernel and machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import msgspec

from foreread.boards.base.toml_document import decode_toml, read_toml
from foreread.tracer.probes.btf import Btf
from foreread.tracer.probes.error import ProbeError

# "struct.member"; anonymous structs and unions in between have no name here.
MEMBERS = (
    "vm_fault.vma",
    "vm_fault.pgoff",
    "vm_area_struct.vm_file",
    "kiocb.ki_filp",
    "kiocb.ki_pos",
    "iov_iter.count",
    "file.f_inode",
    "inode.i_ino",
    "inode.i_sb",
    "super_block.s_dev",
    "filename.name",
)
TABLE = Path(__file__).parent / "offsets.toml"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The offsets of one kernel; ``origin`` says what they were derived from."""

    release: str  # uname -r
    machine: str  # uname -m
    origin: str
    offsets: dict[str, Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]]  # bytes, by member


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of offsets."""

    kernel: list[Entry] = []


@dataclass(frozen=True)
class Offsets:
    """Bytes by member (all of MEMBERS), and where they come from."""

    of: Mapping[str, int]
    origin: str


def own_table() -> Path:
    """Return where offsets of the user's own kernels are kept (XDG base directories)."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "foreread" / "offsets.toml"


def find_offsets(release: str, machine: str, btf: bytes | None) -> Offsets:
    """Return the offsets of a kernel: from its BTF, or else from the tables.

    In the tables, the same release is preferred to another of the same series (6.1), and the user's
    table to the one that ships. Raises ProbeError if the offsets are unknown.
    """
    if btf is not None:
        types = Btf(btf)
        return Offsets({member: types.offset(member) for member in MEMBERS}, "BTF")
    entries = [*read_table(own_table()), *read_table(TABLE)]
    fitting = [entry for entry in entries if entry.machine == machine]
    same = [entry for entry in fitting if entry.release == release]
    near = [entry for entry in fitting if _series(entry.release) == _series(release)]
    if not same and not near:
        raise ProbeError(
            f"the kernel {release} ({machine}) has no BTF, and its structs are not known",
            f"run: python3 -m foreread.tracer.probes.make_table KERNEL_TREE --machine {machine} "
            "--append, on the tree this kernel was built from; or record without probes",
        )
    entry = max(same or near, key=lambda near_entry: _ends_alike(near_entry.release, release))
    if missing := [member for member in MEMBERS if member not in entry.offsets]:
        raise ProbeError(
            f"the table of offsets lacks {', '.join(missing)} for {entry.release}",
            "make the entry again with foreread.tracer.probes.make_table",
        )
    return Offsets(entry.offsets, f"table, {entry.release} {machine}")


def read_table(path: Path) -> list[Entry]:
    """Return the entries of a file, none if there is no file; raises ProbeError."""
    try:
        return decode_toml(read_toml(path, "correct the file or remove it"), Table).kernel
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ProbeError(f"{path}: {error}", "correct the file or remove it") from error


def _ends_alike(first: str, other: str) -> int:
    """Return the length of the common suffix: a release ends with its configuration's name."""
    pairs = zip(reversed(first), reversed(other), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _series(release: str) -> str | None:
    """Return "6.1" of "6.1.0-50-armmp"."""
    match = re.match(r"\d+\.\d+(?!\d)", release)
    return match[0] if match else None
