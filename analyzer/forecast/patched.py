"""``foreread.forecast_patch``: what changed rules of readahead do to a recorded start."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from foreread.analyzer.forecast.advice import change_of
from foreread.analyzer.forecast.cases import case_of, most_read, recorded_version
from foreread.analyzer.forecast.defaults import NOW, disks_under
from foreread.analyzer.forecast.document import ForecastCase
from foreread.analyzer.forecast.kernel import Kernel, Side, start_under
from foreread.analyzer.forecast.patch import RULES, Patch
from foreread.analyzer.forecast.patch_document import (
    PatchedRule,
    PatchedStart,
    PatchForecast,
    PatchLeft,
    PatchTotal,
)
from foreread.analyzer.forecast.seconds import predict_patched
from foreread.analyzer.forecast.timing import Missing, Timing
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict import remedy
from foreread.analyzer.predict.disk.device_model import DeviceModelError, device_from
from foreread.analyzer.predict.doubts.kernel import setting_of, untried
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.inputs import Inputs, inputs
from foreread.analyzer.predict.kib import whole_pages
from foreread.analyzer.predict.start import prepare
from foreread.boards.base.units import pages_to_kib
from foreread.emulator.devices.device import DeviceModel
from foreread.emulator.linux.rules import Version, rules_for, version_text


def forecast_patch(
    recording: Recording,
    patch: Patch,
    device_model: DeviceModel | StrPath | None = None,
    read_ahead_kb: int | None = None,
) -> PatchedStart:
    """Forecast what a patch of the kernel's readahead does to a recorded start.

    The start under the kernel that the patch is for is compared with the start under the same
    kernel with the patch, both with that kernel's default windows: requests, pages, and seconds
    with their band.

    Args:
        recording: a start, read by :func:`foreread.load`.
        patch: a kernel and changed rules, read by :func:`foreread.read_patch`.
        device_model: what requests of the disk cost, as in :func:`foreread.predict`.
        read_ahead_kb: the window of all disks in KiB; None: the kernel's default for each disk.

    Raises:
        ForecastError: the recording lacks its kernel, or what its disks' default windows depend on.
        WindowSizeError: a window that is not whole pages.
        KernelError: the readahead of the recorded kernel is unknown.
        DeviceModelError, ProfileError: the device model cannot be read.
    """
    if read_ahead_kb is not None:
        whole_pages(read_ahead_kb, recording.page_size)
    recorded = recorded_version(recording)
    device = device_from(device_model)
    start_inputs = inputs(recording, recorded)
    files = inputs(recording, patch.base).program.files
    disks = disks_under(start_inputs, patch.base, recorded, read_ahead_kb, NOW)
    before, after = (
        Side(patch.base, Kernel(rules, files, disks))
        for rules in (rules_for(patch.base), patch.rules)
    )
    timing = _timing(start_inputs, recorded, before, after, device)
    if isinstance(timing, Missing):
        command = remedy.for_forecast(timing.remedy, recording, RULES, patch.path)
        timing = replace(timing, remedy=command)
    timed = None if isinstance(timing, Missing) else timing
    row = most_read(start_inputs) if timed is None else timed.row
    return PatchedStart(
        capture=recording.path,
        command=shlex.join(recording.capture.command or ()),
        kernel=recording.kernel or "",
        machine=None if recording.capture.host is None else recording.capture.host.machine,
        accessed=recording.accesses.rows,
        disk=disks[row].name,
        device_model=str(device_model) if isinstance(device_model, (str, os.PathLike)) else None,
        window_why=disks[row].why,
        before=case_of(start_inputs, before, row, timed, recorded=True),
        after=case_of(start_inputs, after, row, timed),
        change=None if timed is None else change_of(timed),
        why=timing.why if isinstance(timing, Missing) else None,
        remedy=timing.remedy if isinstance(timing, Missing) else None,
        doubts=_doubts(recording, patch.base, timing),
        notes=list(timed.notes() if timed else ()),
    )


def ranked(
    patch: Patch, starts: Iterable[PatchedStart], left: Iterable[PatchLeft] = ()
) -> PatchForecast:
    """Return what a patch does to many starts, the worst loser first."""
    rows = sorted(starts, key=_worst_first)
    changes = [start.change for start in rows if start.change is not None]
    every = Counter(change.direction for change in changes)
    certain = Counter(change.direction for change in changes if change.certain)
    return PatchForecast(
        base=version_text(patch.base),
        source=patch.source,
        rules=[PatchedRule(rule=name, base=was, patched=now) for name, was, now in patch.changed()],
        starts=rows,
        slower=every["slower"],
        slower_certain=certain["slower"],
        faster=every["faster"],
        faster_certain=certain["faster"],
        same=every["same"],
        unpredicted=len(rows) - len(changes),
        before=_total([start.before for start in rows]),
        after=_total([start.after for start in rows]),
        left=list(left),
    )


def _worst_first(start: PatchedStart) -> tuple[bool, float, int, int, str]:
    """Order by the share of the seconds that are lost, then by requests and pages."""
    before, after = start.before, start.after
    lost = 0.0 if start.change is None else start.change.share
    more = (after.requests - before.requests, after.pages - before.pages)
    return (start.change is None, -lost, -more[0], -more[1], start.capture or "")


def _total(cases: Sequence[ForecastCase]) -> PatchTotal:
    return PatchTotal(
        requests=sum(case.requests for case in cases),
        pages=sum(case.pages for case in cases),
        seconds=sum(case.seconds or 0.0 for case in cases),
    )


def _timing(
    start_inputs: Inputs, recorded: Version, before: Side, after: Side, device: DeviceModel | None
) -> Timing | Missing:
    """Return the seconds without and with the patch; raises DeviceModelError as ``prepare``."""
    try:
        start = prepare(start_inputs, recorded, device)
    except DeviceModelError as error:
        if device is not None:
            raise
        return Missing(str(error), error.remedy)
    row, page = start_inputs.disks.index(start.disk), start_inputs.recording.page_size
    window = before.kernel.disks[row].window(page)
    starts = (start_under(start, before.kernel, row), start_under(start, after.kernel, row))
    both = predict_patched(start, starts, window, before.version)
    if both.unusable:
        command = remedy.record_again(start.recording)
        return Missing(both.unusable, command, tuple(doubt.text for doubt in both.doubts))
    return Timing(starts[0], row, both, {window: pages_to_kib(window, page)}, window, window)


def _doubts(recording: Recording, base: Version, timing: Timing | Missing) -> list[str]:
    """Return the reasons why the forecast is less certain, each once."""
    texts = [doubt.text for doubt in untried(setting_of(recording, base))]
    if isinstance(timing, Timing):
        texts += [doubt.text for doubt in timing.both.doubts]
    else:
        texts += timing.doubts or [doubt.text for doubt in of_recording(recording)]
    return list(dict.fromkeys(texts))
