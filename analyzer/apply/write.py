"""Writes the boot script, the wrappers that call it, and the installation instructions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from foreread.analyzer.apply.plan import ApplyError, ApplyPlan, Disk, Setting, check
from foreread.boards import knobs, remount, scheduler, window
from foreread.boards.base.written import write_whole
from foreread.tracer.formats.boot_files import (
    LIST,
    LIST_PLACE,
    PLACE,
    REPLAYER,
    RULE,
    SCRIPT,
    beside,
)

REPLAYER_SOURCE = "foreread-prefetch.c"
REPLAYER_SCRIPT = "foreread-prefetch.sh"
_EXECUTABLE = {
    SCRIPT: "foreread-apply.sh.j2",
    "openwrt/foreread": "openwrt.sh.j2",
    "sysv/foreread": "sysv.sh.j2",
}
_DONE = "S99foreread-boot-done"
_EXECUTABLE_DONE = {
    f"sysv/{_DONE}": "sysv-boot-done.sh.j2",
    "openwrt/foreread-boot-done": "openwrt-boot-done.sh.j2",
}
_PLAIN = {
    "systemd/foreread.service": "foreread.service.j2",
    RULE: "udev.rules.j2",
    "INSTALL.md": "INSTALL.md.j2",
}
# A layer of Yocto and an external tree of Buildroot, each with packages of script and recorder, and
# of the replayer if the plan has a list.
_LAYER = "yocto/meta-foreread"
_TREE = "buildroot"
_IMAGES = {
    f"{_LAYER}/conf/layer.conf": "yocto.layer.conf.j2",
    f"{_LAYER}/recipes-core/foreread-apply/foreread-apply_1.0.bb": "yocto.apply.bb.j2",
    f"{_LAYER}/recipes-kernel/linux/linux-yocto_%.bbappend": "yocto.recorder.bbappend.j2",
    f"{_LAYER}/recipes-kernel/linux/files/foreread-recorder.cfg": "recorder.cfg.j2",
    f"{_TREE}/external.desc": "buildroot.external.desc.j2",
    f"{_TREE}/external.mk": "buildroot.external.mk.j2",
    f"{_TREE}/Config.in": "buildroot.Config.in.j2",
    f"{_TREE}/package/foreread-apply/Config.in": "buildroot.apply.Config.in.j2",
    f"{_TREE}/package/foreread-apply/foreread-apply.mk": "buildroot.apply.mk.j2",
    f"{_TREE}/package/foreread-recorder/Config.in": "buildroot.recorder.Config.in.j2",
    f"{_TREE}/package/foreread-recorder/foreread-recorder.mk": "buildroot.recorder.mk.j2",
}
_IMAGES_REPLAYING = {
    f"{_LAYER}/recipes-core/foreread-prefetch/foreread-prefetch_1.0.bb": "yocto.prefetch.bb.j2",
    f"{_TREE}/package/foreread-prefetch/Config.in": "buildroot.prefetch.Config.in.j2",
    f"{_TREE}/package/foreread-prefetch/foreread-prefetch.mk": "buildroot.prefetch.mk.j2",
}
_PACKAGES = (f"{_LAYER}/recipes-core", f"{_TREE}/package")
# Of the kernel, for an image to record on: events of files, requests and calls, and probes.
_RECORDER_OPTIONS = (
    "CONFIG_FTRACE",
    "CONFIG_BLK_DEV_IO_TRACE",
    "CONFIG_FTRACE_SYSCALLS",
    "CONFIG_KPROBES",
    "CONFIG_KPROBE_EVENTS",
    "CONFIG_DEBUG_FS",
    "CONFIG_TASKSTATS",
    "CONFIG_TASK_XACCT",
    "CONFIG_TASK_IO_ACCOUNTING",
    "CONFIG_PROC_PAGE_MONITOR",
)
_PLAIN_DONE = {"systemd/foreread-boot-done.service": "foreread-boot-done.service.j2"}
_OF_DISKS = {"android/foreread.rc": "android.rc.j2"}
_TIMER = {"systemd/foreread-boot-done.timer": "foreread-boot-done.timer.j2"}
_WINDOW = "queue/read_ahead_kb"
_BTRFS = "/sys/fs/btrfs/"
# Which attribute has the model of a disk (boards.device), whatever its number is after a boot.
_MODELS = {
    "dm-": "dm/name",
    "loop": "loop/backing_file",
    "mmcblk": "device/name",
    "nvme": "device/model",
    "sd": "device/model",
}
_RESETTING = ("/scheduler", "/max_sectors_kb", "/rotational")
# The kernel resets others with these (block/elevator.c, block/blk-settings.c).
_RESET_OTHERS = (*_RESETTING, "/nr_requests")
_SYSCTLS = "/proc/sys/"
_IN_BYTES = ("/dirty_ratio", "/dirty_background_ratio")  # 0: dirty_bytes are in force
_SYSCTL = {"sysctl.d/60-foreread.conf": "sysctl.conf.j2"}
_TUNED = {"tuned/foreread/tuned.conf": "tuned.conf.j2"}


def write_scripts(plan: ApplyPlan, output: Path, place: str = PLACE) -> list[Path]:
    """Write script, wrappers and INSTALL.md below ``output``; return the files in order.

    The wrappers call the script at ``place`` on the board. Files of the same name are replaced.
    Raises ApplyError when the plan cannot be carried out or ``output`` cannot be written.
    """
    check(plan)
    templates = _environment()
    context = _context(plan, place)
    written = []
    try:
        for name, template, mode in _files(plan):
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = templates.get_template(template).render(context)
            write_whole(path, text.encode(), mode)
            written.append(path)
        written += _write_prefetch(plan, output)
        written += _write_sources(tuple(written), output)
    except OSError as error:
        raise ApplyError(f"{output}: {error.strerror}", "give a directory to write to") from error
    return written


def _write_prefetch(plan: ApplyPlan, output: Path) -> Iterator[Path]:
    """Write list and replayer, and the source of the better one; yield the files."""
    if plan.prefetch is None:
        return
    for name, content, mode in (
        (LIST, plan.prefetch.listing, 0o644),
        (REPLAYER, plan.prefetch.replayer, 0o755),
        (REPLAYER_SOURCE, shipped(REPLAYER_SOURCE), 0o644),
    ):
        path = output / name
        write_whole(path, content, mode)
        yield path


def _write_sources(written: tuple[Path, ...], output: Path) -> Iterator[Path]:
    """Write what the packages of layer and tree install, beside each; yield the files."""
    for path in written:
        name = path.relative_to(output)
        if path.name == REPLAYER_SOURCE:
            package = REPLAYER
        elif name.parts[0] in {SCRIPT, LIST, "systemd"} or name.name == _DONE:
            package = SCRIPT
        else:
            continue
        for packages in _PACKAGES:
            copy = output / packages / package / "files" / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_whole(copy, path.read_bytes(), path.stat().st_mode & 0o777)
            yield copy


def shipped(name: str) -> bytes:
    """Return REPLAYER_SCRIPT or REPLAYER_SOURCE, as foreread ships them."""
    return (files(__package__) / "replayer" / name).read_bytes()


def _files(plan: ApplyPlan) -> list[tuple[str, str, int]]:
    executable = _EXECUTABLE | (_EXECUTABLE_DONE if plan.has_boot_done else {})
    plain = _PLAIN | _IMAGES
    if plan.prefetch is not None:
        plain |= _IMAGES_REPLAYING
    if plan.has_boot_done:
        plain |= _PLAIN_DONE
        plain |= _TIMER if plan.has_timer else {}
    if _sysctl_settings(plan):
        plain |= _SYSCTL
    if _tuned_is_enough(plan):
        plain |= _TUNED
    if any(setting.disk and setting.knob == _WINDOW for setting in plan.settings):
        plain |= _OF_DISKS
    return [(name, template, 0o755) for name, template in executable.items()] + [
        (name, template, 0o644) for name, template in plain.items()
    ]


def _context(plan: ApplyPlan, place: str) -> dict[str, object]:
    settings = _scripted(plan.settings)
    return {
        "plan": plan,
        "script": place,
        "disks": [(disk, list(knobs)) for disk, knobs in groupby(settings, lambda s: s[0].disk)],
        "places": _places(settings),
        "mounted": _mounted(settings),
        "window_of_disk": _WINDOW,
        "sysctl": _sysctl_settings(plan),
        "recorder_options": _RECORDER_OPTIONS,
        "sysfs": _sysfs_settings(settings),
        "no_sysctls": [path for path in _paths(plan) if not path.startswith(_SYSCTLS)],
        "tuned_enough": _tuned_is_enough(plan),
        "timer": plan.has_timer,
        "attempts": plan.attempts_file,
        "settings_id": _settings_id(plan),
        "programs": _programs(plan),
        "limited": _limited(plan),
        "memory_share": 8,
        "sysctls": any(setting.knob.startswith(_SYSCTLS) for setting in plan.settings),
        "tunables": any("/iosched/" in setting.knob for setting in plan.settings),
        "resets": any(setting.knob.endswith(_RESET_OTHERS) for setting in plan.settings),
        "unreadable": [s.knob for s in plan.settings if s.knob.endswith(_IN_BYTES)],
        "replayer": beside(place, REPLAYER),
        "list": LIST_PLACE,
        "udev_enough": plan.udev_is_enough,
        "quick": all(setting.disk and setting.knob == _WINDOW for setting in plan.settings),
        "remount": _included(remount.shell_functions()),
        "find_window": _included(window.shell_functions()),
        "scheduler": _included(scheduler.shell_functions()),
    }


def _settings_id(plan: ApplyPlan) -> str:
    """Return what differs for other settings: a boot that hung with these says nothing of them."""
    listing = plan.prefetch.listing if plan.prefetch else b""
    settings = [(s.disk and s.disk.name, s.knob, s.value, s.phase) for s in plan.settings]
    return hashlib.sha256(repr(settings).encode() + listing).hexdigest()[:12]


def _included(functions: str) -> str:
    """Return functions of a shell without the comment at the head of their file."""
    return functions.partition("\n\n")[2].rstrip()


def _programs(plan: ApplyPlan) -> str:
    """Return the programs that the script starts besides flock, in words."""
    names = ["sync"] * bool(plan.attempts) + ["mount"] * plan.remounts
    names += ["cat"] * any(setting.knob.startswith(_SYSCTLS) for setting in plan.settings)
    return ", ".join(["rm", *names])


def _places(settings: list[tuple[Setting, str]]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the lines of the script that name a disk or a mount, each with its knobs."""
    placed = [(_place(s), (_below(s), phase, s.value, s.reason)) for s, phase in settings]
    return [(place, [knob for _, knob in some]) for place, some in groupby(placed, lambda p: p[0])]


