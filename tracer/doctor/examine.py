"""What can be recorded on a target or on this machine, and the remedy for each obstacle.

A shell there collects the facts and changes nothing; the answer is not trusted.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from foreread.boards.mounts import MountPoint, parse_mount
from foreread.boards.sysfs_copy import copied_devices, parse_links, parse_sysfs
from foreread.boards.target import LocalTarget, Target
from foreread.tracer.backends.base import INDISPENSABLE, WANTED_EVENTS, Backend
from foreread.tracer.doctor.disks import (
    SeenDisk,
    SeenMount,
    seen_disks,
    seen_mounts,
    stack_findings,
)
from foreread.tracer.doctor.here import findings_here
from foreread.tracer.doctor.kernel import cost_of_missing, generation_of, kernel_finding
from foreread.tracer.doctor.tunable import BIOS, PROGRAMS, Finding, Seen, tuning_findings
from foreread.tracer.memory import available_kib, meminfo
from foreread.tracer.remote.job import part

APPLETS: tuple[str, ...] = (
    "cat",
    "dd",
    "grep",
    "head",
    "mkdir",
    "mkfifo",
    "mv",
    "rm",
    "rmdir",
    "sed",
    "sleep",
)
APPLETS += ("sync", "uname", "wc", "chmod", "mount", "umount", "readlink")
DROP_CACHES = "/proc/sys/vm/drop_caches"
_CAP_SYS_ADMIN = 21  # include/uapi/linux/capability.h
_ASK_S = 60.0
_WINDOWS = "read_ahead_kb"
_VITAL = ("user", "applets", "tracefs", "events", _WINDOWS, "drop_caches")

Facts = dict[str, list[str]]


@dataclass(frozen=True)
class Diagnosis:
    """All findings of one machine, its disks, and mounts with windows of their own."""

    kernel: str
    generation: str  # "A", "B", "C1" …, empty if the release is not a version
    backend: str  # the back-end that "auto" would choose, empty if none works
    findings: list[Finding]
    disks: Sequence[SeenDisk] = ()
    mounts: Sequence[SeenMount] = ()
    available_kib: int | None = None  # of memory; None if the machine does not say

    @property
    def can_record(self) -> bool:
        """Whether a cold run can be recorded: a back-end, cold caches and a window to set."""
        vital = ("drop_caches", "read_ahead_kb ")
        knobs = [finding.ok for finding in self.findings if finding.name.startswith(vital)]
        return bool(self.backend) and all(knobs)


def examine(target: Target, backends: Sequence[Backend] | None = None) -> Diagnosis:
    """Return what can be recorded on the target, or on this machine; raises TargetError.

    ``backends``: the recorders of this machine to try, all if None.
    """
    is_here = isinstance(target, LocalTarget)
    facts = _facts(target)
    as_root = "run as root" if is_here else "log in as root there (adb: adb root)"
    place = next((Path(text) for text in facts["tracefs"][:1]), None)
    here = findings_here(place, backends) if is_here else None
    release = _release(target)
    seen = _disks(facts)
    findings = [
        kernel_finding(release),
        _user(facts, as_root),
        *(here.capabilities if here else ()),
        _applets(facts),
        _tracefs(facts, as_root),
        *_events(facts),
        *(here.backends if here else ()),
        *seen.stacks,
        *_windows(facts, seen.windows, as_root),
        _drop_caches(facts, as_root),
        _fault_around(facts, as_root),
        *(here.event_probes if here else ()),
        _probes(facts),
        _btf(facts),
        *([here.throttling] if here else ()),
        *tuning_findings(_tunable(facts)),
        *(here.samplers if here else ()),
        here.leftovers if here else _leftovers(facts),
    ]
    backend = here.backend if here else "tracefs" if _records(findings) else ""
    generation = generation_of(release)
    name = generation.name if generation else ""
    available = _available_kib(facts)
    return Diagnosis(release, name, backend, findings, seen.disks, seen.mounts, available)


def _records(findings: Sequence[Finding]) -> bool:
    """Return whether a target's shell can record."""
    return all(finding.ok for finding in findings if finding.name in _VITAL)


