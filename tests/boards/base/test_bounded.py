"""Bounded reads: a regular file of at most so many bytes, and nothing that waits."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import left_s

from foreread.boards.base.bounded import UnboundedError, open_regular, read_bounded


@pytest.mark.parametrize("size", [0, 1, 9, 10])
def test_a_file_up_to_the_bound_is_read(tmp_path, size):
    file = tmp_path / "file"
    file.write_bytes(b"x" * size)
    assert read_bounded(file, 10, "shorten it") == b"x" * size


@pytest.mark.parametrize("size", [11, 1 << 40])
def test_a_larger_file_is_refused_with_the_given_remedy(tmp_path, size):
    file = tmp_path / "file"
    file.touch()
    os.truncate(file, size)
    with pytest.raises(UnboundedError, match=r"file is larger than the 10 bytes") as error:
        read_bounded(file, 10, "shorten it")
    assert error.value.remedy == "shorten it"


def test_the_bytes_are_counted_where_the_stated_size_is_zero():
    assert Path("/proc/self/status").stat().st_size == 0
    assert read_bounded("/proc/self/status", 1 << 20, "").startswith(b"Name:")
    with pytest.raises(UnboundedError, match="larger than the 10 bytes"):
        read_bounded("/proc/self/status", 10, "")


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UnboundedError, match="pipe, socket or device, not a regular file"):
        read_bounded(pipe, 10, "")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/tty", "/dev/null"])
def test_a_device_is_refused(path):
    with pytest.raises(UnboundedError, match="pipe, socket or device"):
        read_bounded(path, 10, "")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(UnboundedError, match="is a directory"):
        open_regular(tmp_path)


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "none", 10, "")


def test_a_regular_file_that_waits_for_more_raises_instead():
    """/proc/kmsg is a regular file by its mode, and its reader waits for the next message."""
    code = (
        "from foreread.boards.base.bounded import read_bounded\n"
        "try: read_bounded('/proc/kmsg', 1 << 26, '')\n"
        "except (OSError, ValueError) as error: print(type(error).__name__, error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=left_s(), check=True
    )
    # Without rights to the kernel's log it cannot be opened at all.
    kind, _, message = run.stdout.strip().partition(" ")
    assert kind in ("UnboundedError", "PermissionError")
    assert "/proc/kmsg" in message


@pytest.mark.parametrize("read", [lambda file: file.read(10), lambda file: file.read()])
def test_a_read_that_would_wait_names_the_file(tmp_path, read):
    """A pipe in place of the regular file that was checked, since its reads wait for sure."""
    file = tmp_path / "file"
    file.touch()
    with open_regular(file) as opened, contextlib.ExitStack() as ends:
        for end in (pipe := os.pipe2(os.O_NONBLOCK)):
            ends.callback(os.close, end)
        os.dup2(pipe[0], opened.fileno())
        with pytest.raises(UnboundedError, match=r"file waits for more instead of ending"):
            read(opened)
        with pytest.raises(UnboundedError, match=r"file waits for more instead of ending"):
            opened.readinto(bytearray(10))