def _place(setting: Setting) -> str:
    if window.is_window(setting.knob):
        return f"files_on {shell_quoted(setting.knob.removeprefix(window.PREFIX))}"
    if setting.disk is None:
        return ""
    disk, model = setting.disk, identity(setting.disk.model)
    pairs = [f"size={disk.sectors}"] * bool(disk.sectors)
    pairs += [f"{_model_attribute(disk.name)}={model}"] * bool(model)
    return " ".join(["disk", *map(shell_quoted, [disk.name, *pairs])])


def _below(setting: Setting) -> str:
    """Return the knob as its place leaves it."""
    return "read_ahead_kb" if window.is_window(setting.knob) else setting.knob


def _scripted(settings: tuple[Setting, ...]) -> list[tuple[Setting, str]]:
    """Return (setting, phase of the script) by disk; settings that reset others come first.

    The kernel resets nr_requests when the scheduler changes (block/elevator.c), and read_ahead_kb
    with a limit of the queue (block/blk-settings.c), so that whoever sets or restores both must
    begin with those.
    """
    later = {(s.disk, s.knob) for s in settings if s.phase == "after"}
    disks = list(dict.fromkeys(s.disk for s in settings))
    ordered = sorted(settings, key=lambda s: (disks.index(s.disk), not s.knob.endswith(_RESETTING)))
    return [
        (s, "always" if s.phase == "boot" and (s.disk, s.knob) not in later else s.phase)
        for s in ordered
    ]


