"""Lists for other replayers, read back by the rules of their own parsers."""

import json
import os
import zlib
from dataclasses import replace

import pytest
from capture_builder import capture_of, recording_of
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.prefetch import PrefetchError, find_ranges
from foreread.analyzer.prefetch.android import MAGIC, cbor
from foreread.analyzer.prefetch.formats import FORMATS, written
from foreread.analyzer.prefetch.listing import can_be_listed, decode

PAGE = 4096
ACCESSES = [(1, 5), (0, 9), (1, 6), (0, 2), (2, 0)]
SIZES = [40 * PAGE, 40 * PAGE, 100]
PATHS = ("/usr/lib/libc.so.6", "/usr/bin/app", "/etc/app.conf")


def recording(paths=PATHS, sizes=SIZES):
    found = recording_of(ACCESSES, sizes, paths=tuple(paths), entries=(None,) * len(paths))
    return replace(found, capture=capture_of(created="2026-01-31T12:00:00+00:00"))


def text(wanted, paths=PATHS, sizes=SIZES):
    one = recording(paths, sizes)
    return written(one, find_ranges(one), wanted)


def of_cbor(data, at=0):
    """Return the value that begins at a place, and where it ends; strict (RFC 8949, 3)."""
    major, short = data[at] >> 5, data[at] & 31
    at += 1
    number = short
    if short >= 24:
        size = {24: 1, 25: 2, 26: 4, 27: 8}[short]
        number = int.from_bytes(data[at : at + size], "big")
        at += size
        least = {1: 24, 2: 1 << 8, 4: 1 << 16, 8: 1 << 32}[size]
        assert number >= least, "not as short as possible"
    if major == 0:
        return number, at
    if major == 3:
        return data[at : at + number].decode(), at + number
    values = []
    for _ in range(number * (2 if major == 5 else 1)):
        value, at = of_cbor(data, at)
        values.append(value)
    if major == 5:
        return dict(zip(values[::2], values[1::2], strict=True)), at
    assert major == 4
    return values, at


def test_the_plain_format_is_the_list_itself():
    one = recording()
    assert decode(written(one, find_ranges(one), "foreread").content).ranges == (
        find_ranges(one).listing.ranges
    )


def test_rsinit_has_blocks_of_4096_bytes_that_refer_to_files():
    """As readahead_load does: file by index, and posix_fadvise of 4096 times both numbers."""
    found = json.loads(text("rsinit").content)
    assert found == {
        "files": ["/usr/bin/app", "/usr/lib/libc.so.6", "/etc/app.conf"],
        "blocks": [[0, 5, 2], [1, 9, 1], [1, 2, 1], [2, 0, 1]],
    }


def test_nydus_has_an_absolute_path_a_line_in_order_of_first_access():
    lines = text("nydus").content.decode().splitlines()
    assert lines == ["/usr/bin/app", "/usr/lib/libc.so.6", "/etc/app.conf"]


def test_stargz_has_an_entry_a_line_without_the_leading_slash():
    entries = [json.loads(line) for line in text("stargz").content.splitlines()]
    assert [one["path"] for one in entries] == ["usr/bin/app", "usr/lib/libc.so.6", "etc/app.conf"]


def test_soci_has_an_array_of_paths():
    assert json.loads(text("soci").content) == [*dict.fromkeys((PATHS[1], PATHS[0], PATHS[2]))]


def android(content):
    """Read a records file as RecordsFile does: magic, version, digest, references."""
    found, end = of_cbor(content)
    assert end == len(content)
    header, inner = found["header"], found["inner"]
    assert [*found] == ["header", "inner"]
    assert [*header] == ["magic", "major_number", "minor_number", "date", "digest"]
    assert [*inner] == ["filesystems", "inode_map", "records"]
    assert (bytes(header["magic"]), header["major_number"], header["minor_number"]) == (MAGIC, 0, 1)
    digest, header["digest"] = header["digest"], 0
    assert digest == zlib.crc32(cbor(found))
    inodes = inner["inode_map"]["map"]
    assert {one["file_id"] for one in inner["records"]} == set(inodes)
    assert [*inodes] == sorted(inodes)  # a BTreeMap
    assert all(one["paths"] for one in inodes.values())
    return inner


def test_android_has_records_of_files_with_a_digest():
    inner = android(text("android").content)
    assert [(r["file_id"], r["offset"] // PAGE, r["length"]) for r in inner["records"]] == [
        (0, 5, 2 * PAGE),
        (1, 9, PAGE),
        (1, 2, PAGE),
        (2, 0, 100),
    ]
    assert [r["timestamp"] for r in inner["records"]] == [1, 2, 4, 5]
    inodes = inner["inode_map"]["map"]
    assert [one["paths"] for one in inodes.values()] == [[PATHS[1]], [PATHS[0]], [PATHS[2]]]
    assert [one["file_size"] for one in inodes.values()] == [40 * PAGE, 40 * PAGE, 100]
    device = os.makedev(7, 0)
    assert inner["filesystems"]["map"] == {device: {"block_size": 4096}}
    assert {one["device_number"] for one in inodes.values()} == {device}


def test_of_a_file_of_unknown_size_android_gets_the_end_of_its_last_range():
    inner = android(text("android", sizes=[-1, -1, -1]).content)
    sizes = [one["file_size"] for one in inner["inode_map"]["map"].values()]
    assert sizes == [7 * PAGE, 10 * PAGE, PAGE]


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/plain", {*FORMATS}),
        ("/sp ace", {*FORMATS}),
        ("/ends ", {*FORMATS} - {"nydus", "soci"}),
        ("/two\nlines", {*FORMATS} - {"nydus"}),
        ("/undecodable\udcff", {"foreread"}),
        ("/ümlaut\x07", {*FORMATS}),
    ],
)
def test_files_that_a_format_cannot_name_are_left_out_and_said(path, kept):
    for wanted in FORMATS:
        found = text(wanted, ("/a", "/b", path))
        assert found.left_out == (() if wanted in kept else (path,)), wanted
        if wanted == "android":
            android(found.content)


def test_a_format_that_can_name_nothing_is_an_error():
    with pytest.raises(PrefetchError, match="cannot name any"):
        text("nydus", ("/a\n", "/b ", "/c\r"))


names = (
    st.text(st.characters(blacklist_characters="\0/"), min_size=1, max_size=12)
    .map(lambda name: f"/{name}")
    .filter(can_be_listed)
)


@given(st.lists(names, min_size=3, max_size=3, unique=True))
def test_whatever_files_are_called_every_format_is_valid(paths):
    for wanted in FORMATS:
        try:
            found = text(wanted, paths)
        except PrefetchError:
            continue
        if wanted == "android":
            android(found.content)
        elif wanted == "nydus":
            lines = found.content.decode().split("\n")[:-1]
            assert set(lines) == set(paths) - set(found.left_out)
            assert all(line.strip() == line for line in lines)
        elif wanted == "stargz":
            entries = [json.loads(line)["path"] for line in found.content.splitlines()]
            assert len(entries) == len(set(entries)) == 3 - len(found.left_out)
        elif wanted in ("rsinit", "soci"):
            json.loads(found.content)


@given(st.recursive(st.integers(0, (1 << 64) - 1) | st.text(), st.lists))
def test_numbers_and_lengths_are_as_short_as_possible(value):
    assert of_cbor(cbor(value)) == (value, len(cbor(value)))


@pytest.mark.parametrize("wrong", [-1, 1 << 64, 1.5, None, True])
def test_what_a_records_file_cannot_hold_is_refused(wrong):
    with pytest.raises(TypeError):
        cbor(wrong)
