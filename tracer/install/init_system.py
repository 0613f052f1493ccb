"""What sets the values on a board, its init system or udev, and the files that it needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, get_args

from foreread.tracer.error import InstallError
from foreread.tracer.formats.boot_files import (
    LIST,
    LIST_PLACE,
    REPLAYER,
    RULE,
    RULE_PLACE,
    SCRIPT,
    beside,
)

Init = Literal["systemd", "procd", "busybox", "sysv", "udev"]  # all but udev start the script
INITS: tuple[Init, ...] = get_args(Init)
UNITS, INIT_D = "/etc/systemd/system", "/etc/init.d"
INITTAB, RCS = "/etc/inittab", "/etc/init.d/rcS"
SYSTEMD_RUNS, OPENRC, INSSERV = "/run/systemd/system", "/sbin/openrc", "/etc/init.d/.depend.boot"
UDEV_RUNS = "/run/udev/control"
PROBED = (SYSTEMD_RUNS, OPENRC, INSSERV, "/etc/rcS.d", UDEV_RUNS)
RELOADS: dict[Init, tuple[str, list[str]]] = {  # what runs, and how it reads its new files
    "systemd": (SYSTEMD_RUNS, ["systemctl", "daemon-reload"]),
    "udev": (UDEV_RUNS, ["udevadm", "control", "--reload"]),
}
_RCS_RUNS = re.compile(r"^[^#\n]*(/etc/init\.d|/etc/rc\.d|/etc/rcS\.d)/S[?*\[]", re.MULTILINE)
_MOUNTS = re.compile(r"-?(\S*/)?(mount|mkdir)\b")
_SYSINIT = re.compile(r"^[^#:]*:[^:]*:sysinit:(?P<command>.*)$")


class BootPlan(Protocol):
    """The properties of a plan that decide which files a board gets (``ApplyPlan``)."""

    @property
    def prefetch(self) -> object | None:
        """The list that is replayed at a start."""

    @property
    def attempts(self) -> int:
        """Boots in a row that may end before boot-done; 0: not counted."""

    @property
    def attempts_file(self) -> str:
        """The file on the board that counts them."""

    @property
    def state_dir(self) -> str:
        """The folder of this file."""

    @property
    def boot_done_seconds(self) -> int | None:
        """Seconds from the script's start to boot-done; None: the init says when."""

    @property
    def has_boot_done(self) -> bool:
        """Whether the board calls the script when it has booted."""

    @property
    def has_timer(self) -> bool:
        """Whether the board has booted some seconds after its start."""

    @property
    def udev_is_enough(self) -> bool:
        """Whether a udev rule sets all values."""

    @property
    def windows(self) -> list[str]:
        """The windows of disks that are set, by path."""


@dataclass(frozen=True)
class Layout:
    """The files to install: place -> name among the written files, link -> its target.

    ``lines`` go into an existing file of the board, after its last sysinit line. ``script`` is
    empty if a udev rule sets the values.
    """

    script: str
    files: dict[str, str]
    links: dict[str, str] = field(default_factory=dict)
    lines: dict[str, tuple[str, ...]] = field(default_factory=dict)


def init_of(exe: str, has: frozenset[str]) -> Init:
    """Return the init system whose process 1 is ``exe``; ``has`` are those of PROBED there.

    Raises InstallError for an unknown one.
    """
    name = exe.rpartition("/")[2]
    if SYSTEMD_RUNS in has or name == "systemd":
        return "systemd"
    if name == "procd":
        return "procd"
    if name == "busybox":  # also with OpenRC, which its inittab starts
        return "busybox"
    if OPENRC in has:
        raise _unknown("OpenRC")
    if name == "init" and INSSERV not in has and "/etc/rcS.d" in has:
        return "sysv"
    if INSSERV in has:
        raise InstallError(
            "this System V init orders its scripts by insserv, which does not see plain links",
            'follow "busybox init or System V init" in INSTALL.md, with update-rc.d',
        )
    raise _unknown(exe or "unknown")


def default_init(plan: BootPlan, exe: str, has: frozenset[str]) -> Init:
    """Return udev where it runs and its rule sets all values of the plan, else ``init_of``."""
    return "udev" if plan.udev_is_enough and UDEV_RUNS in has else init_of(exe, has)


def _unknown(name: str) -> InstallError:
    starters = "|".join(init for init in INITS if init != "udev")
    return InstallError(
        f"foreread cannot install for the init system of the target ({name})",
        f'give --init {starters}, or follow "Any other init system" in INSTALL.md',
    )


def layout_for(init: Init, plan: BootPlan, script: str, inittab: str, rcs: str) -> Layout:
    """Return the files for ``init``; ``inittab`` and ``rcs`` are the board's own, or empty.

    Raises InstallError when nothing on the board would call the script.
    """
    if init == "udev":
        return _udev(plan)
    layout = _layout(init, plan, script, inittab, rcs)
    if plan.prefetch is None:
        return layout
    added = {beside(script, REPLAYER): REPLAYER, LIST_PLACE: LIST}
    return replace(layout, files=layout.files | added)


def _layout(init: Init, plan: BootPlan, script: str, inittab: str, rcs: str) -> Layout:
    if init == "busybox":
        return _busybox(plan, script, inittab, rcs)
    make = {"systemd": _systemd, "procd": _procd, "sysv": _sysv}[init]
    return make(script, plan.has_boot_done, plan.has_timer)