def _mounted(settings: list[tuple[Setting, str]]) -> list[tuple[str, str, str]]:
    """Return (knob, mount point or "", value) of the lasting windows that are made by a mount."""
    return [
        (setting.knob, setting.knob.removeprefix(window.PREFIX) if by_mount else "", setting.value)
        for setting, phase in settings
        for by_mount in [window.is_window(setting.knob)]
        if phase != "boot" and (by_mount or setting.knob.startswith(_BTRFS))
    ]


def _sysctl_settings(plan: ApplyPlan) -> dict[str, str]:
    """Return sysctl name -> lasting value; sysctl.d knows no phases.

    Without knobs that the board's memory limits, since sysctl would not compare them with it.
    """
    ordered = sorted(plan.settings, key=lambda setting: setting.phase == "after")
    return {
        setting.knob.removeprefix(_SYSCTLS).replace("/", "."): setting.value
        for setting in ordered
        if setting.knob.startswith(_SYSCTLS) and not knobs.knob_of(setting.knob).memory_share
    }


def _sysfs_settings(settings: list[tuple[Setting, str]]) -> dict[str, str]:
    """Return path below /sys -> lasting value, in the order in which they are to be set."""
    ordered = sorted(settings, key=lambda pair: pair[0].phase == "after")
    lasting = {setting.path: setting.value for setting, _ in ordered}
    paths = dict.fromkeys(setting.path for setting, _ in settings)
    return {path: lasting[path] for path in paths if path.startswith("/sys/")}


