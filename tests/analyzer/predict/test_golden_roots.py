"""Starts recorded on squashfs, btrfs, EROFS and f2fs, against what the kernel read at 128 KiB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden_pages import within

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.linux import predict_linux
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate

DATA = Path(__file__).parents[2] / "foreread/data"
WINDOW_KB = 128


def capture(name):
    return load(DATA / f"{name}/{name}.capture.tar.xz")


@pytest.mark.parametrize(
    "name", ["squashfs-madplay", "erofs-madplay", "btrfs-madplay", "f2fs-madplay"]
)
def test_pages_at_another_window_are_those_that_the_kernel_brought_in(name):
    recording = capture(name)
    version = version_of(recording.kernel)
    taken = inputs(recording, version)
    window = WINDOW_KB * 1024 // recording.page_size
    outcome = emulate(taken.program, rules_for(version), window, taken.machine(0)[0])
    inodes = recording.files["ino"].tolist()
    predicted = within(recording, ((inodes[row], *folio[:2]) for row, *folio in outcome.inserts))
    golden = json.loads((DATA / name / f"{name}.pages-128k.json").read_text())
    assert predicted == golden
    before = recording.accesses.rows
    assert sum(count for runs in golden.values() for _, count in runs) > before


def test_the_ends_of_files_in_uncompressed_erofs_need_no_request():
    """The kernel sent 46 requests of file data at 128 KiB, for 54 reads of the page cache."""
    found = predict_linux(capture("erofs-madplay"), windows=[32])
    assert found.total.f == [46]


def test_a_start_from_compressed_erofs_is_to_be_measured():
    found = predict_linux(capture("erofs-lz4-madplay"))
    assert found.verdict.action == "measure"
    assert "compressed clusters" in found.verdict.why
    assert found.verdict.remedy.startswith("foreread sweep --target")
