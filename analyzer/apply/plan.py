"""The plan of the boot script: values to set, the board they are for, and reasons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from foreread.analyzer.error import AnalyzerError
from foreread.boards import knobs
from foreread.boards.base.brief import brief
from foreread.boards.knobs import BLOCK, READ_AHEAD
from foreread.boards.remount import is_mount_option
from foreread.boards.window import is_window
from foreread.tracer.formats.boot_files import ATTEMPTS

ANY_WINDOW = "/sys/class/bdi/any/read_ahead_kb"
SECTOR_BYTES = 512  # of /sys/block/NAME/size, whatever the disk's sector size is
STATE_DIR = "/etc"  # writable and persistent wherever the script can be installed
DEFAULT_ATTEMPTS = 2
MOST_ATTEMPTS = 99  # the script reads two digits

_FOLDER = re.compile(r"(/[A-Za-z0-9_.+-]+)+/?")


class ApplyError(AnalyzerError, ValueError):
    """A plan that no boot script can carry out; ``remedy`` says what to do."""


@dataclass(frozen=True)
class Disk:
    """A disk as it was recorded; size 0 and an empty model are not compared."""

    name: str
    size_bytes: int = 0
    model: str = ""

    @property
    def sectors(self) -> str:
        """What /sys/block/NAME/size reads, empty if unknown."""
        return str(self.size_bytes // SECTOR_BYTES) if self.size_bytes > 0 else ""


@dataclass(frozen=True, repr=False)
class Setting:
    """One knob and its value.

    ``knob`` is a path below the disk's directory in /sys/block, or without a disk an absolute
    path, a mount option (boards.remount) or a window that a mount point names (boards.window);
    boards/knobs.toml lists them. A ``boot`` value that no ``after`` value follows stays in force.
    ``mounted``: a mount point whose files have this window, to check that it takes effect.
    """

    __repr__ = brief

    knob: str
    value: str
    reason: str
    disk: Disk | None = None
    phase: Literal["boot", "after"] = "boot"
    mounted: str = ""

    @property
    def path(self) -> str:
        """The knob with the recorded name of its disk."""
        return self.knob if self.disk is None else f"{BLOCK}{self.disk.name}/{self.knob}"


@dataclass(frozen=True)
class Board:
    """The board the values are for; an empty field is not compared.

    ``kernel`` is how the release starts ("6.1" fits 6.1 and 6.1.25, not 6.12), ``model`` the
    model of the CPU in /proc/cpuinfo or of the board in its device tree.
    """

    machine: str = ""
    kernel: str = ""
    model: str = ""


@dataclass(frozen=True)
class Prefetch:
    """A prefetch list to replay while the board boots, and the program that replays it.

    ``listing`` is the list's text; ``replayer`` a program or script that takes its path.
    """

    listing: bytes
    replayer: bytes


@dataclass(frozen=True, repr=False)
class ApplyPlan:
    """Everything the boot script and its wrappers are made from.

    ``losses``: what a power cut may lose more with these settings, in sentences. ``load``: for
    which load the settings hold, in words; empty if they were not predicted.
    """

    __repr__ = brief

    settings: tuple[Setting, ...]
    board: Board = field(default_factory=Board)
    created_from: str = ""
    boot_done_seconds: int | None = None  # after-boot phase: None once booted, else delay
    restore_on_stop: bool = True
    prefetch: Prefetch | None = None
    losses: tuple[str, ...] = ()
    load: str = ""
    attempts: int = 0  # boots in a row that may end before boot-done; 0: not counted
    state_dir: str = STATE_DIR  # where they are counted; survives a power cut

    @property
    def remounts(self) -> bool:
        """Whether mount options are set."""
        return any(is_mount_option(setting.knob) for setting in self.settings)

    @property
    def finds_windows(self) -> bool:
        """Whether the script looks for the window of a mounted file system."""
        return any(is_window(setting.knob) for setting in self.settings)

    @property
    def windows(self) -> list[str]:
        """The windows of disks that are set, by path."""
        paths = dict.fromkeys(setting.path for setting in self.settings)
        return [path for path in paths if path.endswith("/read_ahead_kb")]

    @property
    def queues(self) -> bool:
        """Whether nr_requests are set."""
        return any(setting.knob == "queue/nr_requests" for setting in self.settings)

    @property
    def udev_is_enough(self) -> bool:
        """Whether a udev rule does all of it: windows of disks, the same during and after boot.

        A wish that a rule cannot fulfil needs the script: other counts of boots than the default,
        a folder or a time for them, and values that ``stop`` keeps.
        """
        windows = all(s.disk and s.knob == READ_AHEAD for s in self.settings)
        usual = self.attempts in (0, DEFAULT_ATTEMPTS) and self.state_dir == STATE_DIR
        usual = usual and self.restore_on_stop and self.boot_done_seconds is None
        return windows and usual and not self.has_after and self.prefetch is None

    @property
    def has_after(self) -> bool:
        """Whether other values hold once the board has booted."""
        return any(setting.phase == "after" for setting in self.settings)

    @property
    def has_boot_done(self) -> bool:
        """Whether the board calls the script when it has booted."""
        return self.has_after or self.attempts > 0

    @property
    def has_timer(self) -> bool:
        """Whether the board has booted some seconds after its start."""
        return self.has_boot_done and self.boot_done_seconds is not None

    @property
    def attempts_file(self) -> str:
        """The file with the boots that did not reach boot-done."""
        return f"{self.state_dir.rstrip('/')}/{ATTEMPTS}"


def check(plan: ApplyPlan) -> None:
    """Refuse a plan that could reach beyond its knobs: names and values come from a trace.

    Raises ApplyError.
    """
    if not plan.settings:
        raise ApplyError(
            "there is nothing to set",
            "give a window with --read-ahead-kb N, or keep the board's settings",
        )
    for setting in plan.settings:
        _check_disk(setting.disk)
        _check_setting(setting)
    _check_one_value_each(plan)
    if plan.boot_done_seconds is not None and plan.boot_done_seconds < 0:
        raise ApplyError("the time after boot is negative", "give 0 seconds or more")
    _check_attempts(plan)


def _check_attempts(plan: ApplyPlan) -> None:
    if not 0 <= plan.attempts <= MOST_ATTEMPTS:
        raise ApplyError(
            f"the number of attempts is negative, or above {MOST_ATTEMPTS}",
            f"give 0 to {MOST_ATTEMPTS}",
        )
    folder = plan.state_dir
    if not _FOLDER.fullmatch(folder) or {".", ".."} & set(folder.split("/")):
        raise ApplyError(
            f"{folder!r} is not an absolute path of plain characters",
            "give a folder on the board, for example /data",
        )


def _check_disk(disk: Disk | None) -> None:
    if disk is not None and not knobs.is_disk_name(disk.name):
        raise ApplyError(
            f"{disk.name!r} is not the name of a disk",
            "record with foreread record, which stores the names of the board's disks",
        )


def _check_setting(setting: Setting) -> None:
    """Refuse what the script itself would refuse, all but for the board's memory."""
    path = ANY_WINDOW if is_window(setting.knob) else setting.path
    try:
        knobs.check_setting(path, setting.value)
    except knobs.KnobError as error:
        raise ApplyError(str(error), error.remedy) from error


def _check_one_value_each(plan: ApplyPlan) -> None:
    """Refuse two disks of one name: the second value would replace the first."""
    values: dict[tuple[str, str], set[str]] = {}
    for setting in plan.settings:
        values.setdefault((setting.path, setting.phase), set()).add(setting.value)
    for (path, _), path_values in values.items():
        if len(path_values) > 1:
            raise ApplyError(
                f"{path} would get {' and '.join(sorted(path_values))}: two disks have this name",
                "record again with both disks attached, or give one window: --read-ahead-kb N",
            )


def release_series(release: str) -> str:
    """Return "6.1" for "6.1.0-25-arm64": readahead changes between series, seldom within."""
    series = re.match(r"\d+\.\d+", release)
    return series.group() if series else release
