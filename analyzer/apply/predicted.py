"""The plan of a boot script from a prediction: the window of each device that has one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from foreread.analyzer.apply.plan import (
    DEFAULT_ATTEMPTS,
    STATE_DIR,
    ApplyError,
    ApplyPlan,
    Board,
    Disk,
    Prefetch,
    Setting,
    check,
    release_series,
)
from foreread.analyzer.predict.holds_for import holds_for
from foreread.analyzer.predict.prediction import Curve, Prediction
from foreread.analyzer.predict.stacks import deciding, stacks_of
from foreread.boards.knobs import BLOCK, READ_AHEAD, is_disk_name
from foreread.boards.stack import Stack
from foreread.boards.window import PREFIX, is_plain, is_window
from foreread.tracer.formats.capture import NO_METADATA, Metadata

_NUMBER = re.compile(r"\d+:\d+", re.ASCII)
_WITHOUT_DISK = "0:"  # major number of a file system that has no block device


def plan_from(
    prediction: Prediction,
    capture: Metadata = NO_METADATA,
    *,
    read_ahead_kb: int | None = None,
    after_boot_read_ahead_kb: int | None = None,
    boot_done_seconds: int | None = None,
    restore_on_stop: bool = True,
    prefetch: Prefetch | None = None,
    attempts: int = DEFAULT_ATTEMPTS,
    state_dir: str = STATE_DIR,
    disks: Mapping[str, str] | None = None,
) -> ApplyPlan:
    """Return the plan that sets the predicted window of every disk with many reads.

    A disk without a predicted window keeps its present one. ``read_ahead_kb`` overrides the
    prediction; ``after_boot_read_ahead_kb`` holds from the end of the boot, or
    ``boot_done_seconds`` after its start. If ``capture`` is of a boot, which shows nothing later,
    the window that was found on the board holds from then on. Where ``capture`` has no facts
    (a foreign trace) board and disks are known by kernel and name only. After ``attempts`` boots in
    a row that did not reach boot-done, counted in ``state_dir``, the script leaves the defaults.
    ``disks``: the name of a disk, or a mount point, by the major:minor that the trace has.

    Raises ApplyError when the verdict recommends no change or no window, or a disk cannot be named.
    """
    curves = prediction.worth_setting
    named = disks or {}
    _check_numbers(named, curves)
    settings: list[Setting] = []
    for curve in curves:
        choice = _choice(prediction, curve, read_ahead_kb, len(curves) == 1)
        for place in _places(curve, capture, named.get(curve.dev)):
            if choice is not None:
                kb, reason = choice
                settings.append(replace(place, value=str(kb), reason=reason + place.reason))
            later = _after_boot(curve, capture, after_boot_read_ahead_kb)
            if later is not None and (choice or after_boot_read_ahead_kb is not None):
                kb, reason = later
                settings.append(replace(place, value=str(kb), reason=reason, phase="after"))
    plan = ApplyPlan(
        settings=tuple(settings),
        board=_board(prediction, capture),
        created_from=_created_from(prediction, capture),
        boot_done_seconds=boot_done_seconds,
        restore_on_stop=restore_on_stop,
        prefetch=prefetch,
        attempts=attempts,
        state_dir=state_dir,
        load=_load(prediction, read_ahead_kb),
    )
    check(plan)
    return plan


def _load(prediction: Prediction, asked_kb: int | None) -> str:
    """Return for which load the settings hold; empty for a window that was not predicted."""
    verdict = prediction.verdict
    predicted = asked_kb in (None, verdict.read_ahead_kb)
    return holds_for(verdict, beside=prediction.beside) if predicted else ""


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


def _after_boot(curve: Curve, capture: Metadata, asked_kb: int | None) -> tuple[int, str] | None:
    """Return the window of a disk once the board has booted, and why; None: the same as before."""
    if asked_kb is not None:
        return asked_kb, "asked for after boot"
    if capture.boot is None:
        return None
    kb_before = {device.dev: device.read_ahead_kb_before for device in capture.devices}
    if curve.dev not in kb_before:
        return None
    return kb_before[curve.dev], "as found: only the boot was recorded"


def _check_numbers(named: Mapping[str, str], curves: Sequence[Curve]) -> None:
    read = [curve.dev for curve in curves]
    for dev in named:
        if dev not in read:
            raise ApplyError(
                f"the trace has no reads worth setting a window for from {dev!r}",
                f"name one of these disks: {', '.join(read) or 'none'}",
            )


def _disk(curve: Curve, capture: Metadata) -> Disk:
    for device in capture.devices:
        if device.dev == curve.dev:
            return Disk(device.name, device.size_bytes, device.model)
    if not is_disk_name(curve.name):
        raise ApplyError(
            f"the trace has the number of its disk only ({curve.dev}), and not its name",
            _naming(curve.dev),
        )
    return Disk(curve.name)


def _naming(dev: str) -> str:
    """Return how to name the disk with a number; a file system without a disk has none."""
    if not _NUMBER.fullmatch(dev):
        return "record with foreread record, which stores the names of the board's disks"
    look = f"on the board, `grep ' {dev} ' /proc/self/mountinfo` shows where it is mounted"
    give = f"give its mount point: --disk {dev}=DIRECTORY"
    if dev.startswith(_WITHOUT_DISK):
        return f"{look}; {give}"
    return (
        f"{look}, and `ls -l /sys/dev/block/{dev}` its name (of a partition: that of its disk); "
        f"{give}, or its name: --disk {dev}=NAME"
    )


def _named(place: str, capture: Metadata) -> Setting:
    """Return the window of a disk or a mount point that the user named."""
    if place.startswith("/"):
        knob = f"{PREFIX}{place}"
        if not is_window(knob):
            raise ApplyError(
                f"a boot script cannot look for a file system mounted on {place!r}",
                "mount it on a path of plain characters, or give the disk's name",
            )
        return Setting(knob, "", f"; it is the window of the files on {place}", mounted=place)
    known = [Disk(d.name, d.size_bytes, d.model) for d in capture.devices if d.name == place]
    return Setting(READ_AHEAD, "", "", known[0] if known else Disk(place))


def _places(curve: Curve, capture: Metadata, named: str | None) -> list[Setting]:
    """Return the windows that count for what was read from a disk, without their values.

    ``named``: its name or mount point, as the user gave it. Raises ApplyError if none is known to
    count.
    """
    if named is not None:
        return [_named(named, capture)]
    stacks = deciding(capture, curve.dev)
    if stacks:
        return [_place(stack, capture) for stack in stacks]
    for stack in stacks_of(capture, curve.dev):
        if stack.unknown:
            where = f"the files of {stack.mountpoint} ({stack.file_system})"
            raise ApplyError(f"no window counts for {where}: {stack.unknown}", stack.remedy)
    reason = _own_backing_device(curve, capture)
    return [Setting(READ_AHEAD, "", reason, _disk(curve, capture))]


def _place(stack: Stack, capture: Metadata) -> Setting:
    reason = f"; it is the window of the files on {stack.mountpoint} ({stack.file_system})"
    reason += "".join(f"; {fact}" for fact in stack.facts if stack.images)
    mounted = stack.mountpoint if is_plain(stack.mountpoint) else ""
    queue = f"{BLOCK}{stack.device}/{READ_AHEAD}"
    if stack.lasting != queue:
        if stack.lasting.startswith(PREFIX) and not is_window(stack.lasting):
            raise ApplyError(
                f"a boot script cannot look for a file system mounted on {stack.mountpoint!r}",
                "mount it on a path of plain characters",
            )
        return Setting(stack.lasting, "", reason, mounted=mounted)
    disk = next(
        (Disk(d.name, d.size_bytes, d.model) for d in capture.devices if d.name == stack.device),
        None,
    )
    return Setting(READ_AHEAD, "", reason, disk or Disk(stack.device), mounted=mounted)


def _own_backing_device(curve: Curve, capture: Metadata) -> str:
    """Return a warning if btrfs reads the disk and the capture does not say where its window is."""
    of_btrfs = {mount.dev for mount in capture.mounts if mount.fstype == "btrfs"}
    for device in capture.devices:
        if device.dev == curve.dev and of_btrfs.intersection(device.filesystems):
            return "; btrfs has its window in /sys/class/bdi/btrfs-*, which this does not set"
    return ""


def _board(prediction: Prediction, capture: Metadata) -> Board:
    host = capture.host
    if host is None:
        return Board(kernel=release_series(prediction.kernel or ""))
    return Board(host.machine, release_series(host.kernel), host.cpu_model)


def _created_from(prediction: Prediction, capture: Metadata) -> str:
    model = f"model {prediction.model}, kernel {prediction.kernel or 'unknown'}"
    if capture.command is None:
        return f"a trace; {model}"
    return f"a run of {' '.join(capture.command)} on {capture.created}; {model}"
