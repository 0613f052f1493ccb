"""``foreread prefetch``, and its list in a boot script."""

import json
import random
import re
from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.doubts import start as doubts_of_starts
from foreread.analyzer.predict.doubts.doubt import Doubt
from foreread.analyzer.prefetch import Comparison, decode, find_ranges
from foreread.cli.main import main

CAPTURE = str(Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz")
CASES = ("neither ", "window ", "list  ", "both ")
BOARD = Path(__file__).parents[1] / "data/arm64-madplay/arm64-madplay.capture.tar.xz"


def run(capsys, *words):
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_the_list_has_the_documented_format(tmp_path, capsys):
    path = tmp_path / "list"
    document = json.loads(run(capsys, "prefetch", "--json", CAPTURE, "-o", path))
    listing = decode(path.read_bytes())
    assert document["schema"] == 1
    assert (document["ranges"], document["files"]) == (len(listing.ranges), listing.files)
    assert document["bytes"] == listing.size_bytes
    assert document["needed_bytes"] + document["wasted_bytes"] == document["bytes"]
    assert listing.kernel.startswith("6.18")
    assert "foreread-demo" in listing.capture


@pytest.mark.thorough
def test_a_device_says_which_gaps_are_read_over(tmp_path, capsys):
    model = tmp_path / "model.toml"
    model.write_text('kind = "fixed"\nlatency_us = 1000\nns_per_kib = 50000\n')
    words = ("prefetch", CAPTURE, "-o", tmp_path / "list", "--device-model", model)
    document = json.loads(run(capsys, *words, "--json"))
    assert document["gap_bytes"] == 20 << 10
    assert document["wasted_bytes"] > 0
    assert "gaps of up to 20 KiB" in run(capsys, *words, "--order", "disk")
    assert decode((tmp_path / "list").read_bytes()).order == "disk"


def test_the_four_cases(tmp_path, capsys):
    words = ("prefetch", BOARD, "-o", tmp_path / "list", "--device-model", "arm64")
    document = json.loads(run(capsys, *words, "--json"))
    neither, window, listed, both = document["cases"]
    assert [case["name"] for case in document["cases"]] == ["neither", "window", "list", "both"]
    assert neither["read_ahead_kb"] == listed["read_ahead_kb"] == 128
    assert window["read_ahead_kb"] == both["read_ahead_kb"] == 64
    assert listed["seconds"] < neither["seconds"]
    assert both["seconds"] < window["seconds"] < neither["seconds"]
    assert both["wasted_bytes"] < neither["wasted_bytes"]
    for case in (listed, both):
        assert case["read_bytes"] >= document["needed_bytes"]
    said = run(capsys, *words)
    assert "unused" in said
    rows = [line.split()[1] for line in said.splitlines() if line.startswith(CASES)]
    assert rows == ["128", "64", "128", "64"]


def test_without_usable_seconds_all_cases_have_the_present_window(tmp_path, monkeypatch, capsys):
    words = ("prefetch", "--json", BOARD, "-o", tmp_path / "list")
    unknown_disk = json.loads(run(capsys, *words))
    spoilt = Doubt("the replay is spoilt", unusable=True)
    monkeypatch.setattr(doubts_of_starts, "by_window", lambda *_: [spoilt])
    withdrawn = json.loads(run(capsys, *words, "--device-model", "arm64"))
    for document, why, remedy in (
        (unknown_disk, "the cost of the disk is unknown", f"{BOARD} --device-model arm64"),
        (withdrawn, "the replay is spoilt", "foreread record --target arm64"),
    ):
        assert {case["read_ahead_kb"] for case in document["cases"]} == {128}
        assert {case["seconds"] for case in document["cases"]} == {None}
        (note,) = [note for note in document["notes"] if "no window is proposed" in note]
        assert why in note
        assert remedy in note
        assert not any("doubt" in note for note in document["notes"])


@pytest.mark.thorough
def test_the_report_compares_the_published_window_only_when_asked_for(tmp_path, capsys, text_only):
    def windows(*options):
        run(capsys, "report", BOARD, *options, "-o", tmp_path)
        page = (tmp_path / "index.html").read_text()
        cells = re.findall(r">(?:list and )?proposed window</t[dh]>\s*<td[^>]*>([^<]+)<", page)
        return set(cells), json.loads((tmp_path / "report.json").read_text())["waste"]["window"]

    assert windows() == ({"128 KiB"}, 32)
    assert windows("--criterion", "published") == ({"4 KiB"}, 1)


@pytest.mark.thorough
def test_a_report_has_them(tmp_path, capsys, text_only):
    run(capsys, "report", CAPTURE, "-o", tmp_path)
    assert "Window against prefetch list" in (tmp_path / "index.html").read_text()
    words = ["report", CAPTURE, "--model", "fixed", "-o", str(tmp_path)]
    run(capsys, *words)
    assert "Window against prefetch list" not in (tmp_path / "index.html").read_text()
    assert main([*words, "--prefetch", "/nowhere"]) == 1


@pytest.mark.thorough
def test_a_boot_script_takes_the_list(tmp_path, capsys):
    path, out = tmp_path / "list", tmp_path / "boot"
    run(capsys, "prefetch", CAPTURE, "-o", path)
    script = ("script", CAPTURE, "--criterion", "published", "-o", out, "--prefetch", path)
    run(capsys, *script)
    assert (out / "foreread-prefetch.list").read_bytes() == path.read_bytes()
    assert (out / "foreread-prefetch").read_text().startswith("#!/bin/sh")
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    document = json.loads(run(capsys, *script, "--replayer", program, "--json"))
    assert (out / "foreread-prefetch").read_bytes() == b"\x7fELF"
    assert document["prefetch"] == {"list_bytes": path.stat().st_size}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--replayer", "x"], 2, "--prefetch"),
        (["--prefetch", "list"], 1, "list: line 2: "),
        (["--prefetch", "gone"], 1, "gone: No such file"),
    ],
)
def test_invalid_lists_are_refused(words, code, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("list").write_bytes(b"foreread-prefetch 1\n0 1 no\n")
    assert main(["script", CAPTURE, "-o", "out", *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["android", "rsinit", "nydus", "stargz", "soci"])
def test_lists_for_other_programs_name_the_same_files(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foreread.cli.commands.prefetch.compare", _compared())
    words = ("prefetch", CAPTURE, "-o", tmp_path / "list", "--format", name)
    document = json.loads(run(capsys, *words, "--json"))
    assert (document["format"], document["left_out"], document["state"]) == (name, [], None)
    content = (tmp_path / "list").read_bytes()
    assert b"bin/python3.11" in content
    if name == "rsinit":
        assert len(json.loads(content)["files"]) == document["files"]
    elif name in ("nydus", "stargz"):
        assert len(content.splitlines()) == document["files"]


def _compared():
    """Return compare with the prediction left out, which takes seconds."""

    def compared(recording, order, device_model, only=()):
        return Comparison(find_ranges(recording, order, 0, only), (), ())

    return compared


def test_a_list_can_be_of_some_files_alone(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foreread.cli.commands.prefetch.compare", _compared())
    path = tmp_path / "list"
    run(capsys, "prefetch", CAPTURE, "-o", path)
    every = {one.path for one in decode(path.read_bytes()).ranges}
    (python,) = [one for one in every if one.endswith("/bin/python3.11")]
    folder = python.removesuffix("/bin/python3.11") + "/lib/"
    run(capsys, "prefetch", CAPTURE, "-o", path, "--only", folder, "--only", python)
    some = {one.path for one in decode(path.read_bytes()).ranges}
    assert some == {one for one in every if one == python or one.startswith(folder)}
    assert main(["prefetch", CAPTURE, "-o", str(path), "--only", "/none"]) == 1
    assert "read no file below /none" in capsys.readouterr().err


@pytest.fixture
def build(tmp_path):
    """The files of the shipped capture, with made-up content, below a folder."""
    recording = load(CAPTURE)
    root = tmp_path / "root"
    sizes = recording.files["size_bytes"].tolist()
    for at, (path, size) in enumerate(zip(recording.paths, sizes, strict=True)):
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(random.Random(at).randbytes(size))
    return root


def test_a_list_that_is_no_longer_true_fails_the_check(build, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("foreread.cli.commands.prefetch.compare", _compared())
    path = tmp_path / "the.list"
    said = run(capsys, "prefetch", CAPTURE, "-o", path, "--root", build)
    assert "state of the listed pages: " in said
    check = ["prefetch", CAPTURE, "--check", str(path), "--root", str(build)]
    assert json.loads(run(capsys, *check, "--json"))["passed"]
    files = [one for one in build.rglob("*") if one.is_file()]
    largest = max(files, key=lambda one: one.stat().st_size)
    largest.write_bytes(b"new" * 1000 + largest.read_bytes())
    assert main(check) == 1
    said = capsys.readouterr().out
    assert "the list has lost " in said
    assert "record the start on this build" in said
    assert run(capsys, *check, "--limit", "100")


def test_a_check_needs_the_build_and_a_list(tmp_path, capsys):
    assert main(["prefetch", CAPTURE, "--check", str(tmp_path / "list")]) == 2
    assert "add --root DIR" in capsys.readouterr().err
    words = ["prefetch", CAPTURE, "--check", str(tmp_path / "gone"), "--root", str(tmp_path)]
    assert main(words) == 1
    assert "gone" in capsys.readouterr().err
