"""What doctor finds on any machine's disks, and what it finds on this machine alone.

Nothing is changed: back-ends record for a moment and clean up. Without root it lists what needs
root.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from foreread.boards.base.owner import PREFIX, is_left, owner_tag, start_time
from foreread.boards.base.scratch import leftovers as scratch_leftovers
from foreread.boards.device import Devices
from foreread.boards.stack import Stack
from foreread.boards.stacks import IN_MEMORY, file_stacks, stacks
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import INDISPENSABLE, Backend, Probe
from foreread.tracer.backends.select import candidates
from foreread.tracer.local import journal_folder
from foreread.tracer.local.jobs import jobs_left
from foreread.tracer.local.kernel import generation_of
from foreread.tracer.local.orphans import orphans
from foreread.tracer.local.tunable import Finding

_WITHOUT_OWN_DATA = ("loop", "ram", "zram")
# linux/capability.h: number, and its use here
_CAPABILITIES = {
    "CAP_SYS_ADMIN": (21, "settings, mounts and perf before Linux 5.8"),
    "CAP_SYS_RESOURCE": (24, "trace-cmd's function filters; stand-ins are used without it"),
    "CAP_PERFMON": (38, "perf on all CPUs"),
}


@dataclass(frozen=True)
class SeenDisk:
    """A disk with its window, and what decides on the window that its kernel gives it.

    ``lowest``: the disks that it is made of, itself if it is not made of others.
    """

    name: str
    model: str
    read_ahead_kb: int
    queue: Mapping[str, str]
    lowest: Sequence[str]

    @property
    def knob(self) -> str:
        """The file with the window."""
        return f"/sys/block/{self.name}/queue/read_ahead_kb"


@dataclass(frozen=True)
class SeenMount:
    """A mounted file system that has a window of its own: btrfs, NFS, FUSE and others."""

    name: str  # of its backing device
    mountpoint: str
    file_system: str
    knob: str
    read_ahead_kb: int
    members: int  # disks that it is on


@dataclass(frozen=True)
class Diagnosis:
    """All findings of one machine, its disks, and mounts with windows of their own."""

    kernel: str
    generation: str  # "A", "B", "C1" …, empty if the release is not a version
    backend: str  # the back-end that "auto" would choose, empty if none works
    findings: list[Finding]
    disks: Sequence[SeenDisk] = ()
    mounts: Sequence[SeenMount] = ()

    @property
    def can_record(self) -> bool:
        """Whether a cold run can be recorded: a back-end, cold caches and a window to set."""
        vital = ("drop_caches", "read_ahead_kb ")
        knobs = [one.ok for one in self.findings if one.name.startswith(vital)]
        return bool(self.backend) and all(knobs)


@dataclass(frozen=True)
class Here:
    """What only this machine has; ``backend`` is the one that "auto" would choose, "" for none."""

    backend: str
    capabilities: Sequence[Finding]
    backends: Sequence[Finding]
    event_probes: Sequence[Finding]
    throttling: Finding
    samplers: Sequence[Finding]
    leftovers: Finding


def kernel_finding(release: str) -> Finding:
    """Return which generation of readahead the kernel ``release`` has."""
    generation = generation_of(release)
    if generation is None:
        return Finding(
            "kernel",
            False,
            f"{release!r} is not a version",
            "name the model with --model linux-X.Y",
        )
    span = f"{'.'.join(map(str, generation.since))} to {generation.until}"
    detail = f"{release}: readahead generation {generation.name} ({span}): {generation.rules}"
    known = generation.name != "before A"
    return Finding("kernel", known, detail, "" if known else "predict with --model fixed")


def findings_here(place: Path | None, backends: Sequence[Backend] | None = None) -> Here:
    """Return what only this machine has; ``place`` is its tracefs, None if it cannot be read."""
    probes = [one.probe() for one in (candidates() if backends is None else backends)]
    mounts, cgroups = (_text(Path("/proc") / name) for name in ("self/mounts", "cgroups"))
    return Here(
        next((probe.name for probe in probes if probe.works), ""),
        capabilities(_text(Path("/proc/self/status")), _last_capability()),
        list(map(_backend_finding, probes)),
        [_event_probes(place)] if place else [],
        throttling(mounts, cgroups),
        [_optuna()],
        _leftovers(place),
    )


def _last_capability() -> int:
    """Return the highest capability that the kernel knows."""
    return _number(_text(Path("/proc/sys/kernel/cap_last_cap")))


def capabilities(status: str, last: int = 40) -> list[Finding]:
    """Return findings about the capabilities in /proc/self/status, up to number ``last``."""
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    effective = int(lines.get("CapEff", "0"), 16)
    known = {name: c for name, c in _CAPABILITIES.items() if c[0] <= last}
    return [_capability(name, bool(effective >> c[0] & 1), c[1]) for name, c in known.items()]


def _capability(name: str, held: bool, purpose: str) -> Finding:
    remedy = "" if held else f"run as root; a container has to be given {name}"
    return Finding(name, held, f"{'held' if held else 'not held'}: {purpose}", remedy)


def throttling(mounts: str, cgroups: str) -> Finding:
    """Return whether reads can be throttled, to imitate a slower device."""
    fields = [line.split(" ") for line in mounts.splitlines()]
    v1 = [f[1] for f in fields if len(f) > 3 and f[2] == "cgroup" and "blkio" in f[3].split(",")]
    v2 = [f[1] for f in fields if len(f) > 3 and f[2] == "cgroup2"]
    if v1:
        return Finding("throttling", True, f"blkio (cgroup v1) at {v1[0]}")
    unified = any(line.split()[:2] == ["blkio", "0"] for line in cgroups.splitlines())
    if v2 and unified:
        return Finding("throttling", True, f"io.max (cgroup v2) at {v2[0]}")
    remedy = "a kernel with CONFIG_BLK_DEV_THROTTLING and a mounted cgroup hierarchy"
    return Finding("throttling", False, "reads cannot be limited for experiments", remedy)


def _backend_finding(probe: Probe) -> Finding:
    detail = f"works ({probe.version})" if probe.works else probe.lacks
    return Finding(f"back-end {probe.name}", probe.works, detail, probe.remedy)


def seen_disks(devices: Devices) -> list[SeenDisk]:
    """Return the disks under mounted file systems, and all others that are not images or memory."""
    names = devices.mounted()
    entries = sorted((devices.sys / "block").glob("*"))
    names += [one.name for one in entries if not one.name.startswith(_WITHOUT_OWN_DATA)]
    found = []
    for name in dict.fromkeys(names):
        kb = devices.window(f"/sys/block/{name}/queue/read_ahead_kb")
        with suppress(LookupError):  # unplugged since
            disk = devices.disk(name)
            if kb is not None and disk.size_bytes:
                below = devices.below(name)
                lowest = [one for one in below if not devices.below(one)] or [name]
                found.append(SeenDisk(name, disk.model, kb, devices.queue(name), lowest))
    return found


def stack_findings(devices: Devices) -> list[Finding]:
    """Return whose window counts for the files of the root file system, an overlay's layers."""
    found = file_stacks(devices, Path("/"))
    return [_stack_finding(stack, len(found) > 1) for stack in found]


