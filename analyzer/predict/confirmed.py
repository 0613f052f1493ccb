"""The setups that were compared with real kernels; other predictions are marked as doubtful.

docs/explanation/accuracy.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from boards.base.units import KIB
from emulator.linux.rules import Version
from tracer.formats.capture import Host

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
    if capture is None:
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
    series = f"Linux {'.'.join(map(str, setting.version[:2]))}"
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
