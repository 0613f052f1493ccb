"""``foreread tune`` on a real loop disk: durable unless asked, and no settings that write more.

The start of each test is a script that looks at the settings in force, so that nothing but them
makes it write. How long it took is decided by them, too: a busy machine would decide otherwise. The
scenario is ``reader``: other work on this machine would make idle runs contended.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from loop_image import WINDOW_KB, loop_image
from loop_image import mount_options as options
from waiting import left_s

from foreread.analyzer.tuner.findings.results import read_results
from foreread.boards.target import LocalTarget
from foreread.cli.main import main
from foreread.tracer.machines import bench_on
from foreread.tuning import campaign as tuning

DURABILITY = ["dirty_expire_centisecs", "lazytime", "commit"]
EXPIRE = Path("/proc/sys/vm/dirty_expire_centisecs")
CASES = pytest.mark.parametrize("allowed", [False, True])
WORN_KIB = 4096
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nothing was tuned"),
]


@pytest.fixture
def loop():
    # In memory: what others read and write does not count as of a disk below it.
    with TemporaryDirectory(dir="/dev/shm") as folder, loop_image(Path(folder)) as image:
        yield image


@pytest.fixture
def side(monkeypatch):
    """Return how to have settings fast; the trials are made here."""

    def made_fast_by(is_fast):
        @contextmanager
        def bench(_target, _identity, trials, _tell):
            with bench_on(LocalTarget(), trials) as made:
                yield Timed(made, is_fast)

        monkeypatch.setattr(tuning, "open_bench", bench)

    made_fast_by(lambda _: True)
    return made_fast_by


class Timed:
    """A bench whose runs take as long as the settings in force say."""

    def __init__(self, bench, is_fast):
        self._bench, self._is_fast, self._noise = bench, is_fast, Random(1)

    def __getattr__(self, name):
        return getattr(self._bench, name)

    def run(self, trial):
        outcome = self._bench.run(trial)
        seconds = (0.1 if self._is_fast(outcome.in_force) else 0.5) * self._noise.gauss(1, 0.01)
        return replace(outcome, seconds=None if outcome.seconds is None else seconds)


def words(loop, output, script, *more):
    search = ["--sampler", "exhaustive", "--repeats", "2:4", "--scenario", "reader"]
    run = ["--allow-warm", "--wait", str(left_s()), "--device", loop.device]
    command = [str(loop.busybox), "sh", "-c", script]
    return ["tune", "-o", str(output), *search, *run, *more, "--", *command]


@CASES
def test_a_tune_is_durable_unless_asked(loop, side, allowed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(tuning, "usual_names", lambda: DURABILITY)
    seen, found, expire = tmp_path / "seen", options(loop), EXPIRE.read_text()
    script = (
        f"line=$(grep ' {loop.mountpoint} ' /proc/self/mountinfo); echo \"$line\" >>{seen}; "
        f"cat {EXPIRE} >>{seen}.expire"
    )
    output = tmp_path / "app.tuning"
    more = ["--allow", "durability"] if allowed else []
    monkeypatch.setattr(tuning.ConfirmingRuns, "run", lambda _: None)  # the search is enough
    assert main(words(loop, output, script, *more, "--repeats", "1:1", "--budget", "24")) == 0
    said = capsys.readouterr().out
    in_force = seen.read_text()
    highest = max(map(int, Path(f"{seen}.expire").read_text().split()))
    if allowed:
        assert "commit=60" in in_force and "not tried" not in said
    else:
        assert "commit=1" in in_force and "lazytime" not in in_force
        assert not any(f"commit={n}" in in_force for n in (15, 30, 60))
        assert highest <= int(expire)
        assert "not tried, since a power cut would lose more: lazytime, " in said
    assert options(loop) == found and EXPIRE.read_text() == expire


def test_a_setting_that_loses_data_is_said_with_its_result(loop, side, tmp_path, capsys):
    side(lambda in_force: "60" in in_force.values())
    output, boot = tmp_path / "app.tuning", tmp_path / "boot"
    assert main(words(loop, output, ":", "--genes", "commit=5:60")) == 0
    lost = "with commit=60 a power cut may lose the last 60 s of writes"
    assert f"durability: {lost}" in capsys.readouterr().out
    assert main(["script", str(output), "-o", str(boot)]) == 1
    assert lost in capsys.readouterr().err
    assert main(["script", str(output), "-o", str(boot), "--allow", "durability"]) == 0
    assert f"# Durability: {lost}." in (boot / "foreread-apply").read_text()


@CASES
def test_a_window_that_writes_more_is_refused(loop, side, allowed, tmp_path, capsys):
    worn = loop.mountpoint / "worn"
    script = (
        f"read -r kb <{loop.knob}; [ $kb != 32 ] || "
        f"dd if=/dev/zero of={worn} bs=64k count={WORN_KIB // 64} conv=fsync 2>/dev/null"
    )
    side(lambda in_force: in_force[str(loop.knob)] == "32")
    output = tmp_path / "app.tuning"
    more = ["--allow", "wear"] if allowed else []
    genes = ["--genes", f"read_ahead_kb=32:{WINDOW_KB}"]
    assert main(words(loop, output, script, *genes, *more)) == 0
    said, results = capsys.readouterr().out, read_results(output)
    if allowed:
        assert results.confirmed.chromosome == {"read_ahead_kb": 32}
        assert "--allow wear" in said
        return
    assert results.confirmed.chromosome == {"read_ahead_kb": WINDOW_KB}
    assert "wear: refused 1 chromosome, with more than 10 % more sectors written" in said
    (refused,) = (
        key for key in results.standings.chromosomes() if results.standings.violations(key)
    )
    (figures,) = results.standings.violations(refused)
    assert figures.value >= 2 * WORN_KIB and figures.default < WORN_KIB
