"""What can be recorded on this machine, and the remedy for each obstacle.

Nothing is changed: files are opened for writing but not written, back-ends record for a moment and
clean up. Without root it lists what needs root.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from boards.base.owner import PREFIX, is_left, owner_tag, start_time
from boards.base.scratch import leftovers as scratch_leftovers
from boards.device import Devices
from boards.stack import Stack
from boards.stacks import IN_MEMORY, file_stacks, stacks
from tracer.backends import tracefs_mount
from tracer.backends.base import INDISPENSABLE, WANTED_EVENTS, Backend, Probe
from tracer.backends.select import candidates
from tracer.local import journal_folder
from tracer.local.jobs import jobs_left
from tracer.local.kernel import cost_of_missing, generation_of
from tracer.local.orphans import orphans
from tracer.local.tunable import BIOS, PROGRAMS, Finding, Seen, tuning_findings

_ROOT = Path("/")
_AS_ROOT = "run as root"
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


def examine(root: Path = _ROOT, backends: Sequence[Backend] | None = None) -> Diagnosis:
    """Return what can be recorded here; ``root`` stands in for ``/`` in tests."""
    release = _text(root / "proc/sys/kernel/osrelease")
    generation = generation_of(release)
    probes = [one.probe() for one in (candidates() if backends is None else backends)]
    place = tracefs_mount.find()
    devices = Devices(root / "sys")
    findings = [
        kernel_finding(release),
        *rights(
            _text(root / "proc/self/status"),
            os.geteuid(),
            _number(_text(root / "proc/sys/kernel/cap_last_cap")),
        ),
        tracefs_finding(place),
        *(event_findings(place) if place else [_unread_events()]),
        *map(_backend_finding, probes),
        *stack_findings(devices),
        *_knob_findings(root, devices),
        _writable("drop_caches", root / "proc/sys/vm/drop_caches", "caches cannot be made cold"),
        _fault_around(root),
        *(_probe_events(place) if place else []),
        _btf(root),
        throttling(_text(root / "proc/self/mounts"), _text(root / "proc/cgroups")),
        *tuning_findings(_tunable(root, place)),
        _optuna(),
        _leftovers(place),
    ]
    working = next((probe.name for probe in probes if probe.works), "")
    name = generation.name if generation else ""
    return Diagnosis(release, name, working, findings, seen_disks(devices), seen_mounts(devices))


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


def rights(status: str, euid: int, last_capability: int = 40) -> list[Finding]:
    """Return findings about the user and the capabilities in /proc/self/status.

    ``last_capability`` is the highest that the kernel knows (/proc/sys/kernel/cap_last_cap).
    """
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    effective = int(lines.get("CapEff", "0"), 16)
    known = {name: c for name, c in _CAPABILITIES.items() if c[0] <= last_capability}
    return [
        Finding("user", euid == 0, f"user id {euid}", "" if euid == 0 else _AS_ROOT),
        *(_capability(name, bool(effective >> c[0] & 1), c[1]) for name, c in known.items()),
    ]


def _capability(name: str, held: bool, purpose: str) -> Finding:
    remedy = "" if held else f"{_AS_ROOT}; a container has to be given {name}"
    return Finding(name, held, f"{'held' if held else 'not held'}: {purpose}", remedy)


def tracefs_finding(place: Path | None) -> Finding:
    """Return whether tracefs can be read."""
    if place:
        return Finding("tracefs", True, f"at {place}")
    detail = "not mounted (a recording mounts it while it runs) or not readable for this user"
    return Finding("tracefs", False, detail, _tracefs_remedy())


def _tracefs_remedy() -> str:
    return _AS_ROOT if os.geteuid() != 0 else f"mount -t tracefs tracefs {tracefs_mount.PLACES[0]}"


def event_findings(place: Path) -> list[Finding]:
    """Return which wanted events the kernel has, and a finding for each that it lacks."""
    present, missing = tracefs_mount.available(place, WANTED_EVENTS)
    counted = f"{len(present)} of {len(WANTED_EVENTS)} wanted events"
    return [
        Finding("events", INDISPENSABLE in present, counted, _event_remedy(INDISPENSABLE, missing)),
        *(
            Finding(f"event {event}", False, cost_of_missing(event), _event_remedy(event, missing))
            for event in missing
        ),
    ]


def _unread_events() -> Finding:
    return Finding("events", False, "which the kernel has cannot be read", _tracefs_remedy())


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


def _event_remedy(event: str, missing: list[str]) -> str:
    if event not in missing:
        return ""
    if event.startswith("syscalls:"):
        return "a kernel with CONFIG_FTRACE_SYSCALLS"
    return "a newer kernel, or one with more of CONFIG_FTRACE"


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


def _knob_findings(root: Path, devices: Devices) -> list[Finding]:
    knobs = devices.read_ahead_knobs(devices.mounted()) + devices.other_knobs()
    return [
        _writable(f"read_ahead_kb {Path(knob).parts[-3 if '/queue/' in knob else -2]}", path, why)
        for knob in knobs
        for path in [root / knob.lstrip("/")]
        for why in [f"reads stay at {_text(path) or '?'} KiB: a capture is contaminated"]
    ]


def _writable(name: str, path: Path, otherwise: str) -> Finding:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    except OSError as error:
        remedy = _AS_ROOT if os.geteuid() != 0 else f"make {path} writable, or use another kernel"
        return Finding(name, False, f"not writable ({error.strerror}): {otherwise}", remedy)
    value = _text(path)
    return Finding(name, True, f"writable{f', now {value}' if value else ''}")


def _fault_around(root: Path) -> Finding:
    value = _text(root / "sys/kernel/debug/fault_around_bytes")
    if value:
        return Finding("fault_around_bytes", True, f"{value}, can be lowered to see every touch")
    detail = "not readable: touches of cached pages stay hidden; none matter in a run from cold"
    remedy = _AS_ROOT if os.geteuid() != 0 else "mount -t debugfs debugfs /sys/kernel/debug"
    return Finding("fault_around_bytes", False, detail, remedy)


def _probe_events(place: Path) -> list[Finding]:
    event, kernel = _can_define_probe(place), os.access(place / "kprobe_events", os.W_OK)
    return [
        Finding(
            "event probes",
            event,
            f"paths of opens are {'' if event else 'not '}recorded",
            "" if event else "Linux 5.15 or newer with CONFIG_EPROBE_EVENTS",
        ),
        Finding(
            "kernel probes",
            kernel,
            f"{'can' if kernel else 'cannot'} replace missing events",
            "" if kernel else "a kernel with CONFIG_KPROBE_EVENTS",
        ),
    ]


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


def _btf(root: Path) -> Finding:
    present = (root / "sys/kernel/btf/vmlinux").exists()
    remedy = "" if present else "a kernel with CONFIG_DEBUG_INFO_BTF"
    return Finding("BTF", present, "types of the kernel" if present else "none", remedy)


def _tunable(root: Path, place: Path | None) -> Seen:
    files = sorted((root / "sys/block").glob("*/queue/scheduler"))
    schedulers = {file.parts[-3]: _text(file) for file in files if os.access(file, os.W_OK)}
    return Seen(
        _text(root / "proc/meminfo"),
        Devices(root / "sys").mounts,
        schedulers,
        place is not None and (place / "events" / BIOS.replace(":", "/")).is_dir(),
        (root / "proc/self/io").exists(),
        [name for name in (*PROGRAMS, "fio") if shutil.which(name) is None],
    )


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
