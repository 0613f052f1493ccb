"""What can be recorded on a target, and the remedy for each obstacle.

A shell there collects the facts and changes nothing; the answer is not trusted.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from importlib import resources

from boards.mounts import MountPoint, parse_mount
from boards.sysfs_copy import copied_devices, parse_links, parse_sysfs
from boards.target import Target
from tracer.backends.base import INDISPENSABLE, WANTED_EVENTS
from tracer.local.doctor import (
    Diagnosis,
    SeenDisk,
    SeenMount,
    kernel_finding,
    seen_disks,
    seen_mounts,
    stack_findings,
)
from tracer.local.kernel import cost_of_missing, generation_of
from tracer.local.tunable import BIOS, PROGRAMS, Finding, Seen, tuning_findings

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
_AS_ROOT = "log in as root there (adb: adb root)"

Facts = dict[str, list[str]]


def examine_target(target: Target) -> Diagnosis:
    """Return what can be recorded on the target; raises TargetError."""
    folder = resources.files(__package__)
    script = "\n".join((folder / part).read_text() for part in ("disks.sh", "doctor.sh"))
    events, programs = (*WANTED_EVENTS, BIOS), {*APPLETS, *PROGRAMS, "fio"}
    words = ["sh", "-c", script, "sh", " ".join(events), " ".join(sorted(programs))]
    answer = target.run(words, timeout_s=_ASK_S)
    facts = _facts(answer.stdout)
    release = _release(target)
    stacks, disks, mounts = _disks(facts)
    findings = [
        kernel_finding(release),
        _user(facts),
        _applets(facts),
        _tracefs(facts),
        *_events(facts),
        _windows(facts),
        *stacks,
        _drop_caches(facts),
        _probes(facts),
        _btf(facts),
        _fault_around(facts),
        *tuning_findings(_tunable(facts)),
        _leftovers(facts),
    ]
    vital = ("user", "applets", "tracefs", "events", "read_ahead_kb", "drop_caches")
    works = all(one.ok for one in findings if one.name in vital)
    generation = generation_of(release)
    name = generation.name if generation else ""
    return Diagnosis(release, name, "tracefs" if works else "", findings, disks, mounts)


def _facts(answer: bytes) -> Facts:
    facts: defaultdict[str, list[str]] = defaultdict(list)
    for line in os.fsdecode(answer).splitlines():
        key, _, value = line.partition(" ")
        facts[key].append(value)
    return facts


def _release(target: Target) -> str:
    try:
        return target.read_knob("/proc/sys/kernel/osrelease")
    except OSError:
        return ""


def _user(facts: Facts) -> Finding:
    uid = "".join(facts["uid"][:1])
    return Finding("user", uid == "0", f"user id {uid or '?'}", "" if uid == "0" else _AS_ROOT)


def _applets(facts: Facts) -> Finding:
    lacking = [name for name in facts["lacking"] if name in APPLETS]
    if not lacking:
        return Finding("applets", True, "all needed programs exist")
    remedy = "build its busybox with them, or add their folder to its PATH"
    return Finding("applets", False, f"lacking: {' '.join(lacking)}", remedy)


def _tracefs(facts: Facts) -> Finding:
    if facts["tracefs"]:
        return Finding("tracefs", True, f"at {facts['tracefs'][0]}")
    if facts["mountable"] and not _may_mount(facts):
        return Finding("tracefs", False, "not readable, and this user may not mount it", _AS_ROOT)
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
        remedy = "mount -t tracefs tracefs /sys/kernel/tracing, as root, to see them"
        return [
            Finding("events", bool(facts["mountable"]), "unknown until tracefs is mounted", remedy)
        ]
    missing = [event for event in WANTED_EVENTS if event not in facts["event"]]
    counted = f"{len(WANTED_EVENTS) - len(missing)} of {len(WANTED_EVENTS)} wanted events"
    newer = "a newer kernel, or one with more of CONFIG_FTRACE"
    return [
        Finding("events", INDISPENSABLE not in missing, counted, newer if missing else ""),
        *(Finding(f"event {event}", False, cost_of_missing(event), newer) for event in missing),
    ]


def _windows(facts: Facts) -> Finding:
    knobs = [path for path in facts["writable"] if path.endswith("/read_ahead_kb")]
    disks = sorted({path.split("/")[3] for path in knobs if path.startswith("/sys/block/")})
    if disks:
        return Finding("read_ahead_kb", True, f"writable: {' '.join(disks)}")
    detail = "not writable: a capture is contaminated"
    return Finding("read_ahead_kb", False, detail, _AS_ROOT + ", with /sys mounted writable")


def _disks(facts: Facts) -> tuple[list[Finding], list[SeenDisk], list[SeenMount]]:
    """Return whose window counts for the files of the target's root, its disks and mounts."""
    sysfs, links = parse_sysfs(facts["sys"]), parse_links(facts["bdi"])
    with copied_devices(sysfs, _mounts(facts), links) as devices, suppress(OSError, ValueError):
        # untrusted text
        return stack_findings(devices), seen_disks(devices), seen_mounts(devices)
    return [], [], []


def _mounts(facts: Facts) -> list[MountPoint]:
    mounts = []
    for line in facts["mount"]:
        with suppress(ValueError, IndexError):  # untrusted text
            mounts.append(parse_mount(line))
    return mounts


def _drop_caches(facts: Facts) -> Finding:
    if DROP_CACHES in facts["writable"]:
        return Finding("drop_caches", True, "writable")
    return Finding("drop_caches", False, "not writable: caches cannot be made cold", _AS_ROOT)


def _probes(facts: Facts) -> Finding:
    if facts["probes"]:
        return Finding("kernel probes", True, "can replace missing events")
    known = "apparently cannot replace missing events"
    return Finding("kernel probes", False, known, "a kernel with CONFIG_KPROBE_EVENTS")


def _btf(facts: Facts) -> Finding:
    if facts["btf"]:
        return Finding("BTF", True, "types of the kernel")
    detail = "none: probes need a kernel whose offsets foreread knows"
    return Finding("BTF", False, detail, "a kernel with CONFIG_DEBUG_INFO_BTF")


def _fault_around(facts: Facts) -> Finding:
    if facts["fault_around"]:
        return Finding("fault_around_bytes", True, "can be lowered to see every touch")
    detail = "not readable: touches of cached pages stay hidden; none matter in a run from cold"
    return Finding(
        "fault_around_bytes", False, detail, "mount -t debugfs debugfs /sys/kernel/debug"
    )


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
