"""A recorded start with two emulated runs, and a recording with hostile names."""

from pathlib import Path

import pytest
from capture_builder import recording_of

import foreread
from foreread.analyzer.export.make import exported_runs

CAPTURE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
HOSTILE = (
    "=cmd|' /C calc'!A0",
    "</script><img src=x onerror=alert(1)>",
    '/tmp/a"b,c\nd\x1b]0;x\x07',
    "/tmp/undecodable\udcff",
)


@pytest.fixture(scope="session")
def start():
    return foreread.load(CAPTURE)


@pytest.fixture(scope="session")
def exported(start):
    return exported_runs(start, [0, 128])


@pytest.fixture(scope="session")
def hostile():
    recording = recording_of([(n, n) for n in range(4)], [1 << 20] * 4, paths=HOSTILE)
    return exported_runs(recording, [])
