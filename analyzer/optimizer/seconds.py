"""Seconds of a start-up by window: the timed replay of a recording, on one disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analyzer.device_model import DeviceModelError, learn
from analyzer.ingest.recording import Recording
from analyzer.optimizer.inputs import Inputs
from analyzer.optimizer.verdict import decide_by_seconds
from analyzer.prediction import Curve, Prediction
from analyzer.replay.steps import Steps, cpu_cost, own_requests
from analyzer.replay.thread_steps import steps_in_time
from emulator.device import DeviceModel, FixedCost
from emulator.linux.requests import Layout
from emulator.linux.rules import Version, rules_for
from emulator.linux.timed import CpuCost, Run
from emulator.linux.timed_windows import timed_windows
from emulator.linux.windows import MAX_WINDOW

MOST_WINDOWS = 64
# In pages: what is replayed of more windows than MOST_WINDOWS.
LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1023)


MOST_SPREAD = 0.05  # median residual, in parts of a 4 KiB request's time
_PAGE_SECTORS = 8


@dataclass(frozen=True)
class Seconds:
    """``by_window`` (pages) are what start-ups take; ``notes`` say on what assumptions.

    ``doubts`` are why they are not confirmed: a run that is unlike those that were judged.
    """

    by_window: dict[int, float]
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def with_seconds(
    found: Prediction, taken: Inputs, version: Version, device: DeviceModel | None
) -> Prediction:
    """Return a prediction with seconds and the verdict by them, or a note on why it has none."""
    total = found.total
    current = _window_of(total.current_read_ahead_kb, found.page_size)
    try:
        seconds = predict_seconds(taken, version, total.windows, current, device)
    except DeviceModelError as error:
        if device is not None:
            raise
        return replace(found, notes=(*found.notes, f"no seconds: {error} -- {error.remedy}"))
    now = None if current is None else seconds.by_window.get(current)
    total = _with(total, seconds)
    verdict, notes = found.verdict, [*found.notes, *seconds.notes]
    if seconds.doubts:
        notes.append(f"seconds are not confirmed, and not decided by: {'; '.join(seconds.doubts)}")
    else:
        verdict = decide_by_seconds(verdict, total, now)
    return replace(
        found,
        total=total,
        devices=[_with(curve, seconds) for curve in found.devices],
        verdict=verdict,
        notes=tuple(notes),
    )


def _window_of(kb: int | None, page_size: int) -> int | None:
    window = None if kb is None else kb * 1024 // page_size
    return window if window is not None and window <= MAX_WINDOW else None


def _with(curve: Curve, seconds: Seconds) -> Curve:
    column = [seconds.by_window.get(window) for window in curve.windows]
    timed = {w: s for w, s in zip(curve.windows, column, strict=True) if s is not None}
    best = min(timed, key=lambda window: (timed[window], window))
    return replace(curve, seconds=column, predicted_best=best)


def predict_seconds(
    taken: Inputs,
    version: Version,
    windows: Sequence[int],
    current: int | None = None,
    device: DeviceModel | None = None,
) -> Seconds:
    """Return the seconds of a recording's run under ``windows``, or the ladder of so many.

    The ``current`` window is among them. ``device`` is learnt from the recording if it is None.
    Raises DeviceModelError where seconds cannot be told, and says why.
    """
    recording = taken.recording
    capture = recording.capture
    if capture is None or recording.contaminated:
        raise DeviceModelError(
            "seconds need a capture that foreread recorded at read_ahead_kb=0",
            "record one: foreread record",
        )
    if len(taken.disks) != 1:
        raise DeviceModelError("seconds are predicted for one disk only", "see F and pages")
    if taken.program.files["block_pages"].any():
        raise DeviceModelError("seconds are not predicted for squashfs yet", "see F and pages")
    requests = recording.requests.take(recording.requests["dev"] == taken.disks[0])
    learnt: DeviceModel = learn(requests) if device is None else device
    machine, limits = taken.machine(0)
    own = own_requests(recording, requests)
    found = steps_in_time(recording, taken.program, taken.times, requests, own)
    run = Run(
        taken.program,
        found.steps,
        found.tail_ns,
        rules_for(version),
        machine,
        limits,
        Layout(taken.extents),
        found.cpus,
        found.ends,
    )
    cpu = cpu_cost(recording)
    replayed = [0, *_replayed(windows, current)]
    recorded, *others = timed_windows(run, replayed, learnt, cpu)
    seconds = {w: one.total_ns / 1e9 for w, one in zip(replayed[1:], others, strict=True)}
    notes = _notes(recording, device is None, learnt, cpu, found, recorded.total_ns)
    return Seconds(seconds, notes, tuple(_doubts(recording, learnt, cpu, found)))


def _replayed(windows: Sequence[int], current: int | None) -> list[int]:
    few = len(windows) <= MOST_WINDOWS
    chosen = {window for window in windows if few or window in LADDER}
    chosen = chosen or set(windows[:MOST_WINDOWS])
    return sorted(chosen if current is None else chosen | {current})


def _doubts(recording: Recording, device: DeviceModel, cpu: CpuCost, found: Steps) -> Iterator[str]:
    """Yield what docs/models.md does not hold the seconds against measurements for."""
    threads = len(np.unique(recording.accesses["pid"]))
    cpus = recording.capture.host.cpu_count if recording.capture else 1
    if threads > 1 and cpus > 1 and not found.by_thread:
        yield f"{threads} threads read on {cpus} CPUs, and are replayed one after the other"
    if not cpu.request_ns:
        yield "what the processor spends on a request is not in the capture (no events of faults)"
    if isinstance(device, FixedCost) and device.spread_ns > MOST_SPREAD * device.service_ns(
        _PAGE_SECTORS
    ):
        yield "the disk's times do not follow the size of requests: no fixed cost"


def _notes(
    recording: Recording,
    is_learnt: bool,
    device: DeviceModel,
    cpu: CpuCost,
    steps: Steps,
    again_ns: float,
) -> tuple[str, ...]:
    where = "learnt from the capture's requests" if is_learnt else "as given"
    if isinstance(device, FixedCost) and is_learnt:
        where += f" (median residual {device.spread_ns / 1000:.1f} µs)"
    how = "as one sequence"
    if steps.by_thread:
        how = f"each by itself, on {steps.cpus} CPUs"
    found = [
        f"seconds: {device.describe()}, {where}; the processor spends "
        f"{cpu.request_ns / 1000:.0f} µs on a request and {cpu.page_ns / 1000:.1f} µs on a page; "
        f"threads are replayed {how}"
    ]
    capture = recording.capture
    if capture is not None:
        took = (capture.end_ns - capture.start_ns) / 1e9
        found.append(
            f"replayed with the window as recorded, and without what recording took, the run "
            f"takes {again_ns / 1e9:.3f} s; it took {took:.3f} s"
        )
    return tuple(found)
