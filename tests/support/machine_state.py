"""The state of a machine around the kernel tests: mounts, knobs, loop devices, groups, instances.

Other processes of the machine are left out as far as they are distinguishable: mounts elsewhere
than where tests and foreread mount, loop devices of other images, groups and instances of other
names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from boards.owner import is_left
from tracer.backends import tracefs_mount

MOUNTS_AT = ("/sys/", "/run", "/proc/", "/dev/pts", "/etc/", "/usr/", "/bin/", "/tmp", "/mnt")
KNOBS = (
    "/sys/block/*/queue/read_ahead_kb",
    "/sys/block/*/queue/scheduler",
    "/sys/block/*/queue/nr_requests",
    "/sys/block/*/queue/nomerges",
    "/sys/block/*/queue/rq_affinity",
    "/sys/block/*/queue/max_sectors_kb",
    "/sys/block/*/queue/wbt_lat_usec",
    "/sys/block/*/queue/iosched/*",
    "/sys/class/bdi/*/read_ahead_kb",
    "/proc/sys/vm/*",
    "/proc/sys/kernel/ftrace_enabled",
    "/proc/sys/kernel/perf_event_*",
    "/proc/sys/kernel/randomize_va_space",
)
GROUPS = ("/sys/fs/cgroup/foreread-*", "/sys/fs/cgroup/*/foreread-*")


def state(own: Path) -> dict[str, str]:
    """Return what is there by name; ``own`` is the folder that the tests write to."""
    loops = dict(_own_loops(own))
    mine = tuple(f"/sys/block/{Path(name).name}/" for name in loops)
    found: dict[str, str] = {}
    for place, how in _mounts(own):  # one may hide another
        found[f"mount {place}"] = f"{how} {found.get(f'mount {place}', '')}"
    found |= {f"loop device {name}": image for name, image in loops.items()}
    found |= dict(_knobs(mine))
    found |= {f"group {path}": "" for pattern in GROUPS for path in _glob(pattern) if _ours(path)}
    if place := tracefs_mount.find():
        ours = [path for path in (place / "instances").iterdir() if _is_dead(path.name)]
        found |= {f"trace instance {path.name}": "" for path in ours}
    return found


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return a line for each thing that is new, gone or different."""
    return [
        f"{name}: {before.get(name, 'not there')!r} -> {after.get(name, 'not there')!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _mounts(own: Path) -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, how = line.split(" ", 2)
        if place == "/" or place.startswith((*MOUNTS_AT, str(own))):
            yield place, how


def _own_loops(own: Path) -> Iterator[tuple[str, str]]:
    for file in _glob("/sys/block/loop*/loop/backing_file"):
        with suppress(OSError):
            image = file.read_text().strip()
            if image.startswith(str(own)):
                yield f"/dev/{file.parts[3]}", image


def _knobs(own_loops: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield those of no loop device: others come, go and are changed by their owners."""
    for pattern in KNOBS:
        for path in _glob(pattern):
            loop = "/loop" in str(path) or "/bdi/7:" in str(path)
            if not loop and os.access(path, os.R_OK) and _is_steady(path):
                with suppress(OSError):
                    yield str(path), path.read_text().strip()


def _is_steady(path: Path) -> bool:
    """Whether it is a setting: some of /proc/sys/vm are counters, or the kernel's own business."""
    return path.is_file() and path.name not in ("stat_refresh", "drop_caches", "compact_memory")


def _ours(path: Path) -> bool:
    return "accuracy" not in path.name and "demo" not in path.name


def _is_dead(name: str) -> bool:
    """Return whether a trace instance was made by a foreread that has ended."""
    return is_left(name)


def _glob(pattern: str) -> list[Path]:
    return sorted(Path("/").glob(pattern.lstrip("/")))
