"""Recordings, predictions and sweeps made by rule, for the report's tests."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from capture_builder import capture_of, device_of, host_of, recording_of

from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import EVENTS, REQUESTS, Rwbs, Table
from foreread.analyzer.predict.prediction import Curve, Prediction, Verdict
from foreread.analyzer.predict.waste import waste
from foreread.tracer.formats.capture import Cold, Mount, Resident
from foreread.tracer.formats.sweep import Point, Sweep

PAGE = 4096
WINDOWS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1023]
HOSTILE = [
    "/opt/<script>alert(1)</script>.so",
    "/opt/line\nbreak\ttab\x1b[31m.so",
    "/opt/undecodable\udcff\udc80.bin",
    r"/opt/$\frac{a}{$_^{.so",
    "/opt/語\U0001f600.txt",
    "/opt/{{ 7*7 }}{% raw %}.txt",
    "/opt/\u202egpj.exe",
    "/opt/\"quoted\" & 'it'</style>]]>.so",
    "/opt/" + "long/" * 60 + "name.so",
    None,
]


def dev_t(dev: str) -> int:
    major, minor = dev.split(":")
    return int(major) << 20 | int(minor)


def make_capture(devices=("7:0",), **changes):
    queue = {"scheduler": "[mq-deadline] none", "rotational": "0", "nr_requests": "64"}
    capture = capture_of(
        foreread="0.1.0",
        created="2026-11-20T10:11:12Z",
        host=host_of(
            kernel="6.1.0-41-arm64",
            version="#1 SMP Debian 6.1.158-1",
            machine="aarch64",
            nodename="kitchen-tv",
            cpu_model="ARM Cortex-A53",
            cpu_count=4,
        ),
        command=["/usr/bin/python3", "-c", "import this; print('$(reboot)')"],
        pid=1000,
        wall_seconds=12.345,
        start_ns=5_000_000_000,
        end_ns=17_345_000_000,
        events=["filemap:mm_filemap_add_to_page_cache", "block:block_rq_issue"],
        events_missing=["filemap:mm_filemap_fault"],
        cold=Cold(
            proven=True,
            how="mincore of 12 mapped files",
            resident_pages=3,
            resident=[Resident(dev=devices[0], ino=9, path="/lib/libc.so.6", pages=3)],
        ),
        devices=[
            device_of(dev, f"loop{row}", filesystems=[dev], queue=queue)
            for row, dev in enumerate(devices)
        ],
        mounts=[
            Mount(
                dev=dev,
                mountpoint=f"/m{row}",
                fstype="ext4",
                source=f"/dev/loop{row}",
                options="ro",
            )
            for row, dev in enumerate(devices)
        ],
    )
    return msgspec.structs.replace(capture, **changes)


def make_recording(
    accesses,
    *,
    paths=None,
    sizes=None,
    devices=("7:0",),
    capture="made",
    step_ns=1_000_000,
    **changes,
):
    """Return a recording of ``accesses``: (file row, page) in order; files alternate devices."""
    rows = len(accesses)
    file = np.array([f for f, _ in accesses], "u4")
    count = max(len(paths) if paths else 0, int(file.max()) + 1 if rows else 0)
    start = 5_000_000_000
    time_ns = start + step_ns * np.arange(1, rows + 1, dtype="u8")
    file_dev = np.array([dev_t(devices[row % len(devices)]) for row in range(count)], "u4")
    requests = Table.empty(REQUESTS, rows)
    requests["issue_ns"][:] = time_ns - np.uint64(step_ns // 2)
    requests["complete_ns"][:] = time_ns
    requests["dev"][:] = file_dev[file] if rows else 0
    requests["sectors"][:] = 8
    requests["flags"][:] = Rwbs.READ
    requests["flags"][::17] = Rwbs.READ | Rwbs.META
    made = make_capture(devices) if capture == "made" else capture
    fields = {
        "trace": Trace(format="tracefs pages", events=Table.empty(EVENTS)),
        "capture": made,
        "requests": requests,
        "paths": tuple(paths) if paths else tuple(f"/usr/lib/file{row}.so" for row in range(count)),
        "kernel": made.host.kernel if made.host else None,
        "recorded_read_ahead_kb": made.read_ahead_kb,
        "counts": {"written": 2, "metadata": 31},
        "devices": {dev_t(dev): dev_t(dev) for dev in devices},
    }
    found = recording_of(
        accesses, [-1] * count if sizes is None else sizes, **{**fields, **changes}
    )
    found.accesses["time_ns"][:] = time_ns
    found.files["dev"][:] = file_dev
    found.files["ino"][:] = np.arange(count) + 100
    found.files["accessed"][:] = np.bincount(file, minlength=count)
    return found


def make_curve(recording, dev="total", name="total", mask=None, seconds=False):
    """Return the curve that the fixed window gives, by the report's own emulation."""
    tap = int(mask.sum()) if mask is not None else recording.accesses.rows
    chosen = slice(None) if mask is None else np.unique(recording.accesses["file"][mask])
    wasted = [waste(recording, window) for window in WINDOWS]
    f = [int(w.requests[chosen].sum()) for w in wasted]
    g = [int(w.wasted[chosen].sum()) for w in wasted]
    g_formula = [x * (w + 1) - tap for x, w in zip(f, WINDOWS, strict=True)]
    c_opt = [x * x + y * y for x, y in zip(f, g_formula, strict=True)]
    quasi = WINDOWS[c_opt.index(min(c_opt))]
    time_s = [x * 1e-3 + (tap + y) * 4e-4 for x, y in zip(f, g, strict=True)]
    return Curve(
        dev=dev,
        name=name,
        tap=tap,
        windows=WINDOWS,
        read_ahead_kb=[w * 4 for w in WINDOWS],
        f=f,
        g=g,
        g_formula=g_formula,
        pages=[tap + x for x in g],
        c_opt=c_opt,
        seconds=time_s if seconds else None,
        quasi_optimal=quasi,
        predicted_best=WINDOWS[time_s.index(min(time_s))] if seconds else None,
        iterated=quasi,
        turning_points=1,
        pareto=[
            w
            for w, a, b in zip(WINDOWS, f, g, strict=True)
            if not any((c <= a and d <= b and (c, d) != (a, b)) for c, d in zip(f, g, strict=True))
        ],
        current_read_ahead_kb=128,
    )


