"""``foreread doctor --judge``: options, texts and documents. tests/kernel/test_judge.py judges."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from json_outputs import check
from judgements import judged_of

from foreread.boards.profile import read_profile
from foreread.cli.commands import doctor
from foreread.cli.main import main
from foreread.judging.judge import Judgement

PROFILE = 'schema = 1\nname = "mine"\ntitle = "Mine"\nmeasured_here = true\n'
DIFFERENCE = 'program "reads backwards", window 32 KiB, step 3: …'


@pytest.fixture
def judged(monkeypatch):
    """What a judgement would return, for a test to change; and how it was asked for."""
    made = Judgement(
        kernel=judged_of(),
        mountpoint="/data",
        disk="mmcblk0",
        stored=Path("/state/judged-kernels.json"),
        folios=16_899,
        requests=5_670,
        merged=3,
        uncompared=0,
        repeated=0,
        seconds=71.4,
        difference=None,
        unjudged=("huge pages",),
    )
    found = {"made": made, "asked": {}}

    def judge(**asked):
        found["asked"] = asked
        return found["made"]

    monkeypatch.setattr(doctor, "judge", judge)
    return found


def test_a_confirmed_kernel_is_said_with_its_figures(judged, run):
    words = ["doctor", "--judge", "--target", "ssh://root@board", "--folder", "/data"]
    words += ["--wait", "30"]
    text = run(*words).out
    assert "confirmed on this kernel" in text
    assert "all 16,899 folios as emulated" in text
    assert "all 5,670 requests as emulated; the disk's queue merged 3 of them" in text
    assert "43 programs on ext4 on mmcblk0 (/data), windows 0, 4, 128 KiB" in text
    assert "not judged: huge pages" in text
    assert (judged["asked"]["target"], judged["asked"]["folder"]) == ("ssh://root@board", "/data")
    assert judged["asked"]["wait_s"] == 30


def test_a_difference_is_said_and_is_a_failure(judged, run):
    kernel = judged_of(result="different", difference=DIFFERENCE)
    judged["made"] = replace(judged["made"], kernel=kernel, difference=object())
    text = run("doctor", "--judge", code=1).out
    assert f"first difference: {DIFFERENCE}" in text
    assert "foreread sweep -o SWEEP -- COMMAND" in text
    assert "all 16,899" not in text


def test_without_places_nothing_is_said_of_requests(judged, run):
    kernel = judged_of(requests_compared=False)
    judged["made"] = replace(judged["made"], kernel=kernel, requests=0)
    assert "requests" not in run("doctor", "--judge").out


def test_its_document_fits_the_schema(judged, run):
    text = run("doctor", "--judge", "--json").out
    check("doctor", text)
    found = json.loads(text)
    assert found["kernel"]["result"] == "confirmed"
    assert (found["folios"], found["disk"]) == (16_899, "mmcblk0")


def test_a_profile_takes_the_result(judged, capsys, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE)
    assert main(["doctor", "--judge", "--profile", str(path)]) == 0
    assert read_profile(path).kernel.judged == [judged_of()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--folder", "/x"], "for --judge"),
        (["--profile", "x.toml"], "for --judge"),
        (["--wait", "5"], "for --judge"),
        (["--judge", "--restore"], "two commands"),
        (["--judge", "--profile", "arm64"], "comes with foreread"),
    ],
)
def test_options_that_do_not_go_together_are_refused(judged, run, words, said):
    assert said in run("doctor", *words, code=2).err
    assert not judged["asked"]
