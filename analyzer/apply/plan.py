"""The plan of the boot script: values to set, the board they are for, and reasons."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from analyzer.error import AnalyzerError
from analyzer.predict.prediction import Curve, Prediction
from boards import knobs
from boards.remount import is_mount_option
from tracer.formats.capture import Capture

READ_AHEAD = "queue/read_ahead_kb"
SECTOR_BYTES = 512  # of /sys/block/NAME/size, whatever the disk's sector size is
BLOCK = "/sys/block/"
ATTEMPTS = "foreread-apply.attempts"
STATE_DIR = "/etc"  # writable and persistent wherever the script can be installed
DEFAULT_ATTEMPTS = 2

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


@dataclass(frozen=True)
class Setting:
    """One knob and its value.

    ``knob`` is a path below the disk's directory in /sys/block, or without a disk an absolute
    path or a mount option (boards.remount); boards/knobs.toml lists them. A ``boot`` value that no
    ``after`` value follows stays in force.
    """

    knob: str
    value: str
    reason: str
    disk: Disk | None = None
    phase: Literal["boot", "after"] = "boot"

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


@dataclass(frozen=True)
class ApplyPlan:
    """Everything the boot script and its wrappers are made from.

    ``losses``: what a power cut may lose more with these settings, in sentences.
    """

    settings: tuple[Setting, ...]
    board: Board = field(default_factory=Board)
    created_from: str = ""
    boot_done_seconds: int | None = None  # after-boot phase: None once booted, else delay
    restore_on_stop: bool = True
    prefetch: Prefetch | None = None
    losses: tuple[str, ...] = ()
    attempts: int = 0  # boots in a row that may end before boot-done; 0: not counted
    state_dir: str = STATE_DIR  # where they are counted; survives a power cut

    @property
    def remounts(self) -> bool:
        """Whether mount options are set."""
        return any(is_mount_option(setting.knob) for setting in self.settings)

    @property
    def queues(self) -> bool:
        """Whether nr_requests are set, or change with a scheduler."""
        knobs = ("queue/scheduler", "queue/nr_requests")
        return any(setting.knob.endswith(knobs) for setting in self.settings)

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
    if plan.boot_done_seconds is not None and plan.boot_done_seconds < 0:
        raise ApplyError("the time after boot is negative", "give 0 seconds or more")
    _check_attempts(plan)


def _check_attempts(plan: ApplyPlan) -> None:
    if plan.attempts < 0:
        raise ApplyError("the number of attempts is negative", "give 0 or more")
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
    try:
        knobs.check_setting(setting.path, setting.value)
    except knobs.KnobError as error:
        raise ApplyError(str(error), error.remedy) from error


def plan_from(
    prediction: Prediction,
    capture: Capture | None = None,
    *,
    read_ahead_kb: int | None = None,
    after_boot_read_ahead_kb: int | None = None,
    boot_done_seconds: int | None = None,
    restore_on_stop: bool = True,
    prefetch: Prefetch | None = None,
    attempts: int = DEFAULT_ATTEMPTS,
    state_dir: str = STATE_DIR,
) -> ApplyPlan:
    """Return the plan that sets the predicted window of every disk with many reads.

    A disk without a predicted window keeps its present one. ``read_ahead_kb`` overrides the
    prediction; ``after_boot_read_ahead_kb`` holds from the end of the boot, or
    ``boot_done_seconds`` after its start. Without ``capture`` (a foreign trace) board and disks are
    known by kernel and name only. After ``attempts`` boots in a row that did not reach boot-done,
    counted in ``state_dir``, the script leaves the defaults.

    Raises ApplyError when the verdict recommends no change or no window, or a disk cannot be named.
    """
    curves = prediction.worth_setting
    settings: list[Setting] = []
    for curve in curves:
        choice = _choice(prediction, curve, read_ahead_kb, len(curves) == 1)
        disk = _disk(curve, capture)
        if choice is not None:
            kb, reason = choice
            reason += _own_backing_device(curve, capture)
            settings.append(Setting(READ_AHEAD, str(kb), reason, disk))
        if after_boot_read_ahead_kb is not None:
            later = str(after_boot_read_ahead_kb)
            settings.append(Setting(READ_AHEAD, later, "asked for after boot", disk, "after"))
    plan = ApplyPlan(
        settings=tuple(settings),
        board=_board(prediction, capture),
        created_from=_created_from(prediction, capture),
        boot_done_seconds=boot_done_seconds,
        restore_on_stop=restore_on_stop,
        prefetch=prefetch,
        attempts=attempts,
        state_dir=state_dir,
    )
    check(plan)
    return plan


def _choice(
    prediction: Prediction, curve: Curve, asked_kb: int | None, only_disk: bool
) -> tuple[int, str] | None:
    """Return the window of a disk (KiB) and why; None if the disk keeps the one it has."""
    verdict = prediction.verdict
    if asked_kb is not None:
        return asked_kb, f"asked for; the verdict was: {verdict.why}"
    if verdict.action == "measure":
        remedy = verdict.remedy or "give a window: --read-ahead-kb N"
        raise ApplyError(f"no window is recommended: {verdict.why}", remedy)
    if verdict.action != "set":
        raise ApplyError(
            f"the verdict is to change nothing: {verdict.why}",
            "to set a window anyway, give --read-ahead-kb N",
        )
    if only_disk and verdict.read_ahead_kb is not None:
        return verdict.read_ahead_kb, verdict.why
    kind = "quasi-optimal" if verdict.by == "criterion" else "predicted best"
    window = prediction.window_for(curve)
    if window is None:
        return None
    kb = curve.read_ahead_kb[curve.windows.index(window)]
    return kb, f"{kind} for what was read from {curve.name}; in total: {verdict.why}"


def _disk(curve: Curve, capture: Capture | None) -> Disk:
    recorded = capture.devices if capture else []
    for device in recorded:
        if device.dev == curve.dev:
            return Disk(device.name, device.size_bytes, device.model)
    return Disk(curve.name)


def _own_backing_device(curve: Curve, capture: Capture | None) -> str:
    """Return a warning if btrfs reads the disk: it has a separate window."""
    if capture is None:
        return ""
    of_btrfs = {mount.dev for mount in capture.mounts if mount.fstype == "btrfs"}
    for device in capture.devices:
        if device.dev == curve.dev and of_btrfs.intersection(device.filesystems):
            return "; btrfs has its window in /sys/class/bdi/btrfs-*, which this does not set"
    return ""


def _board(prediction: Prediction, capture: Capture | None) -> Board:
    if capture is None:
        return Board(kernel=release_series(prediction.kernel or ""))
    host = capture.host
    return Board(host.machine, release_series(host.kernel), host.cpu_model)


def release_series(release: str) -> str:
    """Return "6.1" for "6.1.0-25-arm64": readahead changes between series, seldom within."""
    series = re.match(r"\d+\.\d+", release)
    return series.group() if series else release


def _created_from(prediction: Prediction, capture: Capture | None) -> str:
    model = f"model {prediction.model}, kernel {prediction.kernel or 'unknown'}"
    if capture is None:
        return f"a trace; {model}"
    return f"a run of {' '.join(capture.command)} on {capture.created}; {model}"
