"""``foreread fingerprint``: its arguments. tests/kernel/test_fingerprint.py watches workloads."""

import json
import subprocess
from contextlib import nullcontext
from functools import partial

import pytest
from tuned_stores import tuned

from foreread.analyzer.tuner.engines.fingerprint import BY_NAME
from foreread.analyzer.tuner.findings.plans import learn
from foreread.cli.commands import fingerprint
from foreread.cli.main import main
from foreread.tracer.remote.job import Fact


@pytest.mark.parametrize("seconds", ["0", "-1", "1.5", "x", "99999999"])
def test_a_period_is_whole_seconds(seconds, run):
    assert "whole seconds" in run("fingerprint", "--interval", seconds, code=2).err


def test_a_disk_is_named_by_its_name(run):
    assert "not a name of a disk" in run("fingerprint", "--device", "sda;reboot", code=1).err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--apply", "a.tuning"], "--apply needs --watch"),
        (["-o", "script"], "-o needs --apply"),
        (["--learn", "a.tuning", "--watch"], "one period"),
    ],
)
def test_incompatible_options_are_refused(words, why, run):
    assert why in run("fingerprint", *words, code=2).err


def test_a_script_for_a_board_holds_the_plans(tmp_path, run):
    tuned(tmp_path / "app.tuning")
    learn(tmp_path / "app.tuning", BY_NAME["read-random-small"])
    script = tmp_path / "watch"
    words = ["fingerprint", "--apply", str(tmp_path / "app.tuning"), "-o", str(script), "--json"]
    plans = json.loads(run(*words).out)["plans"]
    assert ["/sys/block/sda/queue/scheduler", "bfq"] in plans["read-random-small"]
    assert "read-random-small\t/sys/block/sda/queue/scheduler\tbfq" in script.read_text()
    assert script.stat().st_mode & 0o777 == 0o755
    assert subprocess.run(["busybox", "sh", "-n", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--worse-percent", "0"], "whole percent"),
        (["--worse-percent", "100"], "whole percent"),
        (["--worse-percent", "5.5"], "whole percent"),
        (["--recheck", "-1"], "from 1 to"),
        (["--recheck", "x"], "from 1 to"),
    ],
)
def test_when_settings_are_judged_is_a_number(words, why, run):
    assert why in run("fingerprint", *words, code=2).err


def test_the_script_has_the_threshold_and_the_gap(tmp_path):
    tuned(tmp_path / "app.tuning")
    learn(tmp_path / "app.tuning", BY_NAME["read-random-small"])
    script = tmp_path / "watch"
    words = ["fingerprint", "--apply", str(tmp_path / "app.tuning"), "-o", str(script)]
    assert main([*words, "--worse-percent", "25", "--recheck", "0"]) == 0
    lines = script.read_text().splitlines()
    assert "worse_percent=25" in lines
    assert "recheck=0" in lines


class SaidWatch:
    """A watch that has these facts, until Ctrl-C."""

    def __init__(self, *facts):
        self._facts = [Fact(*line.split(" ", 1)) for line in facts]

    def news(self):
        if not self._facts:
            raise KeyboardInterrupt
        return [self._facts.pop(0)]

    def stop(self):
        return []


@pytest.fixture
def watched(monkeypatch, tmp_path, run):
    """Return what is printed of these facts."""
    tuned(tmp_path / "app.tuning")
    learn(tmp_path / "app.tuning", BY_NAME["read-random-small"])

    def watched(facts, *options):
        opened = partial(nullcontext, SaidWatch(*facts))
        monkeypatch.setattr(fingerprint, "watching", lambda *_: opened())
        monkeypatch.setattr(fingerprint, "restore_settings", lambda _: [])
        words = ["fingerprint", "--watch", "--apply", str(tmp_path / "app.tuning"), *options]
        return run(*words).out.splitlines()

    return watched


UNDONE = "undone read-random-small latency 1000 2000 1500 4000"


def test_a_comparison_is_printed_with_its_figures(watched):
    kept = "kept read-random-small - 1000 - 1500 -"
    assert watched(["measuring read-random-small", UNDONE, kept]) == [
        "  measuring read-random-small with the original values, for comparison",
        "  undone: the settings for read-random-small made latency worse: throughput 1000 -> 1500 "
        "bytes per ms of disk time (+50 %), latency 2 -> 4 ms a request (+100 %)",
        "  the settings for read-random-small suit it: throughput 1000 -> 1500 bytes per ms of "
        "disk time (+50 %), latency unknown",
    ]


def test_a_comparison_is_a_document(watched):
    (line,) = watched([UNDONE], "--json")
    found = json.loads(line)
    assert (found["done"], found["worse"]) == ("undone", "latency")
    assert (found["default_bytes_per_ms"], found["plan_bytes_per_ms"]) == (1000, 1500)
    assert (found["default_latency_ms"], found["plan_latency_ms"]) == (2, 4)


def test_a_comparison_that_is_none_is_an_error(watched):
    with pytest.raises(AssertionError, match="cannot parse the target's reply"):
        watched(["undone read-random-small \x1b[31m 1 2 3 4"])
