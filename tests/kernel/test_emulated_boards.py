"""Emulated boards, really booted: repeatability, the cost model, and what can go wrong.

Figures are printed (``make test-all`` keeps them in its logs). The first run downloads Debian
packages into the cache; later ones need no network.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

import pytest

from foreread.boards.emulated import MACHINES, Board, BoardError, RunPlan
from foreread.boards.emulated.image import SAMPLE

pytestmark = pytest.mark.boards

PLAY = ("madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}")
WINDOWS_KB = (0, 8, 16, 32, 64, 128, 512, 1024)


def tell(capsys, text):
    with capsys.disabled():
        print(f"\n  {text}", end="")


def milliseconds(runs):
    return [one.guest_ns / 1e6 for one in runs]


@pytest.mark.parametrize("name", MACHINES)
def test_two_boots_of_five_cold_runs(name, capsys):
    runs = [run for _ in range(2) for run in Board(name).run(RunPlan(PLAY, repeat=5)).runs]
    times = milliseconds(runs)
    spread = (max(times) - min(times)) / median(times)
    tell(capsys, f"{name}: {median(times):.2f} ms, spread {100 * spread:.3f} %")
    assert {run.status for run in runs} == {0}
    assert len({(run.requests, run.read_kib) for run in runs}) == 1
    assert spread <= 0.01


@pytest.mark.parametrize("name", [n for n, one in MACHINES.items() if "6.12" in one.kernels])
def test_the_newer_kernel(name, capsys):
    runs = Board(name, kernel="6.12").run(RunPlan(PLAY, repeat=3)).runs
    times = milliseconds(runs)
    spread = (max(times) - min(times)) / median(times)
    tell(capsys, f"{name} 6.12: {median(times):.2f} ms, spread {100 * spread:.3f} %")
    assert {run.status for run in runs} == {0}
    assert spread <= 0.01


@pytest.mark.parametrize("fs", ["ext4", "squashfs"])
@pytest.mark.parametrize("name", MACHINES)
def test_every_window(name, fs, capsys):
    runs = Board(name).run(RunPlan(PLAY, windows_kb=WINDOWS_KB, fs=fs)).runs
    times = milliseconds(runs)
    table = ", ".join(f"{kb}: {ms:.0f}" for kb, ms in zip(WINDOWS_KB, times, strict=True))
    tell(capsys, f"{name} {fs}, ms by KiB: {table}")
    assert [run.read_ahead_kb for run in runs] == list(WINDOWS_KB)
    assert {run.status for run in runs} == {0}
    if fs == "ext4":  # squashfs reads whole compressed blocks, whatever the window
        assert runs[0].requests > runs[-1].requests
    assert runs[0].read_kib < runs[-1].read_kib


@pytest.mark.parametrize("name", MACHINES)
def test_without_readahead_the_disk_has_its_configured_cost(name, capsys):
    """No two requests overlap, and nothing is computed meanwhile: their costs add up."""
    plans = (
        RunPlan(PLAY, windows_kb=(0,), latency_ns=latency, ns_per_kib=per_kib)
        for latency, per_kib in ((100_000, 10_000), (2_000_000, 10_000), (100_000, 200_000))
    )
    cheap, late, narrow = (Board(name).run(plan).runs[0] for plan in plans)
    latency_cost = (late.guest_ns - cheap.guest_ns) / (late.requests * 1_900_000)
    size_cost = (narrow.guest_ns - cheap.guest_ns) / (narrow.read_kib * 190_000)
    tell(capsys, f"{name}: measured / stated cost: latency {latency_cost:.4f}, KiB {size_cost:.4f}")
    assert latency_cost == pytest.approx(1, abs=0.02)
    assert size_cost == pytest.approx(1, abs=0.02)


def test_output_and_status_come_back_as_they_are():
    script = r"printf '\0\377\n'; echo \"$1\" >&2; exit 7"
    result = Board("x86_64").run(RunPlan(("sh", "-c", script, "sh", "it's $HOME; `x`")))
    assert result.stdout == b"\0\xff\n"
    assert result.stderr == b'"it\'s $HOME; `x`"\n'
    assert [run.status for run in result.runs] == [7]


def test_a_command_that_is_not_there():
    with pytest.raises(BoardError, match="no command 'nosuch'") as caught:
        Board("x86_64").run(RunPlan(("nosuch",)))
    assert "--package" in caught.value.remedy


def test_a_command_that_never_ends():
    endless = RunPlan(("sh", "-c", "while :; do :; done"), time_out_s=20)
    with pytest.raises(BoardError, match="did not finish within 20 s"):
        Board("x86_64").run(endless)


@pytest.mark.parametrize("name", MACHINES)
def test_a_kernel_that_panics(name):
    crash = ("sh", "-c", "echo c >/proc/sysrq-trigger")
    with pytest.raises(BoardError, match="panicked: sysrq triggered crash"):
        Board(name).run(RunPlan(crash, time_out_s=120))


@pytest.mark.parametrize("name", MACHINES)
def test_memory_just_enough_is_enough(name):
    with pytest.raises(BoardError, match="1 MiB are too little") as caught:
        Board(name).run(RunPlan(PLAY, memory_mib=1))
    least = int(caught.value.remedy.split()[2])
    assert Board(name).run(RunPlan(PLAY, memory_mib=least, time_out_s=60)).runs[0].status == 0


def test_once_filled_the_cache_needs_no_apt(tmp_path, monkeypatch):
    Board("x86_64").run(RunPlan(PLAY))
    for tool in ("apt-get", "apt-cache"):
        (tmp_path / tool).write_text("#!/bin/sh\nexit 9\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Board("x86_64").run(RunPlan(PLAY)).runs[0].status == 0


def test_the_command_line():
    words = [sys.executable, "-m", "foreread", "boards", "run", "arm64", "--windows", "0,32k"]
    done = subprocess.run([*words, "--", *PLAY], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()[-3:]] == ["KiB", "0", "32"]
