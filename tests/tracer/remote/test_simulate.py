"""The workload that a shell makes of a pattern, by what it asks dd for."""

from __future__ import annotations

import os
import subprocess
from importlib import resources

import pytest
from shells import each_shell

SHELLS = pytest.mark.parametrize("shell", each_shell())
MIB = 1 << 20
# Instead of dd: its arguments, and the file that it would write.
_DD = """#!/bin/sh
echo "$*" >>"$CALLS"
case $* in *of=/dev/null*) ;; *) : >"${2#of=}" ;; esac
"""


def simulated(shell, folder, *numbers, disk_mib=512, writes=None):
    """Return the calls of dd, as words by name, of a simulation on a disk of that size."""
    disk, calls = folder / "disk", folder / "calls"
    for place, text in ((disk / "size", f"{disk_mib * 2048}\n"), (folder / "bin/dd", _DD)):
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    (folder / "bin/dd").chmod(0o755)
    calls.write_text("")
    text = (resources.files("foreread.tracer.remote") / "simulate.sh").read_text()
    words = [*map(str, numbers), f"../..{disk}", "8", *([str(writes)] if writes else [])]
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    # busybox prefers its own applet dd to a file.
    script = f'dd() {{ "{folder}/bin/dd" "$@"; }}\n{text}'
    done = subprocess.run(
        [*shell, "-c", script, "sh", *words],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": path, "CALLS": str(calls)},
    )
    assert done.stderr == ""
    found = [
        dict(word.split("=", 1) for word in line.split()) for line in calls.read_text().splitlines()
    ]
    return done.returncode, found


def reads(calls):
    return [one for one in calls if one["of"] == "/dev/null"]


def requests(calls):
    return sum(int(one["count"]) for one in calls)


@SHELLS
def test_a_sequential_pattern_is_one_stretch_of_each_process(shell, tmp_path):
    status, calls = simulated(shell, tmp_path, 2, 100, 0, 64)
    assert status == 0 and len(calls) == 2
    assert [one["bs"] for one in calls] == ["64k"] * 2
    assert requests(calls) == 8 * 1024 // 64
    first, second = sorted(int(one["skip"]) for one in calls)
    half = 512 * 1024 // 64 // 2
    assert first < half <= second < 2 * half


@SHELLS
def test_a_random_pattern_has_a_stretch_for_each_request(shell, tmp_path):
    status, calls = simulated(shell, tmp_path, 1, 100, 100, 4)
    assert status == 0 and len(calls) == 128
    assert {one["count"] for one in calls} == {"1"}
    assert len({one["skip"] for one in calls}) > 100
    assert max(int(one["skip"]) for one in calls) < 512 * MIB // 4096
    assert simulated(shell, tmp_path, 1, 100, 100, 4)[1] == calls  # the same in every run


@SHELLS
def test_shares_are_those_of_the_pattern(shell, tmp_path):
    writes = tmp_path / "data"
    writes.mkdir()
    status, calls = simulated(shell, tmp_path, 2, 60, 50, 16, writes=writes)
    assert status == 0
    assert 100 * requests(reads(calls)) / requests(calls) == pytest.approx(60, abs=15)
    assert requests(calls) / len(calls) == pytest.approx(2, abs=0.4)
    written = [one for one in calls if one not in reads(calls)]
    assert {one["conv"] for one in written} == {"notrunc,fsync"}
    assert all((int(one["seek"]) + int(one["count"])) * 16 <= 4096 for one in written)
    assert not list(writes.iterdir())


@SHELLS
def test_without_a_folder_nothing_is_written(shell, tmp_path):
    status, calls = simulated(shell, tmp_path, 1, 0, 100, 4)
    assert status == 0 and calls and reads(calls) == calls


@SHELLS
@pytest.mark.parametrize("kib", [0, 4, 2047])
def test_a_small_disk_is_not_left(shell, tmp_path, kib):
    status, calls = simulated(shell, tmp_path, 8, 100, 50, kib, disk_mib=64)
    assert status == 0 and requests(calls) >= 4 * 8
    ends = [int(one["skip"]) + int(one["count"]) for one in calls]
    assert max(ends) * max(kib, 1) <= 64 * 1024


@SHELLS
def test_a_disk_that_is_gone_fails(shell, tmp_path):
    (tmp_path / "disk").mkdir()
    status, _ = simulated(shell, tmp_path, 1, 100, 0, 4)
    assert status == 0
    text = (resources.files("foreread.tracer.remote") / "simulate.sh").read_text()
    words = ["1", "100", "0", "4", "none0", "8"]
    done = subprocess.run([*shell, "-c", text, "sh", *words], check=False, capture_output=True)
    assert done.returncode == 1