def _facts(target: Target) -> Facts:
    own = (resources.files("foreread.tracer.doctor") / "doctor.sh").read_text()
    script = f"{part('disks.sh').decode()}\n{own}"
    events, programs = (*WANTED_EVENTS, BIOS), {*APPLETS, *PROGRAMS, "fio"}
    words = ["sh", "-c", script, "sh", " ".join(events), " ".join(sorted(programs))]
    answer = target.run(words, timeout_s=_ASK_S)
    facts: defaultdict[str, list[str]] = defaultdict(list)
    for line in os.fsdecode(answer.stdout).splitlines():
        key, _, value = line.partition(" ")
        facts[key].append(value)
    return facts


def _release(target: Target) -> str:
    try:
        return target.read_knob("/proc/sys/kernel/osrelease")
    except OSError:
        return ""


def _user(facts: Facts, as_root: str) -> Finding:
    uid = "".join(facts["uid"][:1])
    return Finding("user", uid == "0", f"user id {uid or '?'}", "" if uid == "0" else as_root)


def _applets(facts: Facts) -> Finding:
    lacking = [name for name in facts["lacking"] if name in APPLETS]
    if not lacking:
        return Finding("applets", True, "all needed programs exist")
    remedy = "build its busybox with them, or add their folder to its PATH"
    return Finding("applets", False, f"lacking: {' '.join(lacking)}", remedy)


def _tracefs(facts: Facts, as_root: str) -> Finding:
    if facts["tracefs"]:
        return Finding("tracefs", True, f"at {facts['tracefs'][0]}")
    if facts["mountable"] and not _may_mount(facts):
        return Finding("tracefs", False, "not readable, and this user may not mount it", as_root)
    if facts["mountable"]:
        return Finding("tracefs", True, "not mounted or not readable; recording mounts it")
    return Finding("tracefs", False, "not in this kernel", "a kernel with CONFIG_FTRACE")


def _may_mount(facts: Facts) -> bool:
    """Return whether the user has CAP_SYS_ADMIN; assumed of root if it is not reported."""
    with suppress(IndexError, ValueError):
        return bool(int(facts["capabilities"][0], 16) >> _CAP_SYS_ADMIN & 1)
    return facts["uid"][:1] == ["0"]


def _events(facts: Facts) -> list[Finding]:
    if not facts["tracefs"]:
        mountable = bool(facts["mountable"]) and _may_mount(facts)
        remedy = "mount -t tracefs tracefs /sys/kernel/tracing, as root, to see them"
        unknown = "unknown until tracefs is mounted"
        return [Finding("events", mountable, unknown, "" if mountable else remedy)]
    missing = [event for event in WANTED_EVENTS if event not in facts["event"]]
    counted = f"{len(WANTED_EVENTS) - len(missing)} of {len(WANTED_EVENTS)} wanted events"
    lacks = INDISPENSABLE in missing
    return [
        Finding("events", not lacks, counted, _event_remedy(INDISPENSABLE) if lacks else ""),
        *(Finding(f"event {x}", False, cost_of_missing(x), _event_remedy(x)) for x in missing),
    ]


def _event_remedy(event: str) -> str:
    if event.startswith("syscalls:"):
        return "a kernel with CONFIG_FTRACE_SYSCALLS"
    return "a newer kernel, or one with more of CONFIG_FTRACE"


