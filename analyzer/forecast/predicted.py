"""``foreread.forecast``: what another kernel does to a recorded start."""

from __future__ import annotations

from collections.abc import Iterator

from foreread.analyzer.forecast.advice import advise, best_window, change_of
from foreread.analyzer.forecast.cases import case_of, most_read, recorded_version
from foreread.analyzer.forecast.causes import causes_of
from foreread.analyzer.forecast.changes import changes_between
from foreread.analyzer.forecast.defaults import (
    NOW,
    THEN,
    ForecastError,
    accessed_pages,
    disks_under,
)
from foreread.analyzer.forecast.document import Forecast, ForecastAdvice, ForecastDisk
from foreread.analyzer.forecast.kernel import Kernel, Side
from foreread.analyzer.forecast.timing import Missing, Timing, timing_of
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.predict.doubts.kernel import setting_of, untried
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.kib import whole_pages
from foreread.boards.base.note import Note, NoteKind
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import (
    NEWEST_READ,
    Version,
    is_unread,
    rules_for,
    series_text,
    version_of,
)

PREFIX = "linux"
_ROTATION_SAID: Version = (6, 11)  # BLK_FEAT_ROTATIONAL replaces QUEUE_FLAG_NONROT


def forecast(
    recording: Recording,
    model: str,
    device_model: DeviceModel | StrPath | None = None,
    read_ahead_kb_now: int | None = None,
    read_ahead_kb_then: int | None = None,
) -> Forecast:
    """Forecast what another kernel does to a recorded start.

    The start under the kernel that it was recorded on, with that kernel's default windows, is
    compared with the start under the other kernel, with its default windows: requests, pages, and
    seconds with their band. Other kernels also have other file systems and largest requests; each
    change is tried alone, and the three with the largest part are in ``causes``. A kernel newer
    than the newest known rules gets those, and a doubt.

    Args:
        recording: a start, read by :func:`foreread.load`.
        model: "linux-X.Y", the other kernel: newer or older.
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        read_ahead_kb_now: the window of all disks with the present kernel, in KiB; None: the
            kernel's default for each disk.
        read_ahead_kb_then: the same with the other kernel.

    Raises:
        ForecastError: the recording lacks its kernel, or what its disks' default windows depend on.
        WindowSizeError: a window that is not whole pages.
        KernelError: the readahead of one of the kernels is unknown.
        DeviceModelError, ProfileError: the device model cannot be read.
    """
    for kib in (read_ahead_kb_now, read_ahead_kb_then):
        if kib is not None:
            whole_pages(kib, recording.page_size)
    versions = _versions(recording, model)
    device = device_from(device_model)
    of_each = [inputs(recording, version) for version in versions]
    windows_kb = ((read_ahead_kb_now, NOW), (read_ahead_kb_then, THEN))
    now, then = (
        Side(
            version,
            Kernel(
                rules_for(version),
                start_inputs.program.files,
                disks_under(start_inputs, version, versions[0], *window_kb),
            ),
        )
        for version, start_inputs, window_kb in zip(versions, of_each, windows_kb, strict=True)
    )
    return _forecast(of_each[0], now, then, timing_of(of_each[0], now, then, device))


def _versions(recording: Recording, model: str) -> tuple[Version, Version]:
    """Return the recorded kernel and the other one; raises ForecastError and KernelError."""
    prefix, _, release = model.partition("-")
    if prefix != PREFIX or not release:
        raise ForecastError(
            f"{model!r} does not name the other kernel", "give its version: --model linux-7.2"
        )
    now, then = recorded_version(recording), version_of(release)
    rules_for(then)
    return now, then


