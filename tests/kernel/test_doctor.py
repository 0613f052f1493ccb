"""The diagnosis of the machine that runs the tests, against what the machine says itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.boards.target import LocalTarget
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.doctor.examine import examine

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no diagnosis was checked"),
]


def test_the_machine_is_as_before_and_as_diagnosed() -> None:
    with tracefs_mount.mounted() as place:
        before = (place / "trace_clock").read_text()
        diagnosis = examine(LocalTarget())
        after = (place / "trace_clock").read_text()
        group = tracefs_mount.probe_group(owner_tag())
        probes = group in (place / "dynamic_events").read_text()
        mine = list((place / "instances").glob(f"{PREFIX}{owner_tag()}*"))
    assert (after, probes, mine) == (before, False, [])
    assert diagnosis.kernel == os.uname().release
    assert diagnosis.backend
    windows = [one for one in diagnosis.findings if one.name.startswith("read_ahead_kb ")]
    for window in windows:
        disk = window.name.removeprefix("read_ahead_kb ")
        knob = Path(f"/sys/block/{disk}/queue/read_ahead_kb")
        assert not knob.exists() or not window.ok or "now" in window.detail
    assert windows
    for seen in diagnosis.disks:
        assert Path(seen.knob).exists()
        assert seen.queue["rotational"] in ("0", "1")
    assert diagnosis.disks