def _windows(facts: Facts, windows: Mapping[str, int | None], as_root: str) -> list[Finding]:
    """Return a finding for each window that counts, or one that there is none to set."""
    remedy = f"{as_root}, with /sys mounted writable"
    findings = []
    for knob, kb in windows.items():
        ok = knob in facts["writable"]
        name = f"read_ahead_kb {knob.split('/')[-3 if '/queue/' in knob else -2]}"
        now = "?" if kb is None else kb
        lacks = f"not writable: reads stay at {now} KiB: a capture is contaminated"
        findings.append(
            Finding(name, ok, f"writable, now {now}" if ok else lacks, "" if ok else remedy)
        )
    if findings or any(path.endswith("/read_ahead_kb") for path in facts["writable"]):
        return findings
    return [Finding(_WINDOWS, False, "not writable: a capture is contaminated", remedy)]


@dataclass(frozen=True)
class _Disks:
    """Disks and mounts; findings on the root's stack; the value of each window that counts."""

    stacks: Sequence[Finding] = ()
    disks: Sequence[SeenDisk] = ()
    mounts: Sequence[SeenMount] = ()
    windows: Mapping[str, int | None] = field(default_factory=dict)


def _disks(facts: Facts) -> _Disks:
    sysfs, links = parse_sysfs(facts["sys"]), parse_links(facts["bdi"])
    with copied_devices(sysfs, _mounts(facts), links) as devices, suppress(OSError, ValueError):
        # untrusted text
        knobs = [*devices.read_ahead_knobs(devices.mounted()), *devices.other_knobs()]
        windows = {knob: devices.window(knob) for knob in knobs}
        return _Disks(stack_findings(devices), seen_disks(devices), seen_mounts(devices), windows)
    return _Disks()


def _mounts(facts: Facts) -> list[MountPoint]:
    mounts = []
    for line in facts["mount"]:
        with suppress(ValueError, IndexError):  # untrusted text
            mounts.append(parse_mount(line))
    return mounts


def _drop_caches(facts: Facts, as_root: str) -> Finding:
    if DROP_CACHES in facts["writable"]:
        return Finding("drop_caches", True, "writable")
    return Finding("drop_caches", False, "not writable: caches cannot be made cold", as_root)


def _probes(facts: Facts) -> Finding:
    if facts["probes"]:
        return Finding("kernel probes", True, "can replace missing events")
    detail = "apparently cannot replace missing events"
    return Finding("kernel probes", False, detail, "a kernel with CONFIG_KPROBE_EVENTS")


def _btf(facts: Facts) -> Finding:
    if facts["btf"]:
        return Finding("BTF", True, "types of the kernel")
    detail = "none: probes need a kernel whose offsets foreread knows"
    return Finding("BTF", False, detail, "a kernel with CONFIG_DEBUG_INFO_BTF")


def _fault_around(facts: Facts, as_root: str) -> Finding:
    name = "fault_around_bytes"
    if facts["fault_around"]:
        return Finding(name, True, f"{facts['fault_around'][0]}, can be lowered to see every touch")
    detail = "not readable: touches of cached pages stay hidden; none matter in a run from cold"
    is_root = facts["uid"][:1] == ["0"]
    remedy = "mount -t debugfs debugfs /sys/kernel/debug" if is_root else as_root
    return Finding(name, False, detail, remedy)


def _available_kib(facts: Facts) -> int | None:
    memory = meminfo("\n".join(facts["meminfo"]))
    with suppress(KeyError):  # untrusted text
        return available_kib(memory)
    return None


def _tunable(facts: Facts) -> Seen:
    return Seen(
        "\n".join(facts["meminfo"]),
        _mounts(facts),
        dict(line.partition(" ")[::2] for line in facts["scheduler"]),
        BIOS in facts["event"],
        bool(facts["accounting"]),
        facts["lacking"],
    )


def _leftovers(facts: Facts) -> Finding:
    if facts["hook"]:
        detail = f"{facts['hook'][0]}, of a recorded boot"
        remedy = "repeat this command with --restore, unless that is still being recorded"
        return Finding("leftovers", False, detail, remedy)
    if not facts["left"]:
        return Finding("leftovers", True, "none")
    remedy = "of a running recording, or of a killed one: the next recording restores the settings"
    return Finding("leftovers", False, ", ".join(facts["left"][:5]), remedy)
