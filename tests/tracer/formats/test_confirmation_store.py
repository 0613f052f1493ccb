"""Results stored in captures: folders and archives, crashes, and what anybody may have written."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import msgspec
import pytest
from rings import further

from foreread.analyzer.confirm.sequential import assess
from foreread.analyzer.confirm.text import cited, contradicting, stored
from foreread.analyzer.ingest.archive import unpack
from foreread.analyzer.ingest.load import load_any
from foreread.tracer.formats.capture import CaptureError, read
from foreread.tracer.formats.confirmation import Confirmation
from foreread.tracer.formats.confirmation_store import change_stored, check_storable

EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
PAIRS = [(1.01, 0.92), (1.02, 0.93), (1.0, 0.921), (1.03, 0.93)]


def result(pairs=PAIRS, **other):
    found = assess(pairs)
    fields = {
        "created": "2026-11-22T10:00:00+00:00",
        "kernel": "6.1.0",
        "machine": "armv7l",
        "model": "Some Board",
        "disks": ["sda"],
        "present_kb": 128,
        "proposed_kb": 64,
        "outcome": found.outcome,
        "gain": found.gain,
        "low": found.low,
        "high": found.high,
        "pairs": pairs,
    }
    return Confirmation(**{**fields, **other})


@pytest.fixture
def folder(tmp_path):
    return unpack(EXAMPLE, tmp_path)


def kept(capture):
    return load_any(capture).capture.confirmations


def test_several_results_are_kept_in_a_folder(folder):
    before = read(folder)
    for kernel in ("6.1.0", "6.2.0"):
        change_stored(folder, lambda all_, k=kernel: [*all_, result(kernel=k)])
    after = read(folder)
    assert [one.kernel for one in after[0].confirmations] == ["6.1.0", "6.2.0"]
    assert msgspec.structs.replace(after[0], confirmations=[]) == before[0]
    names = ["capture.json", "disk.json", "files.json", "trace"]
    assert sorted(path.name for path in folder.iterdir()) == names


@pytest.mark.parametrize("kind", further(["tar", "tar.gz", "tar.xz"]))
def test_they_are_kept_in_an_archive_with_all_else(folder, tmp_path, kind):
    archive = tmp_path / f"one.{kind}"
    mode = {"tar": "w", "tar.gz": "w:gz", "tar.xz": "w:xz"}[kind]
    with tarfile.open(archive, mode) as tar:
        tar.add(folder, "one")
    change_stored(archive, lambda _: [result()])
    assert kept(archive) == [result()]
    assert archive.read_bytes()[:2] == {"tar.gz": b"\x1f\x8b", "tar.xz": b"\xfd7"}.get(
        kind, archive.read_bytes()[:2]
    )
    (tmp_path / "unpacked").mkdir()
    unpack(archive, tmp_path / "unpacked")
    for path in folder.rglob("*"):
        other = tmp_path / "unpacked/one" / path.relative_to(folder)
        if path.is_file() and path.name != "capture.json":
            assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("archived", further([False, True]))
def test_the_check_before_a_run_leaves_the_capture_as_it_is(folder, tmp_path, archived):
    capture = folder
    if archived:
        capture = tmp_path / "one.tar.xz"
        with tarfile.open(capture, "w:xz", preset=0) as tar:  # not as foreread compresses
            tar.add(folder, "one")
    file = capture if archived else capture / "capture.json"
    before = file.read_bytes(), file.stat().st_ino, sorted(file.parent.iterdir())
    check_storable(capture)
    assert (file.read_bytes(), file.stat().st_ino, sorted(file.parent.iterdir())) == before


def test_the_check_before_a_run_refuses_what_cannot_hold_a_result(tmp_path):
    (tmp_path / "capture").mkdir()
    (tmp_path / "capture/capture.json").write_text("[]")
    with pytest.raises(CaptureError, match="no object"):
        check_storable(tmp_path / "capture")


def test_data_of_a_newer_foreread_are_kept(folder):
    metadata = folder / "capture.json"
    document = json.loads(metadata.read_text()) | {"of_tomorrow": [1, 2]}
    metadata.write_text(json.dumps(document))
    change_stored(folder, lambda _: [result()])
    assert json.loads(metadata.read_text())["of_tomorrow"] == [1, 2]


def test_a_crash_leaves_the_old_metadata(folder, monkeypatch):
    before = (folder / "capture.json").read_bytes()

    def crash(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        change_stored(folder, lambda _: [result()])
    assert (folder / "capture.json").read_bytes() == before
    assert not (folder / "capture.json.part").exists()


HOSTILE = [
    "x",
    [{"outcome": "confirmed"}],
    [{**msgspec.to_builtins(result()), "outcome": "proven"}],
    [{**msgspec.to_builtins(result()), "pairs": [[1.0, float("nan")]]}],
    [{**msgspec.to_builtins(result()), "pairs": [[1.0, -1.0]]}],
    [{**msgspec.to_builtins(result()), "gain": float("inf")}],
    [{**msgspec.to_builtins(result()), "present_kb": -4}],
    [{**msgspec.to_builtins(result()), "kernel": "x" * 5000}],
    [{**msgspec.to_builtins(result()), "disks": {}}],
]


@pytest.mark.parametrize("entry", HOSTILE)
def test_an_invalid_stored_result_is_a_clear_error(folder, entry):
    metadata = folder / "capture.json"
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "confirmations": entry}))
    for use in (read, lambda path: change_stored(path, lambda all_: all_)):
        with pytest.raises(CaptureError) as error:
            use(folder)
        assert error.value.remedy


def test_a_result_that_its_runs_do_not_show_is_not_cited(folder):
    forged = result([(1.0, 1.2), (1.0, 1.21), (1.0, 1.19)], outcome="confirmed", gain=0.5)
    change_stored(folder, lambda _: [forged, result()])
    assert stored(read(folder)[0]) == [result()]


def test_the_latest_decided_result_about_a_window_counts():
    slower = result([(1.0, 1.1), (1.01, 1.11), (1.0, 1.09), (1.0, 1.1)])
    undecided = result([(1.0, 0.9)])
    assert slower.outcome == "contradicted"

    class Capture:
        confirmations = (result(), slower, undecided)

    assert contradicting(Capture, 64) == slower
    assert contradicting(Capture, 32) is None
    Capture.confirmations = (slower, result())
    assert contradicting(Capture, 64) is None
    assert "takes 9" in cited(slower) or "takes 10" in cited(slower)


def test_a_file_that_is_not_a_capture_of_ours_stays_as_it_is(tmp_path):
    for name, content in (("perf.data", b"PERFILE2" + bytes(200)), ("empty.tar", bytes(10240))):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CaptureError):
            change_stored(path, lambda _: [result()])
        assert path.read_bytes() == content