def _paths(plan: ApplyPlan) -> list[str]:
    return list(dict.fromkeys(setting.path for setting in plan.settings))


def _tuned_is_enough(plan: ApplyPlan) -> bool:
    """Whether a profile of TuneD does all of it: it finds no mounts, and replays no list."""
    plain = all(path.startswith(("/sys/", _SYSCTLS)) for path in _paths(plan))
    return plain and not _limited(plan) and plan.prefetch is None


def _limited(plan: ApplyPlan) -> list[str]:
    """Return the knobs that sysctl.d leaves to the script."""
    alone = [setting.knob for setting in plan.settings if setting.disk is None]
    other_knobs = [knob for knob in alone if not window.is_window(knob)]
    return [knob for knob in dict.fromkeys(other_knobs) if knobs.knob_of(knob).memory_share]


def one_line(text: str) -> str:
    """Return ``text`` on one line, with '?' for control characters."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def identity(text: str) -> str:
    """Return ``text`` as the shell's read returns it; empty if the shell could not compare it."""
    text = text.strip()
    return text if text.isprintable() else ""


def shell_quoted(text: str) -> str:
    """Return ``text`` as one single-quoted word, which no POSIX shell expands."""
    return "'" + one_line(text).replace("'", "'\\''") + "'"


def udev_pattern(text: str) -> str:
    """Return a udev pattern for ``text``; special characters become "any character"."""
    return re.sub(r"[^A-Za-z0-9._+-]", "?", text)


def regex(text: str) -> str:
    """Return a regular expression for ``text``; special characters become "any character"."""
    return re.sub(r"[^A-Za-z0-9_-]", ".", text)


def udev_disk(disk: Disk) -> str:
    """Return the conditions of a udev rule for a disk: its model if it may get another number."""
    model = identity(disk.model)
    prefix = next((prefix for prefix in _MODELS if disk.name.startswith(prefix)), "")
    if model and prefix:
        return f'KERNEL=="{prefix}*", ATTR{{{_MODELS[prefix]}}}=="{udev_pattern(model)}"'
    return f'KERNEL=="{disk.name}"'


def _model_attribute(name: str) -> str:
    attributes = (attribute for prefix, attribute in _MODELS.items() if name.startswith(prefix))
    return next(attributes, "device/model")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("foreread.analyzer.apply"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # no HTML here: text from a trace goes through one of these filters
    )
    environment.filters |= {
        "sh": shell_quoted,
        "one_line": one_line,
        "identity": identity,
        "udev": udev_pattern,
        "udev_disk": udev_disk,
        "regex": regex,
    }
    return environment
