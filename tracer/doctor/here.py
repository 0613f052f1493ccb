"""What doctor finds on this machine alone.

Nothing is changed: back-ends record for a moment and clean up. Without root it lists what needs
root.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from foreread.boards.base.owner import PREFIX, is_alive, is_left, owner_tag
from foreread.boards.base.scratch import leftovers as scratch_leftovers
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import INDISPENSABLE, Backend, Probe
from foreread.tracer.backends.select import candidates
from foreread.tracer.doctor.tunable import Finding
from foreread.tracer.local import journal_folder
from foreread.tracer.local.jobs import jobs_left
from foreread.tracer.local.orphans import orphans

# linux/capability.h: number, and its use here
_CAPABILITIES = {
    "CAP_SYS_ADMIN": (21, "settings, mounts and perf before Linux 5.8"),
    "CAP_SYS_RESOURCE": (24, "trace-cmd's function filters; stand-ins are used without it"),
    "CAP_PERFMON": (38, "perf on all CPUs"),
}


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


def findings_here(place: Path | None, backends: Sequence[Backend] | None = None) -> Here:
    """Return what only this machine has; ``place`` is its tracefs, None if it cannot be read."""
    probes = [backend.probe() for backend in (candidates() if backends is None else backends)]
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
    of_kernel = {name: c for name, c in _CAPABILITIES.items() if c[0] <= last}
    return [_capability(name, bool(effective >> c[0] & 1), c[1]) for name, c in of_kernel.items()]


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
    """Return the journals of changed knobs that dead forereads left."""
    folders = journal_folder.journal_folders(directory) if os.access(directory, os.R_OK) else []
    return [str(folder) for folder in folders if not is_alive(folder.name)]


def _instances(place: Path) -> list[str]:
    names = [instance.name for instance in (place / "instances").glob(f"{PREFIX}*")]
    return sorted(name for name in names if is_left(name))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
