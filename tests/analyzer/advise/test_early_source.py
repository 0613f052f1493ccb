"""The C source that reads the ranges of a file: it compiles, and names do no harm in it."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from foreread.analyzer.advise.early_source import names_of, source_of

RANGES = [(8192, 12288), (65536, 4096)]


def compiled(folder, path, call, most=8192):
    source = folder / "early.c"
    source.write_bytes(source_of(str(path), RANGES, call, most))
    library = folder / "early.so"
    words = ["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source]
    subprocess.run(words, check=True)
    return getattr(ctypes.CDLL(str(library)), names_of(str(path))[1])


def open_files():
    return [*Path("/proc/self/fd").iterdir()]


@pytest.mark.parametrize("call", ["WILLNEED", "POPULATE"])
def test_it_compiles_without_warnings_and_runs(call, tmp_path):
    read = tmp_path / 'a "file" with */ and \\ and ??/.so'.replace("/", "_")
    read.write_bytes(bytes(1 << 17))
    function, before = compiled(tmp_path, read, call), open_files()
    function()
    assert open_files() == before


def test_a_missing_file_does_no_harm(tmp_path):
    assert not (tmp_path / "gone.so").exists()
    function = compiled(tmp_path, tmp_path / "gone.so", "WILLNEED")
    before = open_files()
    function()
    assert open_files() == before


def test_every_range_is_listed():
    text = source_of("/a", RANGES, "WILLNEED", 4096).decode()
    listed = re.findall(r"\{ (\d+), (\d+) \}", text)
    assert [(int(at), int(length)) for at, length in listed] == RANGES


def test_hostile_names_end_neither_the_comment_nor_the_string():
    text = source_of('/a/*/"\n#include "b\udcff', RANGES, "WILLNEED", 4096).decode()
    assert re.search(r'path\[\] = "([^"]*)"', text)[1] == (r"/a/\052/\042\012\043include \042b\377")
    assert text.count("*/") == 2
    assert text.count("#include") == 4


def test_names_are_those_of_c():
    file, function = names_of("/usr/lib/libx-1.so.3")
    assert (file, function) == ("early-usr_lib_libx_1_so_3.c", "foreread_early_usr_lib_libx_1_so_3")
