"""A start that was recorded beside a load is predicted alone, and says what its recording lacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.choice import predict_by
from foreread.analyzer.predict.doubts.start import of_run
from foreread.emulator.devices.paced import Paced

EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
WINDOWS = [0, 8, 32]


@pytest.fixture(scope="module")
def idle():
    return load(EXAMPLE)


def beside(recording):
    """Return the recording as if the scenario's load had run beside it."""
    capture = structs.replace(recording.capture, scenario="reader")
    return replace(recording, capture=capture)


def prepared(recording):
    return predict_by(recording, None, WINDOWS).starts[0]


@pytest.mark.thorough
def test_the_time_that_the_start_took_does_not_check_the_replay(idle):
    twice_s = 2 * idle.capture.wall_seconds
    of_idle, of_beside = (
        " ".join(doubt.text for doubt in of_run(prepared(each), twice_s))
        for each in (idle, beside(idle))
    )
    assert "of the time is unexplained" in of_idle
    assert "the start was recorded beside the load reader" in of_beside
    assert "of the time is unexplained" not in of_beside


@pytest.mark.thorough
def test_the_disk_is_known_from_its_probe_alone(idle):
    start = prepared(beside(idle))
    assert isinstance(start.device, Paced)
    seconds = [replay.total_ns / 1e9 for replay in start.timed(WINDOWS)]
    alone = prepared(idle).timed(WINDOWS)
    assert seconds == pytest.approx([replay.total_ns / 1e9 for replay in alone], rel=0.02)
    assert np.all(np.isfinite(seconds))