def _udev(plan: BootPlan) -> Layout:
    if not plan.udev_is_enough:
        raise InstallError(
            "a udev rule sets windows of disks only, the same during and after the boot: this plan "
            "needs the script",
            "leave out --init udev",
        )
    return Layout("", {RULE_PLACE: RULE})


def _systemd(script: str, done: bool, timer: bool) -> Layout:
    names = ["foreread.service"]
    wanted = {"sysinit.target": "foreread.service"}
    if done:
        names += ["foreread-boot-done.service"] + timer * ["foreread-boot-done.timer"]
        wanted["timers.target" if timer else "multi-user.target"] = names[-1]
    files = {script: SCRIPT} | {f"{UNITS}/{name}": f"systemd/{name}" for name in names}
    links = {f"{UNITS}/{by}.wants/{name}": f"{UNITS}/{name}" for by, name in wanted.items()}
    return Layout(script, files, links)


def _procd(script: str, done: bool, _timer: bool) -> Layout:
    names = {"foreread": "S11foreread"}
    if done:
        names["foreread-boot-done"] = "S99foreread-boot-done"
    files = {script: SCRIPT} | {f"{INIT_D}/{name}": f"openwrt/{name}" for name in names}
    links = {f"/etc/rc.d/{link}": f"../init.d/{name}" for name, link in names.items()}
    return Layout(script, files, links)


def _sysv(script: str, done: bool, _timer: bool) -> Layout:
    files = {script: SCRIPT}
    links = {f"{INIT_D}/foreread": script, "/etc/rcS.d/S05foreread": "../init.d/foreread"}
    if done:
        files[f"{INIT_D}/foreread-boot-done"] = "sysv/S99foreread-boot-done"
        links |= {
            f"/etc/rc{level}.d/S99foreread-boot-done": "../init.d/foreread-boot-done"
            for level in (2, 3, 4, 5)
        }
    return Layout(script, files, links)


def _busybox(plan: BootPlan, script: str, inittab: str, rcs: str) -> Layout:
    files = {script: SCRIPT}
    folder = rcs_folder(inittab, rcs)
    if folder is None:
        return Layout(script, files, lines={INITTAB: _inittab_lines(plan, script, inittab)})
    if plan.has_boot_done:
        files[f"{folder}/S99foreread-boot-done"] = "sysv/S99foreread-boot-done"
    return Layout(script, files, {f"{folder}/S05foreread": script})


def rcs_folder(inittab: str, rcs: str) -> str | None:
    """Return the folder of the scripts that rcS runs, or None if it is not run or runs none."""
    runs = _RCS_RUNS.search(rcs) if _calls_rcs(inittab) else None
    return None if runs is None else runs[1]


def _calls_rcs(inittab: str) -> bool:
    """Return whether rcS is run: without a line for sysinit, busybox init has that built in."""
    if not inittab:
        return True
    lines = map(_SYSINIT.match, inittab.split("\n"))
    return any(RCS in line["command"] for line in lines if line)


def _inittab_lines(plan: BootPlan, script: str, inittab: str) -> tuple[str, ...]:
    _refuse_without_sysinit(inittab)
    lines = [f"::sysinit:{script} start"]
    if plan.has_timer:
        lines.append(f"::once:/bin/sh -c 'sleep {plan.boot_done_seconds}; exec {script} boot-done'")
    elif plan.has_boot_done:
        lines.append(f"::once:{script} boot-done")
    return tuple(lines)


def _refuse_without_sysinit(inittab: str) -> None:
    if not any(map(_SYSINIT.match, inittab.split("\n"))):
        raise InstallError(
            "no place to call the script from: /etc/inittab and /etc/init.d/rcS of the target "
            "cannot be changed",
            'follow "Any other init system" in INSTALL.md',
        )


def with_first_line(text: str, script: str, start: bool, done: bool) -> str:
    """Return an inittab that starts ``script`` once its first lines for sysinit made their mounts.

    Without ``start`` it does not. With ``done`` it is called again when all lines for sysinit have
    been run. Raises InstallError.
    """
    _refuse_without_sysinit(text)
    lines = text.split("\n")
    commands = [line and line["command"] for line in map(_SYSINIT.match, lines)]
    starts = [at for at, command in enumerate(commands) if command and not _MOUNTS.match(command)]
    last = max(at for at, command in enumerate(commands) if command is not None)
    first = starts[0] if starts else last + 1
    lines[last + 1 : last + 1] = [f"::once:{script} done"] if done else []
    lines[first:first] = [f"::sysinit:{script} start"] if start else []
    return "\n".join(lines)


def with_lines(text: str, lines: Sequence[str]) -> str:
    """Return an inittab with ``lines`` after its last sysinit line, when its mounts are done."""
    kept = without_lines(text, lines).split("\n")
    last = max(index for index, line in enumerate(kept) if _SYSINIT.match(line))
    return "\n".join([*kept[: last + 1], *lines, *kept[last + 1 :]])


def without_lines(text: str, lines: Sequence[str]) -> str:
    """Return an inittab as it was before ``with_lines``."""
    return "\n".join(line for line in text.split("\n") if line not in lines)
