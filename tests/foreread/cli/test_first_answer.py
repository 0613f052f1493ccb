"""The first answer of a new user: the README's own example, recorded on an emulated board."""

import json
from pathlib import Path

import pytest

from foreread.cli.main import main

DATA = Path(__file__).parents[1] / "data/arm64-madplay"
CAPTURE = DATA / "arm64-madplay.capture.tar.xz"
SWEEP = DATA / "arm64-madplay.sweep.json"


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def test_with_an_unknown_disk_the_answer_is_the_command_that_makes_it_known(capsys, tmp_path):
    verdict = run(capsys, "predict", "--json", CAPTURE)["verdict"]
    assert (verdict["action"], verdict["read_ahead_kb"]) == ("measure", None)
    assert verdict["remedy"] == f"foreread predict {CAPTURE} --device-model arm64"
    _, *words = verdict["remedy"].split()
    assert run(capsys, *words, "--json")["verdict"]["by"] == "seconds"
    assert main(["script", str(CAPTURE), "-o", str(tmp_path / "boot")]) == 1
    assert verdict["remedy"] in capsys.readouterr().err


def test_with_a_known_disk_the_window_is_as_fast_as_the_best_measured(capsys):
    found = run(
        capsys, "predict", "--json", "--device-model", "arm64", CAPTURE, "--measured", SWEEP
    )
    assert found["regret_proposed"] == pytest.approx(0, abs=0.02)
    assert found["regret_quasi_optimal"] > 0.5  # 4 KiB
    assert found["quasi_optimal_read_ahead_kb"] == 4


def test_the_published_answer_is_given_on_request(capsys, tmp_path):
    words = ("--criterion", "published", "--json", CAPTURE)
    verdict = run(capsys, "predict", *words)["verdict"]
    assert (verdict["action"], verdict["read_ahead_kb"], verdict["by"]) == ("set", 4, "criterion")
    written = run(capsys, "script", *words, "-o", tmp_path / "boot")
    assert [setting["value"] for setting in written["settings"]] == ["4"]