def make_prediction(recording, *, seconds=False, action="set", notes=()):
    capture = recording.capture
    total = make_curve(recording, seconds=seconds)
    devices = [msgspec.structs.replace(total, dev="7:0", name="loop0")]
    if len(capture.devices) > 1:
        dev = recording.files["dev"][recording.accesses["file"]]
        devices = [
            make_curve(recording, d.dev, d.name, dev == dev_t(d.dev), seconds)
            for d in capture.devices
        ]
    chosen = total.quasi_optimal if total.predicted_best is None else total.predicted_best
    if not recording.accesses.rows:
        action = "none"
    verdict = Verdict(
        action=action,
        read_ahead_kb={"set": chosen * 4, "keep": 128, "none": None}[action],
        why="C_opt = F² + G² is smallest there",
    )
    return Prediction(
        kernel=recording.kernel,
        page_size=PAGE,
        model="fixed",
        recorded_read_ahead_kb=recording.recorded_read_ahead_kb,
        contaminated=recording.contaminated,
        devices=devices,
        total=total,
        verdict=verdict,
        published=verdict,
        notes=notes,
    )


def make_sweep(prediction, repeats=3):
    """Return measurements near the prediction, with a spread of a few percent."""
    rng = np.random.default_rng(1)
    total = prediction.total
    points = []
    for row, kb in enumerate(total.read_ahead_kb[:-1]):
        noise = 1 + 0.03 * rng.standard_normal(repeats)
        f, pages = total.f[row] * 1.2 + 50, total.pages[row] + 60
        points.append(
            Point(
                read_ahead_kb=kb,
                seconds=[float((0.5 + f * 1e-3 + pages * 4e-4) * x) for x in noise],
                requests=[int(f * x) for x in noise],
                pages=[float(pages * x) for x in noise],
            )
        )
    return Sweep(
        foreread="0.1.0",
        created="2026-11-20T11:00:00Z",
        kernel="6.1.0-41-arm64",
        devices=["loop0"],
        default_read_ahead_kb=128,
        points=points,
    )


def application(files=120, seed=7):
    """Return (accesses, paths, sizes) that look like the start of a scripted application."""
    rng = np.random.default_rng(seed)
    accesses, paths, sizes = [], [], []
    for row in range(files):
        pages = int(min(4000, 4 + rng.pareto(1.1) * 10))
        if row % 3:
            paths.append(f"/usr/lib/python3.11/package{row % 11}/module_{row}.cpython-311.pyc")
            touched = range(pages)
        else:
            paths.append(
                f"/usr/lib/aarch64-linux-gnu/lib{'abcdefgh'[row % 8] * 3}{row}.so.{row % 5}.2"
            )
            runs = [
                range(s, min(pages, s + 1 + int(rng.integers(0, 4))))
                for s in rng.permutation(pages)[: max(1, pages // 6)].tolist()
            ]
            touched = dict.fromkeys(p for run in runs for p in run)
        sizes.append(pages * PAGE - 100)
        accesses += [(row, p) for p in touched]
    late = [a for a in accesses if rng.random() < 0.1]
    first = set(late)
    return [a for a in accesses if a not in first] + late, paths, sizes


@pytest.fixture(scope="session")
def make():
    """Builders: recording, prediction, sweep, capture, application, HOSTILE names."""
    return SimpleNamespace(
        recording=make_recording,
        prediction=make_prediction,
        sweep=make_sweep,
        capture=make_capture,
        application=application,
        hostile=HOSTILE,
    )


@pytest.fixture(scope="session")
def app(make):
    accesses, paths, sizes = make.application()
    return make.recording(accesses, paths=paths, sizes=sizes)
