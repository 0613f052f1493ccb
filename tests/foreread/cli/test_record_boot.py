"""``foreread record --boot`` and ``doctor --restore --target``: options, and what they are given.

tests/kernel/test_record_boot.py records boots.
"""

import contextlib
import json

import pytest
from capture_builder import capture_of
from json_outputs import check

from foreread.cli.commands import doctor, record
from foreread.cli.main import main
from foreread.error import ArgumentError
from foreread.recording.boot import record_boot
from foreread.recording.words import recorded_run, words_of_boot
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.formats.capture import Boot, CaptureError
from foreread.tracer.runs.options import Streams

TARGET = ["--target", "ssh://root@board"]
BOOT = Boot(processes=[1], read_before=[])


@pytest.fixture
def asked(monkeypatch):
    """How the library was asked."""
    found = {}

    def recorded(output, **words):
        found.update(words, output=output)
        return capture_of(boot=BOOT, ended_by="boot-done", exit_status=None, command=["init"])

    monkeypatch.setattr(record, "record_boot", recorded)
    return found


def test_options_reach_the_library(asked, capsys):
    words = ["--duration", "20", "--read-ahead-kb", "16", "--state-dir", "/data", "--no-probe"]
    assert main(["record", "--boot", *TARGET, "-o", "c", *words]) == 0
    chosen = {name: asked[name] for name in ("target", "duration_s", "state_dir", "probe_disk")}
    assert chosen == {
        "target": "ssh://root@board",
        "duration_s": 20.0,
        "state_dir": "/data",
        "probe_disk": False,
    }
    assert asked["read_ahead_kb"] == 16
    said = capsys.readouterr().err
    assert "recorded 1.000 s by tracefs, ended by boot-done, a whole boot, 0 events lost" in said


def test_the_document_says_what_ended_it(asked, run):
    document = run("record", "--boot", *TARGET, "-o", "c", "--json").out
    check("record", document)
    assert json.loads(document)["ended_by"] == "boot-done"


@pytest.mark.parametrize(
    ("words", "start"),
    [([], "scripts"), (["--from", "scripts"], "scripts"), (["--from", "init"], "init")],
)
def test_where_the_recording_begins_reaches_the_library(asked, words, start):
    assert main(["record", "--boot", *TARGET, "-o", "c", *words]) == 0
    assert asked["start"] == start


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--boot"], "--boot reboots a target"),
        (["--boot", *TARGET, "--", "app"], "remove a command"),
        (["--boot", *TARGET, "--until-idle", "9"], "remove --until-idle"),
        (["--boot", *TARGET, "--user", "nobody"], "remove --user"),
        (["--boot", *TARGET, "--backend", "perf"], "remove --backend"),
        (["--state-dir", "/data", "--", "app"], "--state-dir is for --boot"),
        (["--from", "init", "--", "app"], "--from is for --boot"),
        (["--boot", *TARGET, "--from", "init", "--state-dir", "/data"], "leave out one of them"),
        (["--boot", *TARGET, "--from", "kernel"], "invalid choice: 'kernel'"),
        (["--load", "9s", "--from", "init"], "remove --from"),
        ([], "no command"),
    ],
)
def test_wrong_usage(asked, words, why, run):
    assert why in run("record", "-o", "c", *words, code=2).err
    assert not asked


def test_this_machine_does_not_record_its_own_boot():
    with pytest.raises(ArgumentError, match="cannot record its own boot"):
        record_boot("c", target="local")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"start": "kernel"}, "start='kernel'"),
        ({"start": "init", "state_dir": "/data"}, "only the root is mounted"),
    ],
)
def test_library_refuses_a_start_that_it_cannot_record_from(given, why):
    with pytest.raises(ArgumentError, match=why):
        record_boot("c", target="ssh://root@board", **given)


def test_options_of_a_capture_repeat_where_it_begins():
    assert words_of_boot(None, None, 0, "init") == ("--boot", "--from", "init")
    assert words_of_boot(None, None) == ("--boot",)


def test_a_boot_is_not_run_again():
    with pytest.raises(CaptureError, match="is of a boot"):
        recorded_run(capture_of(boot=BOOT), Streams())


@pytest.mark.parametrize(
    ("removed", "said"),
    [(True, "restored: /etc/foreread-boot = removed"), (False, "nothing to restore")],
)
def test_restoring_a_target_removes_the_hook(monkeypatch, run, removed, said):
    @contextlib.contextmanager
    def opened(*_, **__):
        yield None

    diagnosis = Diagnosis("6.1", "", "tracefs", [])
    monkeypatch.setattr(doctor, "open_target", opened)
    monkeypatch.setattr(doctor, "diagnose", lambda _: diagnosis)
    monkeypatch.setattr(doctor, "remove_boot_hook", lambda _: removed)
    assert said in run("doctor", "--restore", *TARGET).out
