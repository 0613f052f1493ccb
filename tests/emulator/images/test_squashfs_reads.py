"""What touches of a squashfs image read from its device: fast against plain, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image_trees import make_tree, squashfs
from property_tests import examples

from foreread.emulator.images.reads import (
    READ,
    TOUCH,
    ReadOf,
    Touched,
    metadata_rows,
    request_count,
)
from foreread.emulator.images.source import ImageError
from foreread.emulator.images.squashfs import (
    BLOCK,
    FILE,
    METADATA,
    NAME,
    SquashfsImage,
    read_squashfs,
)
from foreread.emulator.images.squashfs_metadata import Superblock
from foreread.emulator.images.squashfs_reads import squashfs_reads
from foreread.emulator.images.squashfs_rules import SquashfsRules, squashfs_rules
from foreread.emulator.linux.requests import Limits
from foreread.emulator.reference.squashfs import squashfs_reads_reference

RULES = {
    "5.4": squashfs_rules((5, 4)),
    "6.1": squashfs_rules((6, 1)),
    "6.12": squashfs_rules((6, 12)),
    "6.12, device blocks of 4 KiB": squashfs_rules((6, 12), device_block=4096),
    "6.1, device blocks of 4 KiB": squashfs_rules((6, 1), device_block=4096),
    "one fragment": squashfs_rules((6, 12), fragments_kept=1),
}


@st.composite
def images(draw):
    """A small image: consistent tables, with lists of blocks that cross metadata blocks."""
    block_size = draw(st.sampled_from([4096, 16384, 131072]))
    count = draw(st.integers(3, 14))
    at, metadata = draw(st.integers(0, 9000)), []
    for row in range(count):
        end = at + 2 + draw(st.integers(1, 8192))
        unpacked = draw(st.integers(1, 8192)) if row == count - 1 else 8192
        metadata.append((at, end, unpacked))
        at = end
    stream = sum(row[2] for row in metadata)
    blocks, fragments, files = [], [], []
    for _ in range(draw(st.integers(1, 5))):
        at += draw(st.integers(0, 3000))
        length = draw(st.integers(1, block_size))
        fragments.append((at, length, 0))
        at += length
    for inode in range(draw(st.integers(1, 6))):
        whole = draw(st.sampled_from([0, 3, 2100]) if inode == 0 else st.integers(0, 9))
        holes = draw(st.booleans())
        tail = draw(st.booleans())
        size = whole * block_size + (1 if tail else 0)
        places = (inode, 1, size, len(blocks), whole, 0 if tail else -1, 0)
        if tail:
            places = (*places[:5], draw(st.integers(0, len(fragments) - 1)), 0)
        begin = draw(st.integers(0, stream - 4 * whole - 1)) if 4 * whole < stream else 0
        if 4 * whole >= stream:
            places, whole = (inode, 1, 0, len(blocks), 0, -1, 0), 0
        files.append((*places, begin // 8192, begin % 8192))
        for number in range(whole):
            hole = number % 5 == 4 and holes
            length = 0 if hole else 1 + (number * 7919 + inode) % block_size
            blocks.append((at, length, 0))
            at += length
    names, gets = [(-1, -1, 0, 1, 0, 0, 0, 0)], [draw(st.integers(0, count - 1))]
    for _ in range(draw(st.integers(1, 12))):
        parent = draw(st.integers(0, len(names) - 1))
        some = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4))
        file, lookups = draw(st.integers(-1, len(files) - 1)), draw(st.integers(0, len(some)))
        names.append((parent, file, len(gets), len(some), lookups, 0, 0, 0))
        gets += some
    superblock = Superblock(0, block_size, len(fragments), "gzip", 1, (0, 0), at, 0, 0, 0, 0)
    tables = ((files, FILE), (blocks, BLOCK), (fragments, BLOCK), (metadata, METADATA))
    arrays = [np.array(rows, dtype) for rows, dtype in (*tables, (names, NAME))]
    return SquashfsImage(superblock, *arrays, np.array(gets, np.uint32), {})


@st.composite
def cases(draw):
    image = draw(images())
    touches = []
    for _ in range(draw(st.integers(0, 30))):
        file = draw(st.integers(0, len(image.files) - 1))
        blocks = -(-int(image.files["size"][file]) // image.block_size)
        if blocks and draw(st.booleans()):
            touches.append((Touched.BLOCK, file, draw(st.integers(0, blocks - 1))))
        else:
            kind = draw(st.sampled_from([one for one in Touched if one != Touched.BLOCK]))
            touches.append((kind, draw(st.integers(0, len(image.names) - 1)), 0))
    return image, np.array(touches, TOUCH)


@given(case=cases(), rules=st.sampled_from(sorted(RULES)))
@settings(max_examples=examples(80), deadline=None)
def test_fast_and_plain_reading_agree(case, rules):
    image, touches = case
    fast = squashfs_reads(image, touches, RULES[rules])
    plain = squashfs_reads_reference(image, touches, RULES[rules])
    assert fast.tolist() == plain.tolist()


@given(case=cases(), rules=st.sampled_from(sorted(RULES)), data=st.data())
@settings(max_examples=examples(80), deadline=None)
def test_fast_and_plain_reading_agree_with_names_and_metadata_in_memory(case, rules, data):
    image, touches = case
    known = data.draw(st.sets(st.integers(0, len(image.names) - 1)))
    last = len(image.metadata) - 1
    cached = data.draw(st.lists(st.integers(-8, last), max_size=10, unique=True))
    fast = squashfs_reads(image, touches, RULES[rules], known, cached)
    plain = squashfs_reads_reference(image, touches, RULES[rules], known, cached)
    assert fast.tolist() == plain.tolist()


def test_names_and_metadata_in_memory_are_not_read():
    image = small_image()
    touches = np.array([(Touched.NAME, 3, 0), (Touched.NAME, 4, 0)], TOUCH)
    everything = squashfs_reads(image, touches, SquashfsRules(), cached=())
    assert set(metadata_rows(everything)) == {3, 4}
    assert set(metadata_rows(squashfs_reads(image, touches, SquashfsRules(), [3], ()))) == {4}
    assert set(metadata_rows(squashfs_reads(image, touches, SquashfsRules(), (), [4]))) == {3}


@pytest.mark.parametrize("rules", sorted(RULES))
def test_fast_and_plain_reading_agree_on_a_real_image(rules, tmp_path):
    make_tree(tmp_path / "tree")
    octets = squashfs(tmp_path / "tree", tmp_path / "image", "-b", "16K").read_bytes()
    image = read_squashfs(octets)
    chance = np.random.default_rng(1)
    touches = []
    for name in chance.permutation(len(image.names)).tolist():
        touches.append((Touched.NAME, name, 0))
        file = int(image.names["file"][name])
        blocks = -(-int(image.files["size"][file]) // image.block_size) if file >= 0 else 0
        touches += [(Touched.BLOCK, file, number) for number in range(blocks)]
    table = np.array(touches, TOUCH)
    found = squashfs_reads(image, table, RULES[rules])
    assert len(found) > 100
    assert found.tolist() == squashfs_reads_reference(image, table, RULES[rules]).tolist()


def small_image(metadata=12, fragments=5):
    """One file in each fragment, each name with one metadata block; all far from each other."""
    superblock = Superblock(0, 4096, fragments, "gzip", 1, (0, 0), 1 << 30, 0, 0, 0, 0)
    return SquashfsImage(
        superblock,
        np.array([(n, 1, 100, 0, 0, n, 0, 0, 0) for n in range(fragments)], FILE),
        np.array([], BLOCK),
        np.array([((n + 1) << 20, 3000, 0) for n in range(fragments)], BLOCK),
        np.array(
            [((n + 100) << 20, (n + 100 << 20) + 502, 8192) for n in range(metadata)], METADATA
        ),
        np.array(
            [(-1, -1, 0, 1, 0, 0, 0, 0), *[(0, -1, n, 1, 1, 0, 0, 0) for n in range(1, metadata)]],
            NAME,
        ),
        np.arange(metadata, dtype=np.uint32),
        {},
    )


def test_the_oldest_fragment_goes_though_it_was_used_again():
    touches = np.array([(Touched.BLOCK, file, 0) for file in (0, 1, 2, 0, 3, 0)], TOUCH)
    found = squashfs_reads(small_image(), touches, SquashfsRules())
    assert found["row"].tolist() == [0, 1, 2, 3, 0]
    assert set(found["kind"].tolist()) == {ReadOf.FRAGMENT}
    assert found["length"].tolist() == [3072] * 5  # whole device blocks


def test_a_metadata_block_is_two_reads_and_eight_stay():
    names = [*range(1, 9), 1, 9, 1]
    touches = np.array([(Touched.NAME, name, 0) for name in names], TOUCH)
    found = squashfs_reads(small_image(), touches, SquashfsRules())
    # Block 0 is the root's, read when the image was mounted; a name is looked up once.
    assert found["row"].tolist() == [row for row in range(1, 10) for _ in range(2)]
    assert found["kind"].tolist() == [ReadOf.HEADER, ReadOf.METADATA] * 9
    assert found["length"].tolist() == [1024] * 18


def test_a_search_reads_the_listing_and_an_inode_the_rest():
    image = small_image()
    image.names["gets"][1], image.names["lookups"][1] = 4, 3  # metadata 1, 2, 3, and 4 of the inode
    kinds = [Touched.ENTRY, Touched.INODE, Touched.SEARCH]
    found = squashfs_reads(image, np.array([(one, 1, 0) for one in kinds], TOUCH), SquashfsRules())
    assert found["row"][::2].tolist() == [3, 4, 1, 2]
    assert found["touch"][::2].tolist() == [0, 1, 2, 2]


def test_parts_of_pages_stay_where_device_blocks_are_pages():
    touches = np.array([(Touched.NAME, 1, 0)], TOUCH)
    found = squashfs_reads(small_image(), touches, RULES["6.12, device blocks of 4 KiB"])
    assert found["kind"].tolist() == [ReadOf.HEADER]  # its page has the block, too
    before = squashfs_reads(small_image(), touches, RULES["6.1, device blocks of 4 KiB"])
    assert before["kind"].tolist() == [ReadOf.HEADER, ReadOf.METADATA]


def test_long_reads_are_several_requests():
    reads = np.array([(ReadOf.DATA, 0, 0, 0, 131072), (ReadOf.DATA, 0, 0, 0, 1024)], READ)
    assert request_count(reads, Limits(1280), 4096) == 2
    assert request_count(reads, Limits(64), 4096) == 3
    assert request_count(reads, Limits(1280, max_segments=16), 4096) == 3
    assert request_count(reads, Limits(1280, max_segments=16), 16384) == 2


@pytest.mark.parametrize(
    "touch", [(Touched.NAME, 99, 0), (Touched.BLOCK, 99, 0), (Touched.BLOCK, 0, 1)]
)
def test_touches_of_what_is_not_there_are_refused(touch):
    with pytest.raises(ImageError):
        squashfs_reads(small_image(), np.array([touch], TOUCH), SquashfsRules())


def test_touches_of_another_kind_are_refused():
    with pytest.raises(ImageError, match="TOUCH"):
        squashfs_reads(small_image(), np.zeros(3, np.int64), SquashfsRules())
