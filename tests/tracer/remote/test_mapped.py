"""What a target sends of its processes' page tables."""

from __future__ import annotations

import random
import struct

import pytest

from foreread.tracer.remote.mapped import parse_mapped

PRESENT, FILE = 1 << 63, 1 << 61
BASE = 0x7F0000000  # virtual page: even, as its pieces are read in blocks of several entries
PAGE = 4096


def line(process, first, pages, offset=0, inode=77, path="/lib/x"):
    addresses = f"{first * PAGE:x}-{(first + pages) * PAGE:x}"
    return f"/proc/{process}/maps:{addresses} r-xp {offset * PAGE:08x} b3:02 {inode} {path}\n"


def piece(process, first, pages, blocks):
    return f"{process} {first} {pages}\n{blocks}+0 records in\n{blocks}+0 records out\n"


def entries(*values, order="<"):
    return b"".join(struct.pack(f"{order}Q", value) for value in values)


def here(page):
    return PRESENT | FILE | page


def parsed(maps, pieces, pagemap, order="little"):
    return parse_mapped(maps, pieces + "all\n", pagemap, PAGE, order)


@pytest.mark.parametrize("order", ["little", "big"])
def test_pages_in_memory_are_listed_by_file(order):
    values = (here(5), 0, here(6), PRESENT | 8)  # the last one is a copy: of no file
    sent = entries(*values, order="<" if order == "little" else ">")
    found = parsed(line(1, BASE, 4, offset=10), piece(1, BASE, 4, 1), sent, order)
    assert found == {("179:2", 77): [(10, 1), (12, 1)]}


def test_mappings_side_by_side_are_one_piece():
    maps = line(1, BASE, 2) + line(1, BASE + 2, 1, inode=78)
    found = parsed(maps, piece(1, BASE, 3, 3), entries(here(1), here(2), here(3)))
    assert found == {("179:2", 77): [(0, 2)], ("179:2", 78): [(0, 1)]}


def test_pages_mapped_by_any_process_count():
    maps = line(1, BASE, 1) + line(22, BASE + 8, 1, offset=1)
    pieces = piece(1, BASE, 1, 1) + piece(22, BASE + 8, 1, 1)
    assert parsed(maps, pieces, entries(here(1), here(2))) == {("179:2", 77): [(0, 2)]}


def test_a_process_that_has_ended_maps_nothing():
    maps = line(1, BASE, 1) + line(2, BASE, 1) + line(3, BASE, 1, offset=9)
    gone = f"1 {BASE} 1\ndd: can't open '/proc/1/pagemap': No such file or directory\n"
    pieces = gone + piece(2, BASE, 1, 0) + piece(3, BASE, 1, 1)
    assert parsed(maps, pieces, entries(here(1))) == {("179:2", 77): [(9, 1)]}


def test_truncated_trials_are_ignored():
    assert parse_mapped("", "", b"", PAGE, "little") is None
    maps, pieces = line(1, BASE, 1), piece(1, BASE, 1, 1)
    assert parse_mapped(maps, pieces, entries(here(1)), PAGE, "little") is None


@pytest.mark.parametrize("sent", [b"", entries(1, 2), entries(1)[:7]])
def test_an_answer_that_is_not_whole_is_refused(sent):
    with pytest.raises(ValueError, match=r"bytes too many|records out"):
        parsed(line(1, BASE, 1), piece(1, BASE, 1, 1), sent)


def test_damaged_answers_are_refused_or_read():
    rng, read, refused = random.Random(3), 0, 0
    sent = entries(*map(here, range(6)))
    pieces = piece(1, BASE, 4, 1) + piece(2, BASE + 1, 2, 2)
    text = line(1, BASE, 4) + line(2, BASE + 1, 2)
    for _ in range(500):
        damaged = [list(text), list(pieces)]
        for part in damaged:
            for _ in range(rng.randrange(3)):
                part[rng.randrange(len(part))] = rng.choice("0f9-:/ \n+\udcff")
        try:
            found = parsed(*("".join(part) for part in damaged), sent)
        except ValueError:
            refused += 1
        else:
            read += 1
            assert all(length > 0 for runs in (found or {}).values() for _, length in runs)
    assert read > 10 and refused > 10
