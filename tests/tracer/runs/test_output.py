"""Where a recording goes: a folder or an archive, whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from os.path import commonpath
from pathlib import Path

import pytest
from capture_builder import capture_of

from foreread.boards.base.scratch import prefix
from foreread.boards.error import BoardsError
from foreread.recording.boot import record_boot
from foreread.recording.start import record
from foreread.tracer.error import RecordError
from foreread.tracer.formats import capture as capture_files
from foreread.tracer.formats import packing
from foreread.tracer.formats.archive import is_archive, unpack
from foreread.tracer.formats.capture import CaptureError
from foreread.tracer.runs.output import check_capture, output_directory, recording_folder

ARCHIVES = ["a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tbz2", "a.tar.xz", "a.TXZ"]
OTHERS = ["a.tar.zst", "a.zip", "a.7z", "a.tar.lz4", "a.xz", "a.gz", "a.tar.Z", "a.tzst"]


def recorded(folder):
    """Write a capture as a recorder does: some of it after the folder was complete."""
    with output_directory(folder):
        (folder / "trace/trace.dat").write_bytes(bytes(5000))
        capture_files.write(folder, capture_of(), [])
    (folder / "disk.json").write_text("null")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_suffix_makes_an_archive_that_can_be_read(name, tmp_path):
    with recording_folder(tmp_path / "new" / name) as folder:
        recorded(folder)
        assert not (tmp_path / "new" / name).exists()
    assert names(tmp_path / "new") == [name]
    assert is_archive(tmp_path / "new" / name)
    unpack(tmp_path / "new" / name, tmp_path / "to")
    assert names(tmp_path / "to/a") == ["capture.json", "disk.json", "files.json", "trace"]
    assert capture_files.read_files(tmp_path / "to/a/files.json") == []
    with tarfile.open(tmp_path / "new" / name) as file:
        assert {(member.uid, member.uname) for member in file} == {(0, "")}


@pytest.mark.parametrize("name", ["a", "app.capture", "tar", "a.tarred", "xz"])
def test_any_other_name_is_a_folder(name, tmp_path):
    with recording_folder(tmp_path / name) as folder:
        assert folder == tmp_path / name
        recorded(folder)
    assert "capture.json" in names(tmp_path / name)


@pytest.mark.parametrize("name", OTHERS)
def test_an_archive_that_is_not_written_is_refused_before_the_run(name, tmp_path):
    for use in (
        lambda: check_capture(tmp_path / name),
        lambda: record(["touch", str(tmp_path / "ran")], tmp_path / name),
        lambda: record_boot(tmp_path / name, target="ssh://root@nowhere.invalid"),
    ):
        with pytest.raises(CaptureError, match="foreread writes no ") as error:
            use()
        assert error.value.remedy.endswith("such as a.tar.xz, or a folder, such as a")
    assert names(tmp_path) == []


def test_what_exists_is_not_replaced(tmp_path):
    (tmp_path / "a.tar.xz").write_text("mine")
    (tmp_path / "file").touch()
    for name in ("a.tar.xz", "file/a.tar"):
        with pytest.raises(BoardsError):
            check_capture(tmp_path / name)
    assert (tmp_path / "a.tar.xz").read_text() == "mine"


def test_a_run_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), recording_folder(tmp_path / "a.tar.xz") as folder:
        recorded(folder)
        _ = 1 / 0
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_recording_is_kept_where_packing_fails(error, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(packing.tarfile.TarFile, "add", fail)
    with (
        pytest.raises(
            RecordError, match=r"a\.tar\.xz was not written \((No space|KeyboardInterrupt)"
        ),
        recording_folder(tmp_path / "a.tar.xz") as folder,
    ):
        recorded(folder)
    assert names(tmp_path) == ["a"]
    assert "capture.json" in names(tmp_path / "a")


def test_the_folder_of_a_killed_recorder_is_removed_by_the_next_one(tmp_path):
    name = f"{str(tmp_path)!r} + '/' + prefix('capture')"
    code = f"from foreread.boards.base.scratch import prefix; print({name})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    left = Path(done.stdout.strip() + "01234567_x")
    (left / "a/trace").mkdir(parents=True)
    mine = tmp_path / f"{prefix('capture')}01234567_x"
    mine.mkdir()
    with recording_folder(tmp_path / "b.tar") as folder:
        recorded(folder)
    assert names(tmp_path) == ["b.tar", mine.name]


@pytest.mark.skipif(not shutil.which("tar"), reason="this machine has no tar")
def test_tar_lists_it(tmp_path):
    with recording_folder(tmp_path / "a.tar.gz") as folder:
        recorded(folder)
    words = ["tar", "-tzf", str(tmp_path / "a.tar.gz")]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert "a/trace/trace.dat" in listed and commonpath(listed) == "a"
