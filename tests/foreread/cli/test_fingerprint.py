"""``foreread fingerprint``: its arguments. tests/kernel/test_fingerprint.py watches workloads."""

from __future__ import annotations

import json
import subprocess

import pytest
from tuned_stores import tuned

from analyzer.tuner.engines.fingerprint import BY_NAME
from analyzer.tuner.findings.plans import learn
from foreread.cli.main import main


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "x", "99999999"])
def test_a_period_is_whole_seconds(seconds, capsys):
    with pytest.raises(SystemExit) as error:
        main(["fingerprint", "--interval", seconds])
    assert error.value.code == 2
    assert "whole seconds" in capsys.readouterr().err


def test_a_disk_is_named_by_its_name(capsys):
    assert main(["fingerprint", "--device", "sda;reboot"]) == 1
    assert "not a name of a disk" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--apply", "a.tuning"], "--apply needs --watch"),
        (["-o", "script"], "-o needs --apply"),
        (["--learn", "a.tuning", "--watch"], "one period"),
    ],
)
def test_incompatible_options_are_refused(words, why, capsys):
    assert main(["fingerprint", *words]) == 2
    assert why in capsys.readouterr().err


def test_a_script_for_a_board_holds_the_plans(tmp_path, capsys):
    tuned(tmp_path / "app.tuning")
    learn(tmp_path / "app.tuning", BY_NAME["read-random-small"])
    script = tmp_path / "watch"
    words = ["fingerprint", "--apply", str(tmp_path / "app.tuning"), "-o", str(script), "--json"]
    assert main(words) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert ["/sys/block/sda/queue/scheduler", "bfq"] in plans["read-random-small"]
    assert "read-random-small\t/sys/block/sda/queue/scheduler\tbfq" in script.read_text()
    assert script.stat().st_mode & 0o777 == 0o755
    assert subprocess.run(["busybox", "sh", "-n", script], check=False).returncode == 0
