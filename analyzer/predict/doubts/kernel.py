"""Doubts about the model of a kernel: setups that were not compared with real kernels.

The project compared some setups, and docs/explanation/accuracy.md has the figures. Users judge
their own kernels with ``foreread doctor --judge`` (boards/judged.py), and their results come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.boards.base.note import Note, NoteKind
from foreread.boards.base.units import KIB
from foreread.boards.judged import JudgedError, JudgedKernel, judged_kernels
from foreread.emulator.linux.rules import (
    NEWEST_READ,
    KernelError,
    Version,
    is_unread,
    series_text,
    version_of,
    version_text,
)
from foreread.tracer.formats.capture import Host, dev_of

Judged = dict[tuple[int, int], dict[str, frozenset[str]]]

_USUAL_PAGE = 4096  # bytes
_EXT4 = frozenset({"ext4"})
_OTHERS = frozenset({"erofs", "xfs", "btrfs"})
# By kernel series: file systems of each machine (uname -m, with its pages if they are larger).
# tests/kernel/test_linux_*.py and test_stacks_on_boards.py; make accuracy ONLY=kernels,filesystems
# (studies/accuracy/filesystems.md). Compressed btrfs, EROFS and f2fs are refused (clusters.py).
PAGES: Judged = {
    (5, 10): {"x86_64": _EXT4 | _OTHERS | {"squashfs"}, "aarch64": _EXT4},
    (6, 1): {
        "x86_64": _EXT4 | _OTHERS | {"squashfs"},
        **dict.fromkeys(("aarch64", "armv7l", "mips", "s390x"), _EXT4),
    },
    (6, 12): {
        "x86_64": _EXT4 | _OTHERS | {"squashfs", "f2fs"},
        "aarch64": _EXT4 | {"erofs"},
        "aarch64 with pages of 16 KiB": _EXT4,
    },
    (6, 18): {"x86_64": frozenset({"ext4", "xfs", "squashfs"})},
    (7, 2): {
        "x86_64": _EXT4 | _OTHERS | {"squashfs"},
        **dict.fromkeys(("aarch64", "aarch64 with pages of 16 KiB", "riscv64"), _EXT4),
    },
}
SECONDS: Judged = {  # measured by sweep, studies/accuracy/results.md, kernels.md, filesystems.md
    (5, 10): dict.fromkeys(("x86_64", "aarch64"), _EXT4),
    (6, 1): {
        "x86_64": _EXT4 | {"erofs", "squashfs"},
        **dict.fromkeys(("aarch64", "armv7l", "s390x"), _EXT4),
    },
    (6, 12): {
        "x86_64": _EXT4 | {"btrfs", "erofs", "f2fs", "squashfs"},
        "aarch64": _EXT4 | {"erofs"},
        "aarch64 with pages of 16 KiB": _EXT4,
    },
    (6, 18): {"x86_64": frozenset({"ext4"})},
    (7, 2): {
        "x86_64": _EXT4 | {"erofs", "squashfs"},
        **dict.fromkeys(("aarch64", "aarch64 with pages of 16 KiB", "riscv64"), _EXT4),
    },
}
# Relative standard deviation of the seconds of other setups, from median errors / 0.67 of a normal
# distribution. On armhf, on which no seconds had been measured, two starts were off by 2.1 and
# 2.3 %: 3.3 % in all, less what every band has (bands.REPLAY). The readahead of a neighbouring
# kernel series (6.12 for 6.18) changes the seconds by 2.9 % rms.
UNCONFIRMED = 0.03


@dataclass(frozen=True)
class Setting:
    """The setup of a prediction: kernel, machine, and the file systems of the accessed files.

    ``machine`` is that of ``uname -m``, with the size of its pages unless they have 4 KiB. It is
    None, and ``filesystems`` are empty, where the recording does not say.
    """

    version: Version
    machine: str | None
    filesystems: frozenset[str]


def setting_of(recording: Recording, version: Version, disk: int | None = None) -> Setting:
    """Return the setup of a recording, for the files of one disk and a kernel to predict for."""
    capture = recording.capture
    if capture.host is None:
        return Setting(version, None, frozenset())
    types = {dev_of(mount.dev): mount.fstype for mount in capture.mounts}
    accessed = recording.files["dev"][recording.files["accessed"] > 0].tolist()
    used = {dev for dev in accessed if disk in (None, recording.devices.get(dev, dev))}
    known = frozenset(types[dev] for dev in used if dev in types)
    return Setting(version, _machine(capture.host), known)


def _machine(host: Host) -> str:
    if host.page_size == _USUAL_PAGE:
        return host.machine
    return f"{host.machine} with pages of {host.page_size // KIB} KiB"


def unlike(setting: Setting, judged: Judged) -> Iterator[str]:
    """Yield the properties in which a setup is not among those ``judged``."""
    series = series_text(setting.version)
    machines = judged.get((setting.version[0], setting.version[1]))
    if machines is None:
        yield series
        return
    if setting.machine is None:
        return
    if setting.machine not in machines:
        yield f"{series} on {setting.machine}"
        return
    others = sorted(setting.filesystems - machines[setting.machine])
    if others:
        yield f"{', '.join(others)} with {series} on {setting.machine}"


def untried(setting: Setting) -> Iterator[Doubt]:
    """Yield a doubt if the readahead of a setup was not compared with a running kernel."""
    for what in unlike(setting, PAGES):
        yield Doubt(f"the readahead model was not compared with a running kernel for {what}")


def unconfirmed(setting: Setting) -> Iterator[Doubt]:
    """Yield a doubt if the predicted seconds of a setup were not compared with measured ones."""
    for what in unlike(setting, SECONDS):
        yield Doubt(f"the predicted seconds are unconfirmed for {what}", spread=UNCONFIRMED)


@dataclass(frozen=True)
class OfModel:
    """The doubts about a readahead model, and notes on what dispels others."""

    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]


def of_model(recording: Recording, version: Version) -> OfModel:
    """Return what is known of the readahead of kernel ``version`` for a recording."""
    setting, notes, judged = setting_of(recording, version), list[str](), list[JudgedKernel]()
    try:
        judged = [kernel for kernel in judged_kernels() if _is_of(kernel, recording, version)]
    except JudgedError as error:
        notes.append(f"judged kernels are not considered: {error}")
    doubts = [*_unread(version)]
    judged = [kernel for kernel in judged if kernel.file_system in setting.filesystems]
    for kernel in judged:
        if kernel.result == "different":
            text = (
                f"this kernel's readahead on {kernel.file_system} differs from the model (judged "
                f"on {kernel.date}): {kernel.difference}"
            )
            doubts.append(Doubt(text))
        else:
            text = (
                f"readahead on {kernel.file_system}: confirmed on this kernel by foreread doctor "
                f"--judge, {kernel.date}"
            )
            notes.append(Note(text, NoteKind.BASIS))
    rest = setting.filesystems - {kernel.file_system for kernel in judged}
    if rest or not judged:
        doubts += untried(Setting(version, setting.machine, rest))
    return OfModel(tuple(doubts), tuple(notes))


def _is_of(judged: JudgedKernel, recording: Recording, version: Version) -> bool:
    """Return whether a judgement is of this recording's very kernel, and that is predicted for."""
    host = recording.capture.host
    if host is None:
        return False
    try:
        same = version_of(judged.release) == version
    except KernelError:
        return False
    names = (judged.release, judged.version, judged.machine, judged.page_size)
    return same and names == (host.kernel, host.version, host.machine, host.page_size)


def _unread(version: Version) -> Iterator[Doubt]:
    if is_unread(version):
        newest = version_text(NEWEST_READ)
        yield Doubt(
            f"{series_text(version)} is newer than the newest kernel whose readahead is known, "
            f"{newest}: it is taken to read as Linux {newest} does"
        )
