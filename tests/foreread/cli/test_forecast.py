"""``foreread forecast``: text, JSON and exit codes."""

import json
import shlex
from pathlib import Path

import pytest

import foreread
from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
NEW = str(ROOT / "examples/python-start/python-start.capture.tar.xz")
OLD = str(ROOT / "tests/foreread/data/arm64-madplay/arm64-madplay.capture.tar.xz")
BLIND = str(ROOT / "tests/foreread/data/no-scheduler/no-scheduler.capture.tar.xz")


def run(capsys, *words, code=0):
    assert main(["forecast", *words]) == code
    return capsys.readouterr()


def test_the_text_has_both_kernels_the_changes_and_what_to_set(capsys):
    said = run(capsys, OLD, "--model", "linux-7.2", "--device-model", "arm64", "--verbose").out
    lines = said.splitlines()
    assert (
        "rests on: window of slow0: 128 KiB now (the kernel's 128 KiB), 252 KiB then (twice "
        "max_sectors_kb of a rotational disk, from Linux 6.17 on)"
    ) in lines
    rows = [line for line in lines if line.startswith(("now ", "then ", "then, "))]
    assert [row.split("linux-")[0].strip() for row in rows] == [
        *("now", "then", "then, window of now", "then, best window")
    ]
    assert "change, alone" in said
    assert lines[0].startswith("forecast: slower: +0.0")
    assert lines[0].endswith(" s)")
    assert "  to keep the present time: set read_ahead_kb=128" in lines
    (command,) = [line for line in lines if line.startswith("  run: ")]
    assert shlex.split(command)[1:4] == ["foreread", "script", OLD]


def test_a_kernel_that_nobody_compared_widens_the_band_until_the_answer_is_uncertain(capsys):
    said = run(capsys, OLD, "--model", "linux-7.3", "--device-model", "arm64").out
    (answer,) = [line for line in said.splitlines() if line.startswith("forecast: ")]
    assert answer.startswith("forecast: slower: +0.0")
    assert answer.endswith("not certain, since the band contains 0)")


@pytest.mark.thorough
def test_the_command_that_it_advises_makes_a_boot_script(capsys, tmp_path, monkeypatch):
    said = run(capsys, NEW, "--model", "linux-6.12").out
    command = next(line for line in said.splitlines() if line.startswith("  run: "))
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[2:]) == 0
    assert "32" in (tmp_path / "boot/foreread-apply").read_text()


def test_json_is_the_library_s_result(capsys):
    document = json.loads(run(capsys, NEW, "--model", "linux-6.12", "--json").out)
    found = foreread.forecast(foreread.load(NEW), "linux-6.12")
    assert document == json.loads(found.to_json())
    assert document["schema"] == 1
    assert document["change"]["direction"] == "faster"
    assert [disk["name"] for disk in document["disks"]] == ["loop0", "vda"]


def test_a_disk_that_is_hardly_read_is_only_in_the_json(capsys):
    said = run(capsys, NEW, "--model", "linux-6.12").out
    assert "window of loop0: 2,560 KiB now" in said
    assert not any(line.startswith("window of vda") for line in said.splitlines())


def test_the_same_kernel_says_no_difference(capsys):
    said = run(capsys, NEW, "--model", "linux-6.18").out
    assert said.startswith("forecast: no difference\n")
    assert len(said.splitlines()) <= 25
    assert "change, alone" not in said


@pytest.mark.thorough
def test_known_windows_are_options(capsys):
    words = ("--read-ahead-kb-now", "32", "--read-ahead-kb-then", "64")
    document = json.loads(run(capsys, NEW, "--model", "linux-6.12", *words, "--json").out)
    assert (document["now"]["read_ahead_kb"], document["then"]["read_ahead_kb"]) == (32, 64)
    said = run(capsys, NEW, "--model", "linux-6.12", *words).out
    windows = "window of loop0: 32 KiB now (as given), 64 KiB then (as given)"
    assert f"\nrests on: {windows}\n" in said


def test_without_seconds_the_reason_and_the_command_are_printed(capsys):
    said = run(capsys, BLIND, "--model", "linux-5.10").out
    assert "forecast: no predicted seconds: the cost of the disk is unknown" in said
    assert "seconds  band" not in said
    assert f"&& foreread forecast {BLIND} --model linux-5.10 --device-model loop1.toml" in said


def test_an_unknown_kernel_is_doubtful(capsys):
    said = run(capsys, NEW, "--model", "linux-99.1").out
    assert "  doubt: Linux 99.1 is newer than the newest kernel" in said


def test_a_kernel_without_rules_is_an_error_with_its_remedy(capsys):
    said = run(capsys, NEW, "--model", "linux-2.4", code=1).err
    assert said.count("\n") == 1
    assert said.endswith("-- choose a model from linux-2.6.11 on\n")


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "linux"],
        ["--model", "fixed"],
        ["--model", "6.12"],
        [],
        ["--model", "linux-6.12", "--read-ahead-kb-now", "-1"],
        ["--model", "linux-6.12", "--read-ahead-kb-then", "4k"],
    ],
    ids=" ".join,
)
def test_wrong_usage(capsys, words):
    with pytest.raises(SystemExit) as caught:
        main(["forecast", NEW, *words])
    assert caught.value.code == 2
    assert "usage: foreread forecast" in capsys.readouterr().err
