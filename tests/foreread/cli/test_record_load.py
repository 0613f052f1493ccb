"""``foreread record --load`` and ``--scenario``: options, and what they are given.

tests/kernel/test_record_load.py records loads.
"""

import argparse

import pytest
from capture_builder import capture_of
from json_outputs import check

from foreread.cli.arguments.budget import parse_time
from foreread.cli.commands import record
from foreread.cli.main import main
from foreread.tracer.error import RecordError

LOAD = capture_of(is_load=True, command=[], ended_by="duration", exit_status=None)


@pytest.fixture
def received(monkeypatch):
    """What the library was given."""
    words = {}

    def recorded_load(output, seconds, **others):
        words.update(others, output=output, seconds=seconds)
        return LOAD

    def recorded(run, output, **others):
        words.update(others, output=output, run=run)
        return capture_of(scenario=others["scenario"])

    monkeypatch.setattr(record, "record_load", recorded_load)
    monkeypatch.setattr(record, "record", recorded)
    return words


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("10s", 10.0), ("2m", 120.0), ("1h", 3600.0)]
)
def test_times_have_a_unit(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["10", "0s", "-1s", "1.5s", "s", "10 s", "1e3s", "٣s"])
def test_other_times_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="write a time such as 500ms, 10s or 2m"):
        parse_time(text)


def test_options_of_a_load_reach_the_library(received, capsys):
    words = ["--load", "10s", "--target", "ssh://root@board", "--buffer-kib", "4096"]
    assert main(["record", *words, "-o", "load.capture", "--wait", "3"]) == 0
    chosen = {name: received[name] for name in ("seconds", "target", "buffer_kib", "wait_s")}
    assert chosen == {
        "seconds": 10.0,
        "target": "ssh://root@board",
        "buffer_kib": 4096,
        "wait_s": 3.0,
    }
    said = capsys.readouterr().err
    assert "recorded 1.000 s by tracefs, ended by duration, a load, 0 events lost" in said


def test_the_document_says_that_it_is_a_load(received, run):
    document = run("record", "--load", "1s", "-o", "load.capture", "--json").out
    check("record", document)
    assert '"is_load": true' in document


@pytest.mark.parametrize(
    "words",
    [
        ["--", "app"],
        ["--duration", "3"],
        ["--boot"],
        ["--no-probe"],
        ["--read-ahead-kb", "16"],
        ["--scenario", "reader"],
        ["--device", "sdb"],
        ["--search", "3"],
        ["--backend", "perf"],
    ],
)
def test_a_load_is_recorded_as_it_is(received, run, words):
    said = run("record", "--load", "1s", "-o", "load.capture", *words, code=2).err
    assert "--load records the machine as it is: remove" in said


def test_a_scenario_reaches_the_library(received, run):
    run("record", "--scenario", "reader", "--device", "sdb", "-o", "c", "--", "app")
    assert (received["scenario"], received["device"]) == ("reader", "sdb")
    alone = run("record", "--device", "sdb", "-o", "c", "--", "app", code=2).err
    assert "--device is for --scenario" in alone
    run("record", "-o", "c", "--", "app")
    assert received["scenario"] == "idle"
    two = ["--scenario", "reader", "--scenario", "writer"]
    assert "a capture has one scenario" in run("record", *two, "-o", "c", "--", "app", code=2).err


def test_a_boot_and_a_suite_have_no_scenario(run):
    scenario = ["--scenario", "reader"]
    boot = ["--boot", "--target", "ssh://root@board", "-o", "c"]
    assert "remove --scenario" in run("record", *boot, *scenario, code=2).err
    assert "remove --scenario" in run("record", "--suite", "s.toml", *scenario, code=2).err
    assert "remove --load" in run("record", "--suite", "s.toml", "--load", "1s", code=2).err


def test_an_unknown_scenario_is_refused_before_the_run(tmp_path):
    from foreread.recording.start import record as record_start

    with pytest.raises(RecordError, match="unknown scenario 'rader'"):
        record_start(["true"], tmp_path / "c", scenario="rader")
