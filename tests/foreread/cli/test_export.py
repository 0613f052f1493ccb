"""``foreread export``: text, JSON and exit codes."""

import json
from pathlib import Path

import pytest
from rings import further

from foreread.cli.main import main

ROOT = Path(__file__).parents[3]
CAPTURE = str(ROOT / "examples/python-start/python-start.capture.tar.xz")


def test_the_text_counts_what_each_run_has(tmp_path, run):
    out = tmp_path / "start.json"
    words = ["export", CAPTURE, "--format", "chrome", "--window", "128", "-o", str(out)]
    said = run(*words).out.splitlines()
    assert said[0] == f"wrote {out} (chrome)"
    assert said[2].split() == ["accesses", "requests", "unused", "pages", "waits", "run"]
    assert said[3].endswith("recorded run")
    assert said[4].endswith("emulated at 128 KiB, Linux 6.18.44")
    assert json.loads(out.read_text())["traceEvents"]


@pytest.mark.parametrize("form", further(["perfetto", "parquet", "csv", "trace-dat"]))
def test_json_is_one_document(tmp_path, capsys, form):
    out = tmp_path / "start"
    assert main(["export", CAPTURE, "--format", form, "-o", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["file"], document["format"]) == (str(out), form)
    assert [run["read_ahead_kb"] for run in document["runs"]] == [0]
    assert out.stat().st_size > 100_000


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "xml", "-o", "out"],
        ["--format", "csv"],
        ["-o", "out"],
        ["--format", "csv", "-o", "out", "--window", "-1"],
        ["--format", "csv", "-o", "out", "--model", "fixed"],
    ],
)
def test_wrong_usage_is_refused(words, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("export", CAPTURE, *words, code=2)
    assert not list(tmp_path.iterdir())


def test_a_window_that_is_not_whole_pages_is_wrong_usage(run, tmp_path):
    words = ["export", CAPTURE, "--format", "csv", "-o", str(tmp_path / "out"), "--window", "3"]
    assert "give 0 or 4 KiB" in run(*words, code=2).err
