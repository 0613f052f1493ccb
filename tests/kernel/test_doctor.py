"""The diagnosis of the machine that runs the tests, against what the machine says itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from boards.owner import PREFIX
from tracer.backends import tracefs_mount
from tracer.local.doctor import examine

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no diagnosis was checked"),
]


def test_the_machine_is_as_before_and_as_diagnosed() -> None:
    with tracefs_mount.mounted() as place:
        before = [(place / name).read_text() for name in ("dynamic_events", "trace_clock")]
        diagnosis = examine()
        after = [(place / name).read_text() for name in ("dynamic_events", "trace_clock")]
        mine = list((place / "instances").glob(f"{PREFIX}{os.getpid()}-*"))
    assert (after, mine) == (before, [])
    assert diagnosis.kernel == os.uname().release
    assert diagnosis.backend
    windows = [one for one in diagnosis.findings if one.name.startswith("read_ahead_kb ")]
    for window in windows:
        disk = window.name.removeprefix("read_ahead_kb ")
        knob = Path(f"/sys/block/{disk}/queue/read_ahead_kb")
        assert not knob.exists() or not window.ok or "now" in window.detail
    assert windows