def _forecast(start_inputs: Inputs, now: Side, then: Side, timing: Timing | Missing) -> Forecast:
    recording = start_inputs.recording
    timed = None if isinstance(timing, Missing) else timing
    row = most_read(start_inputs) if timed is None else timed.row
    changes = changes_between(start_inputs, now, then)
    seconds = None if timed is None else timed.seconds
    causes, effective = causes_of(start_inputs, now.kernel, changes, seconds)
    kept = Side(then.version, then.kernel.with_windows_of(now.kernel))
    best = None
    if timed is not None:
        kb = timed.windows[best_window(timed)]
        best = case_of(
            start_inputs, Side(then.version, then.kernel.with_window(row, kb)), row, timed
        )
    read = [at for at, pages in enumerate(accessed_pages(start_inputs)) if pages]
    return Forecast(
        kernel=recording.kernel or "",
        page_size=recording.page_size,
        accessed=recording.accesses.rows,
        disks=[_disk(start_inputs, at, now, then) for at in read],
        now=case_of(start_inputs, now, row, timed, recorded=True),
        then=case_of(start_inputs, then, row, timed),
        kept=case_of(start_inputs, kept, row, timed),
        best=best,
        change=None if timed is None else change_of(timed),
        causes=causes,
        changes=len(changes),
        effective=effective,
        advice=_advice(recording, then.version, timing),
        doubts=list(dict.fromkeys(_doubts(recording, now, then, timing))),
        notes=list(_notes(start_inputs, now, then, timing)),
    )


def _advice(recording: Recording, version: Version, timing: Timing | Missing) -> ForecastAdvice:
    if isinstance(timing, Timing):
        return advise(timing, version, recording.path)
    return _without_seconds(timing)


def _disk(start_inputs: Inputs, row: int, now: Side, then: Side) -> ForecastDisk:
    device = start_inputs.device(row)
    before, after = now.kernel.disks[row], then.kernel.disks[row]
    return ForecastDisk(
        name=before.name,
        accessed=accessed_pages(start_inputs)[row],
        found_read_ahead_kb=None if device is None else device.read_ahead_kb_before,
        now_read_ahead_kb=before.read_ahead_kb,
        now_why=before.why,
        now_max_sectors_kb=before.max_sectors_kb,
        then_read_ahead_kb=after.read_ahead_kb,
        then_why=after.why,
        then_max_sectors_kb=after.max_sectors_kb,
    )


def _without_seconds(missing: Missing) -> ForecastAdvice:
    return ForecastAdvice(
        action="measure",
        read_ahead_kb=None,
        keep_read_ahead_kb=None,
        why=f"no predicted seconds: {missing.why}",
        remedy=missing.remedy,
    )


def _doubts(recording: Recording, now: Side, then: Side, timing: Timing | Missing) -> Iterator[str]:
    """Yield the reasons why the forecast is less certain."""
    for version in (now.version, then.version):
        if is_unread(version):
            yield (
                f"{series_text(version)} is newer than the newest kernel whose readahead foreread "
                f"knows: the rules of {series_text(NEWEST_READ)} are used"
            )
        yield from (doubt.text for doubt in untried(setting_of(recording, version)))
    if isinstance(timing, Missing):
        yield from timing.doubts or (doubt.text for doubt in of_recording(recording))
    else:
        yield from (doubt.text for doubt in timing.both.doubts)


def _notes(start_inputs: Inputs, now: Side, then: Side, timing: Timing | Missing) -> Iterator[str]:
    """Yield the assumptions of the figures."""
    for disk in then.kernel.disks:
        if now.version < _ROTATION_SAID <= then.version and "rotational" in disk.why:
            yield Note(
                f"{disk.name} counts as rotational because no driver denied it under "
                f"{series_text(now.version)}; from {series_text(_ROTATION_SAID)} on a driver has "
                f"to say so: check /sys/block/{disk.name}/queue/read_ahead_kb after the upgrade",
                NoteKind.ANSWER,
            )
    for row, disk in enumerate(now.kernel.disks):
        device = start_inputs.device(row)
        kib = None if device is None else device.read_ahead_kb_before
        if kib not in (None, disk.read_ahead_kb) and accessed_pages(start_inputs)[row]:
            yield Note(
                f"{disk.name} had {kib:,} KiB before the recording, not {disk.read_ahead_kb:,} "
                f"({disk.why}): if a script or a udev rule sets it, give {NOW} {kib} "
                f"{THEN} {kib}",
                NoteKind.ANSWER,
            )
    if isinstance(timing, Timing):
        yield from timing.notes()
    yield from start_inputs.recording.notes
    if start_inputs.notes:
        listed = "; ".join(start_inputs.notes)
        yield f"assumed for accesses that the capture does not describe: {listed}"