def _stack_finding(stack: Stack, is_layer: bool) -> Finding:
    name = f"window of {stack.mountpoint}"
    files = " on ".join([stack.file_system, *stack.layers])
    if is_layer and stack.file_system in IN_MEMORY:  # as routers and live systems have it
        return Finding(name, True, f"{files}: {stack.unknown}")
    if stack.unknown:
        return Finding(name, False, f"{files}: {stack.unknown}", stack.remedy)
    facts = "".join(f"; {fact}" for fact in stack.facts)
    return Finding(name, True, f"{files}: {stack.knob}, now {stack.read_ahead_kb}{facts}")


def seen_mounts(devices: Devices) -> list[SeenMount]:
    """Return the mounted file systems whose window is not that of a disk."""
    return [
        SeenMount(
            stack.device,
            stack.mountpoint,
            stack.file_system,
            stack.knob,
            stack.read_ahead_kb,
            max(len(stack.disks), 1),
        )
        for stack in stacks(devices)
        if stack.knob.startswith("/sys/class/bdi/") and stack.read_ahead_kb is not None
    ]


def _event_probes(place: Path) -> Finding:
    works = _can_define_probe(place)
    return Finding(
        "event probes",
        works,
        f"paths of opens are {'' if works else 'not '}recorded",
        "" if works else "Linux 5.15 or newer with CONFIG_EPROBE_EVENTS",
    )


def _can_define_probe(place: Path) -> bool:
    """Define an event probe and remove it: tracefs' README lists them even if they do not work."""
    group = tracefs_mount.probe_group(owner_tag())
    definitions = place / "dynamic_events"
    if not definitions.exists():
        return False
    try:
        with definitions.open("a") as file:
            file.write(f"e:{group}/probe {INDISPENSABLE.replace(':', '.')}\n")
        tracefs_mount.remove_probe(place, group)
    except OSError:
        return False
    return True


def _optuna() -> Finding:
    if find_spec("optuna"):
        return Finding("tune --sampler tpe", True, "optuna is installed")
    return Finding("tune --sampler tpe", False, "no optuna", "pip install 'foreread[optuna]'")


def _leftovers(place: Path | None) -> Finding:
    left = [*journal_leftovers(), *map(str, [*scratch_leftovers(), *jobs_left()])]
    left += [*(_instances(place) if place else []), *(f"process {pid}" for pid in orphans())]
    left += [str(place)] if tracefs_mount.is_leftover() else []
    if not left:
        return Finding("leftovers", True, "none")
    remedy = "foreread doctor --restore"
    return Finding("leftovers", False, f"of killed recordings: {', '.join(left)}", remedy)


def journal_leftovers(directory: Path = journal_folder.DIRECTORY) -> list[str]:
    """Return journals of changed knobs whose foreread has died."""
    journals = sorted(directory.glob("*.journal")) if os.access(directory, os.R_OK) else []
    return [str(one) for one in journals if start_time(_number(one.stem)) is None]


def _instances(place: Path) -> list[str]:
    names = [one.name for one in (place / "instances").glob(f"{PREFIX}*")]
    return sorted(name for name in names if is_left(name))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
