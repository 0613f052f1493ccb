"""Which file a command is, before it runs. tests/kernel/test_record.py runs commands."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from foreread.tracer.error import RecordError
from foreread.tracer.runs.options import find_executable


def test_a_program_is_found_in_path_and_below_the_working_directory(tmp_path):
    (tmp_path / "program").touch(mode=0o755)
    assert find_executable("./program", tmp_path) == tmp_path / "program"
    assert find_executable("sh", tmp_path).name == "sh"


def test_what_is_not_a_program_is_refused_with_the_remedy_for_it(tmp_path):
    with contextlib.chdir(tmp_path):  # a socket's path has at most 107 bytes
        listening = socket.socket(socket.AF_UNIX)
        listening.bind("socket")
    Path(tmp_path / "socket").chmod(0o755)
    Path(tmp_path / "text").touch(mode=0o644)
    with listening:
        for name, message, remedy in (
            ("none", "does not exist", "spelling"),
            ("./none", "does not exist", "spelling"),
            ("./text", "cannot be executed", "chmod"),
            ("./socket", "is not a file", "program"),
            ("./", "is not a file", "program"),
        ):
            with pytest.raises(RecordError, match=f"{name}' {message}") as error:
                find_executable(name, tmp_path)
            assert remedy in error.value.remedy
