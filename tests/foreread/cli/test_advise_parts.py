"""``foreread advise --boards``: the table of storage parts, its JSON, and what it refuses."""

from pathlib import Path

import pytest
from json_outputs import validator

from foreread.analyzer.advise.situation import AdviceError

DATA = Path(__file__).parents[1] / "data/suite"
MADPLAY = DATA / "x86_64-madplay-1.capture.tar.xz"
BLIND = DATA.parent / "no-completions/no-completions.capture.tar.xz"
SUITE = DATA / "one-board.toml"
MODEL = 'kind = "fixed"\nlatency_us = 200\nns_per_kib = 9000\n'


@pytest.fixture
def disk(tmp_path):
    """A calibrated disk whose file name and source have escapes."""
    file = tmp_path / "my\x1b[31mdisk.toml"
    file.write_text(MODEL + 'source = "a \\u001b[31mcard"\n')
    return file


@pytest.mark.thorough
def test_the_columns_of_a_part_are_those_of_predict(run_json, disk):
    table = run_json("advise", MADPLAY, "--boards", "emmc", "--device-model", disk)
    validator("advise").validate(table)
    (start,) = table["starts"]
    for part in ("emmc", str(disk)):
        (row,) = (row for row in start["rows"] if row["part"] == part)
        prediction = run_json("predict", MADPLAY, "--device-model", part)
        total = prediction["total"]
        assert row["read_ahead_kb"] == prediction["verdict"]["read_ahead_kb"]
        for name, kib in (("seconds_now", start["read_ahead_kb_now"]), ("seconds", None)):
            at = total["read_ahead_kb"].index(row["read_ahead_kb"] if kib is None else kib)
            assert row[name] == total["seconds"][at]
            assert row[f"{name}_low"] == total["seconds_low"][at]
            assert row[f"{name}_high"] == total["seconds_high"][at]


def test_the_text_has_answer_limit_parts_and_sources_without_escapes(run, disk):
    said = run("advise", MADPLAY, "--boards", f"throttled,{disk}", "--within", 9).out
    first, worth, limit, *_ = said.splitlines()
    name = str(disk).replace("\x1b", "\\x1b")
    assert first.startswith(f"{MADPLAY}: ")
    assert "on the recorded disk" in first
    assert "on the recorded disk" in worth
    assert limit == f"slowest part that keeps every start within 9 s: {name}"
    assert "\nthrottled: no predicted seconds: " in said
    assert "assumed  a \\x1b[31mcard" in said
    assert "\x1b" not in said


def test_without_names_every_part_of_the_library_is_compared(run, monkeypatch):
    compared = []

    def on_parts(_starts, parts, *_):
        compared.extend(part.name for part in parts)
        raise AdviceError("compared", "")

    monkeypatch.setattr("foreread.cli.commands.advise.on_parts", on_parts)
    run("advise", MADPLAY, "--boards", "--board", "arm64-16k", code=1)
    assert {"nvme", "emmc", "loop", "arm64"} < set(compared)
    assert compared[-1] == "arm64-16k"


def test_each_capture_is_a_start_and_reasons_that_parts_share_are_printed_once(run):
    said = run("advise", BLIND, MADPLAY, MADPLAY, "--boards", "emmc").out
    assert said.count(f"\n{MADPLAY} (128 KiB now)") == 2
    assert said.startswith(f"{BLIND}: no predicted seconds: ")
    assert "\nthe recorded disk, emmc: no predicted seconds: " in said
    assert said.count("  run: foreread record ") == 1


@pytest.mark.thorough
def test_a_suite_has_its_starts(run_json):
    table = run_json("advise", SUITE, "--boards", "emmc")
    validator("advise").validate(table)
    assert [(start["name"], start["captures"]) for start in table["starts"]] == [
        ("arm64/python", 1),
        ("arm64/perl", 1),
        ("arm64/madplay", 2),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("--within", "1"),
        ("--boards", "emmc", "--within", "0"),
        ("--boards", "emmc", "--within", "nan"),
        ("--boards", "emmc", "--row", "1"),
        ("--boards", "emmc", "-o", "advice"),
        ("--boards", "emmc", "--load", "reader"),
        ("--boards", "emmc", "--memory", "24M"),
        ("--boards", "emmc", "--mountpoint", "/"),
        ("--boards", "emmc", SUITE),
    ],
)
def test_wrong_usage_is_refused(run, words):
    assert "--" in run("advise", MADPLAY, *words, code=2).err


def test_an_unknown_part_is_an_error_with_the_parts_to_type(run):
    said = run("advise", MADPLAY, "--boards", "emmc,n\x1bvme", code=1).err
    assert "no storage part is called 'n\\x1bvme'" in said
    assert "choose from nvme, emmc," in said
    assert "foreread calibrate -o FILE DEVICE" in said


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('kind = "fixed"\nlatency_us = -1\nns_per_kib = 1\n', "latency_us"),
        ('kind = "fixed"\nlatency_us = nan\nns_per_kib = 1\n', "latency_us"),
        ('kind = "tape"\n', "tape"),
        (MODEL + "price = 3\n", "price"),
        ("not TOML", "Expected"),
    ],
)
def test_a_bad_device_model_is_an_error_that_names_the_file(run, tmp_path, text, reason):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    said = run("advise", MADPLAY, "--boards", file, code=1).err
    assert str(file) in said
    assert reason in said
