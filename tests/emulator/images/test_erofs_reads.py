"""The reads of compressed EROFS files against the plain reference."""

from dataclasses import replace

import numpy as np
import pytest
from erofs_builder import IMAGES, build
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trees import make_tree

from foreread.emulator.images.erofs import read_erofs
from foreread.emulator.images.erofs_format import COMPRESSED
from foreread.emulator.images.erofs_reads import ErofsReader
from foreread.emulator.images.erofs_rules import PAGE, ErofsRules, erofs_rules
from foreread.emulator.images.source import ImageError
from foreread.emulator.reference.erofs import Mount

KINDS = [name for name in IMAGES if "fragments" not in name and name != "uncompressed"]
RULES = [ErofsRules(more, partial) for more in (False, True) for partial in (False, True)]
# File, page, and pages of a readahead, 0 for a page alone.
CALLS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 300), st.integers(0, 70)), max_size=30
)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("erofs")
    make_tree(folder / "tree")
    built = {}

    def image(name):
        if name not in built:
            octets = build(name, folder / "tree", folder / f"image{len(built)}").read_bytes()
            built[name] = octets, read_erofs(octets)
        return built[name]

    return image


def reads_of(image, rules, rows, calls):
    """The reads of calls, and the pages that are there afterwards by file."""
    reader = ErofsReader(image, rules)
    cached = {row: set() for row in rows}
    reads = []

    def inserter(row):
        def insert(page):
            new = page not in cached[row]
            cached[row].add(page)
            return new

        return insert

    for row, first, pages in calls:
        insert = inserter(row)
        if not pages:
            call = reader.read_page(row, first, insert) if insert(first) else None
        else:
            behind = first
            while behind < first + pages and insert(behind):
                behind += 1
            call = reader.readahead(row, first, behind, insert, insert) if behind > first else None
        reads += [(read.at, read.length) for read in call.reads] if call else []
    return reads, cached


def reference_of(octets, image, rules, rows, calls):
    """The same by the reference."""
    mount = Mount(octets, rules)
    numbers = {row: int(image.files["inode"][row]) for row in rows}
    for row, first, pages in calls:
        inode = mount.iget(numbers[row])
        if not pages:
            mount.read_folio(numbers[row], first)
            continue
        absent = 0
        while absent < pages and first + absent not in inode.pages:
            absent += 1
        if absent:
            mount.readahead(numbers[row], first, absent)
    return mount.reads, {row: mount.iget(numbers[row]).pages for row in rows}


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_the_reads_of_calls_are_those_of_the_reference(name, rules, images):
    octets, image = images(name)
    compressed = np.isin(image.files["layout"], COMPRESSED) & (image.files["size"] > 0)
    rows = np.flatnonzero(compressed).tolist()
    rows.sort(key=lambda row: -int(image.files["size"][row]))

    @settings(max_examples=25, deadline=None)
    @given(drawn=CALLS)
    def identical(drawn):
        calls = []
        for number, page, pages in drawn:
            row = rows[min(number // 40, len(rows) - 1)]
            last = -(-int(image.files["size"][row]) // PAGE)
            calls.append((row, page % last, min(pages, last - page % last)))
        found, cached = reads_of(image, rules, rows, calls)
        expected, pages = reference_of(octets, image, rules, {row for row, *_ in calls}, calls)
        assert found == expected
        assert {row: cached[row] for row in pages} == pages

    identical()


def test_a_kernel_before_5_16_reads_no_more_pages_than_asked_for():
    assert not erofs_rules((5, 10)).reads_more
    assert erofs_rules((6, 12)).reads_more


def test_an_image_with_other_blocks_is_refused(images):
    _, image = images("lz4")
    other = replace(image, superblock=replace(image.superblock, block_size=1024))
    with pytest.raises(ImageError, match=r"blocks of 1,024 bytes"):
        ErofsReader(other, ErofsRules())
