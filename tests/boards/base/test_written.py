"""Whole writes: an earlier file stays until the new one is complete."""

import errno
import os
import resource
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from foreread.boards.base.written import write_whole


def test_a_new_file_has_its_content_and_the_usual_permissions(tmp_path):
    write_whole(tmp_path / "file", b"content")
    (tmp_path / "usual").touch()
    assert (tmp_path / "file").read_bytes() == b"content"
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert len(list(tmp_path.iterdir())) == 2


def test_an_earlier_file_keeps_its_permissions_unless_others_are_given(tmp_path):
    file = tmp_path / "file"
    file.touch(mode=0o640)
    write_whole(file, b"new")
    assert file.stat().st_mode & 0o777 == 0o640
    write_whole(file, b"newer", 0o755)
    assert file.stat().st_mode & 0o777 == 0o755
    assert file.read_bytes() == b"newer"


def test_a_link_stays_and_its_file_is_written(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"


@pytest.mark.parametrize("earlier", [None, b"earlier"])
def test_a_write_that_is_cut_off_leaves_what_was_there(tmp_path, earlier):
    """The limit of a file's size fails in the middle of a write, as a full disk does."""
    file = tmp_path / "file"
    if earlier is not None:
        file.write_bytes(earlier)
    code = (
        "import sys; from foreread.boards.base.written import write_whole\n"
        "try: write_whole(sys.argv[1], bytes(10_000))\n"
        "except OSError as error: print(error.errno, error.filename)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, file],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )
    assert done.stdout == f"{errno.EFBIG} {file}\n"
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([earlier] if earlier else [])


def test_a_full_device_is_an_error_that_names_it():
    before = Path("/dev/full").stat().st_mode
    with pytest.raises(OSError, match="/dev/full") as error:
        write_whole("/dev/full", b"content", 0o755)
    assert error.value.errno == errno.ENOSPC
    assert Path("/dev/full").stat().st_mode == before


def test_a_pipe_without_a_reader_is_an_error_and_one_with_a_reader_is_written(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe") as error:
        write_whole(pipe, b"content")
    assert error.value.errno == errno.ENXIO
    content = bytes(range(256)) * 1000  # more than a pipe holds
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    with os.fdopen(reader, "rb") as read:
        writer = threading.Thread(target=write_whole, args=(pipe, content))
        writer.start()
        select.select([read], [], [])  # a pipe that nobody has opened yet reads as empty
        assert read.read() == content
        writer.join()
    assert pipe.is_fifo()


def test_a_loop_of_links_a_folder_and_a_missing_folder_are_errors(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for name in ("loop", "", "missing/file"):
        with pytest.raises(OSError, match=str(tmp_path / name)):
            write_whole(tmp_path / name, b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["loop"]
