"""Fingerprints of real loads on a loop device, by busybox ash and dash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from rings import further
from shells import BUSYBOX, DASH
from waiting import left_s
from watched_disks import LOADS, a_disk, load, until, whole_period

from foreread.analyzer.tuner.engines.fingerprint import Snapshot
from foreread.boards.target import LocalTarget
from foreread.cli.main import main
from foreread.tracer.error import RecordError
from foreread.tracer.remote.watch import WatchOptions, parse_period, watching

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no workload was watched"),
]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with a_disk(tmp_path_factory.mktemp("fingerprint")) as disk:
        yield disk


@pytest.fixture
def shell():
    return BUSYBOX


@pytest.mark.parametrize("expected", further(LOADS, ["read-random-small"]))
def test_a_load_has_its_fingerprint(loop, shell, expected):
    options = WatchOptions(period_s=1, disks=[loop.name], least_ios=5)
    with watching(LocalTarget(), options, shell) as watch, load(loop, *LOADS[expected]):
        period = whole_period(watch)
    assert period.fingerprint == expected
    assert str(Snapshot(**period.sums).fingerprint()) == expected


@pytest.mark.thorough
def test_a_posix_shell_sees_the_same(loop):
    test_a_load_has_its_fingerprint(loop, DASH, "write-random-large")


@pytest.mark.thorough
def test_a_disk_that_is_not_there(shell):
    options = WatchOptions(period_s=1, disks=["none0"])
    with (
        watching(LocalTarget(), options, shell) as watch,
        pytest.raises(RecordError, match="there is no disk none0"),
    ):
        until(watch, "period")


@pytest.mark.thorough
def test_other_disks_do_not_count(loop, shell, tmp_path):
    options = WatchOptions(period_s=1, disks=[loop.name])
    with (
        a_disk(tmp_path) as other,
        load(other, "randread", "4k"),
        watching(LocalTarget(), options, shell) as watch,
    ):
        said = [fact for _ in range(3) for fact in until(watch, "period")]
    assert {parse_period(fact).fingerprint for fact in said if fact.key == "period"} == {""}


@pytest.mark.thorough
def test_the_command_prints_one_period(loop, capsys):
    with load(loop, "read", "128k"):
        words = ["fingerprint", "--interval", "3", "--device", f"/dev/{loop.name}"]
        assert main([*words, "--json"]) == 0
        received = json.loads(capsys.readouterr().out)
        assert main(words) == 0
    assert received["fingerprint"] == "read-sequential-large"
    assert received["pattern_published"] == "random"
    assert (received["size_bytes"], received["jump_share"]) == (128 << 10, 0)
    assert received["distance_sectors"] == 256
    assert "read-sequential-large" in capsys.readouterr().out


@pytest.mark.thorough
def test_ctrl_c_ends_the_watch(loop):
    words = [sys.executable, "-m", "foreread", "fingerprint", "--watch", "--interval", "1"]
    words += ["--device", loop.name]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watch:
        try:
            assert watch.stdout.readline() == "no workload\n"
            watch.send_signal(signal.SIGINT)
            assert watch.wait(left_s()) == 0
        finally:
            watch.kill()
