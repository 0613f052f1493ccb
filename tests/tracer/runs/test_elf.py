from __future__ import annotations

import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.tracer.runs.elf import segments_of
from foreread.tracer.runs.extents import open_regular

CODE, DATA = (4096, 5000, True, False), (12288, 100, False, True)


def elf(word, order, segments):
    """Return an ELF file with PT_LOAD headers (position, length, executable, writable)."""
    head = bytearray(64)
    head[:6] = b"\x7fELF" + bytes([word // 32, 1 if order == "<" else 2])
    struct.pack_into(order + ("Q" if word == 64 else "I"), head, 32 if word == 64 else 28, 64)
    size = 56 if word == 64 else 32
    struct.pack_into(order + "HH", head, 54 if word == 64 else 42, size, len(segments) + 1)
    table = bytearray(size)  # PT_NULL
    for at, length, executable, writable in segments:
        flags = 4 | executable | writable << 1
        if word == 64:
            row = struct.pack(order + "IIQQQQQQ", 1, flags, at, at, at, length, length, 4096)
        else:
            row = struct.pack(order + "IIIIIIII", 1, at, at, at, length, length, flags, 4096)
        table += row
    return bytes(head + table)


def segments(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with open_regular(str(path)) as descriptor:
        return segments_of(descriptor)


@pytest.mark.parametrize("word", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_mapped_parts_of_all_kinds_of_programs(tmp_path, word, order):
    assert segments(tmp_path, elf(word, order, [CODE, DATA])) == [CODE, DATA]


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n" * 20, b"\0" * 200])
def test_other_files_have_none(tmp_path, content):
    assert segments(tmp_path, content) == []


@given(content=st.binary(max_size=300), cut=st.integers(0, 200))
def test_damaged_files_do_no_harm(tmp_path_factory, content, cut):
    whole = elf(64, "<", [CODE, DATA])
    for damaged in (whole[:cut] + content, b"\x7fELF" + content):
        for at, length, *_ in segments(tmp_path_factory.getbasetemp(), damaged):
            assert at >= 0 and length > 0


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("pipe", "link", "missing"):
        with pytest.raises(OSError), open_regular(str(tmp_path / name)):
            pass
