"""The setups that were compared with real kernels; other predictions are marked as doubtful.

docs/explanation/accuracy.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.ingest.interpret import dev_of
from analyzer.ingest.recording import Recording
from emulator.linux.rules import Version

Judged = dict[tuple[int, int], dict[str, frozenset[str]]]

# By kernel series: file systems of each machine (uname -m).
PAGES: Judged = {  # tests/kernel/test_linux_*.py
    (6, 1): dict.fromkeys(("x86_64", "aarch64", "armv7l", "mips"), frozenset({"ext4"})),
    (6, 12): {"x86_64": frozenset({"ext4"}), "aarch64": frozenset({"ext4"})},
    (6, 18): {"x86_64": frozenset({"ext4", "xfs", "squashfs"})},
}
SECONDS: Judged = {  # measured by sweep, studies/accuracy/results.md
    (6, 1): dict.fromkeys(("aarch64", "armv7l", "s390x"), frozenset({"ext4"})),
    (6, 12): {"x86_64": frozenset({"ext4"}), "aarch64": frozenset({"ext4"})},
    (6, 18): {"x86_64": frozenset({"ext4"})},
}


@dataclass(frozen=True)
class Setting:
    """The setup of a prediction: kernel, machine, and the file systems of the accessed files.

    ``machine`` is None, and ``filesystems`` are empty, where the recording does not say.
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
    return Setting(version, capture.host.machine, known)


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
