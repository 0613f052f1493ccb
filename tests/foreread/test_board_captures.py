"""Small captures of boards with other CPUs and page sizes, and the runs measured there."""

from pathlib import Path
from statistics import median

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.linux import predict_linux
from foreread.analyzer.predict.validate import validate
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.sweep import read_sweep

DATA = Path(__file__).parent / "data"
PAGE_KB = {"riscv64-madplay": 4, "arm64-16k-madplay": 16}


@pytest.mark.parametrize("name", PAGE_KB)
def test_requests_pages_and_seconds_are_those_measured(name):
    recording = load(DATA / name / f"{name}.capture.tar.xz")
    sweep = read_sweep(DATA / name / f"{name}.sweep.json")
    assert recording.page_size == PAGE_KB[name] * 1024
    windows = [point.read_ahead_kb // PAGE_KB[name] for point in sweep.points]
    prediction = predict_linux(recording, "linux", windows, FixedCost(1e6, 5e4))
    points = validate(prediction, sweep).points
    assert len(points) == len(sweep.points) >= 4
    for point in points:
        predicted, measured = point.predicted, point.measured
        assert predicted.f == measured.f
        unread = predicted.pages - measured.pages  # the disk counts blocks of 4 KiB
        assert unread == 0 if PAGE_KB[name] == 4 else 0 <= unread < len(recording.entries)
    errors = [abs(point.error.seconds) for point in points]
    assert median(errors) <= 0.015
    assert max(errors) <= 0.04
