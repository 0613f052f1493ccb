"""What a report embeds to recompute, and the native answers to compare with."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kernel_waste import Caused, kernel_waste
from foreread.analyzer.predict.linux import on_disk
from foreread.analyzer.predict.start import MOST_REQUESTS, Start, prepare
from foreread.analyzer.predict.waste import Waste
from foreread.analyzer.report.live import bundle
from foreread.analyzer.report.live.inputs import Live, live_inputs
from foreread.analyzer.report.live.page import compressed
from foreread.analyzer.report.subject import Subject
from foreread.emulator.devices.device import DeviceModel, FixedCost
from foreread.emulator.devices.paced import Paced
from foreread.emulator.devices.stateful import Stateful
from foreread.emulator.linux.rules import version_of
from foreread.emulator.wasm.build import CORE

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "tests/analyzer/report/live/answers.mjs"
CAPTURES = sorted(
    [
        *ROOT.glob("examples/*/*.capture.tar.xz"),
        *ROOT.glob("tests/foreread/data/*/*.capture.tar.xz"),
    ]
)
Setting = dict[str, Any]


def subject_of(path: Path, windows: list[int] | None = None) -> Subject:
    """Return what the report of a capture is about."""
    recording = load(path)
    return Subject(recording, predict_by(recording, windows=windows), None, None)


def answers(live: Live, settings: list[Setting], folder: Path) -> list[dict[str, Any]]:
    """Return what the page's modules answer under node."""
    (folder / "meta.json").write_text(json.dumps(live.meta))
    (folder / "core.gz").write_bytes(compressed(CORE.read_bytes()))
    (folder / "planes.gz").write_bytes(compressed(live.planes))
    (folder / "settings.json").write_text(json.dumps(settings))
    command = ["node", str(ANSWERS), str(bundle.HERE), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=left_s())
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def live_of(subject: Subject) -> Live:
    """Return what the page embeds; the start is one that it can emulate."""
    live = live_inputs(subject)
    assert live is not None
    return live


class Native:
    """The answers of the C core in Python, for a kernel."""

    def __init__(self, recording: Recording, live: Live, kernel: str | None) -> None:
        self.version = version_of(kernel or recording.kernel or "")
        self.taken = inputs(recording, self.version)
        self.start = prepare(self.taken, self.version) if live.start else None

    def counts(self, window: int) -> tuple[int, int]:
        """Return requests and pages."""
        disks = range(len(self.taken.disks))
        counted = [on_disk(self.taken, self.version, row).counts([window]) for row in disks]
        requests = sum(int(one.requests.sum()) for one in counted)
        return requests, sum(int(one.pages.sum()) for one in counted)

    def waste(self, window: int) -> tuple[Waste, list[Caused]]:
        """Return the unused pages, and those of each rule."""
        return kernel_waste(self.taken, self.version, window)

    def times(self, window: int, device: list[str], cpus: int | None) -> tuple[float, ...]:
        """Return the parts of a Timed (ns) on a disk of these numbers."""
        assert self.start is not None
        start = _changed(self.start, device_of_numbers([float(n) for n in device]), cpus)
        start = _with_limits(start, self.taken.machine(_row_of(self.taken.disks, start))[1])
        found = start.timed([window])[0]
        return found.total_ns, found.compute_ns, found.waited_ns, found.behind_ns


def _changed(start: Start, device: DeviceModel, cpus: int | None) -> Start:
    run = start.run if cpus is None else replace(start.run, cpus=cpus)
    return replace(start, device=device, run=run)


def _with_limits(start: Start, limits: Any) -> Start:
    """A limiter holds bios back before they are requests: its queue is never full."""
    if isinstance(start.device, Paced):
        limits = replace(limits, nr_requests=MOST_REQUESTS)
    return replace(start, run=replace(start.run, limits=limits))


def _row_of(disks: list[int], start: Start) -> int:
    return disks.index(start.disk)


def device_of_numbers(numbers: list[float]) -> DeviceModel:
    """Return the device of a kind and its numbers (core/linux/device.h)."""
    kind, rest = int(numbers[0]), numbers[1:]
    if kind == 0:
        return _fixed(rest)
    if kind == 1:
        requests, size, slice_ns, tick_ns, *costs = rest
        return Paced(requests, size, _fixed(costs), slice_ns=slice_ns, tick_ns=tick_ns)
    assert kind == 3, "no capture here has a measured table"
    times, counts = rest[:10], [int(n) for n in rest[10:]]
    names = [
        "latency_ns",
        "ns_per_kib",
        "hit_ns",
        "hit_ns_per_kib",
        "seek_ns",
        "seek_ns_per_root",
        "slow_ns_per_kib",
        "rest_ns",
        "jitter_ns",
        "handover_ns",
    ]
    parallel, unit_kib, kept_units, fast_kib, seed = counts
    return Stateful(
        **dict(zip(names, times, strict=True)),
        parallel=parallel,
        unit_kib=unit_kib,
        kept_units=kept_units,
        fast_kib=fast_kib,
        seed=seed,
    )


def _fixed(numbers: list[float]) -> FixedCost:
    latency, per_kib, handover = numbers
    return FixedCost(latency, per_kib, handover_ns=handover)
