"""A squashfs image laid out again in the model, against the same by mksquashfs."""

import numpy as np
import pytest
from image_trees import make_tree, squashfs
from rings import further

from foreread.analyzer.layout.order import Ordered
from foreread.analyzer.layout.sort_files import mksquashfs_sort_file
from foreread.emulator.images.reads import Touched
from foreread.emulator.images.relaid import duplicates, plan, relaid
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_contents import Contents
from foreread.emulator.images.touched import touched_blocks
from foreread.emulator.linux.operations import FILE
from foreread.emulator.linux.windows import INSERT


def reader(contents):
    """Bytes of files from the blocks of an image."""
    unit = contents.image.block_size

    def read(file, first, until):
        numbers = range(first // unit, -(-until // unit)) if until > first else ()
        whole = b"".join(contents.block(file, number) for number in numbers)
        return whole[first - first // unit * unit :][: until - first]

    return read


def in_order_of_the_tree(image):
    """Rows of the files in the order of mksquashfs without a sort file: names in order."""
    rows = [int(image.names["file"][row]) for _, row in sorted(image.rows.items())]
    return list(dict.fromkeys(row for row in rows if row >= 0))


@pytest.mark.parametrize(
    ("compressor", "block", "fragments"),
    [
        *further([("zstd", 64, ()), ("gzip", 16, ()), ("xz", 128, ()), ("lz4", 1024, ())]),
        ("gzip", 64, ("-no-fragments",)),
    ],
)
def test_sizes_and_fragments_are_those_of_the_builder(compressor, block, fragments, tmp_path):
    make_tree(tmp_path / "tree")
    octets = squashfs(tmp_path / "tree", tmp_path / "present", *fragments).read_bytes()
    image = read_squashfs(octets)
    # mksquashfs takes the number of a file with two names from the one that it finds first.
    listed = [path for path in image.rows if not path.endswith("/another-name")]
    paths = sorted(path for path in listed if image.names["file"][image.rows[path]] >= 0)
    chance = np.random.default_rng(11)
    order = [Ordered(paths[n], (0,), 1) for n in chance.permutation(len(paths))]
    sort_file = tmp_path / "sort"
    sort_file.write_bytes(mksquashfs_sort_file(order))
    options = ("-comp", compressor, "-b", f"{block}K", "-sort", str(sort_file), *fragments)
    built = read_squashfs(squashfs(tmp_path / "tree", tmp_path / "built", *options).read_bytes())

    rows = [int(image.names["file"][image.rows[one.path]]) for one in order]
    rows = list(dict.fromkeys(rows))
    sizes = image.files["size"].astype(np.int64)
    read = reader(Contents(image, octets))
    same = duplicates(sizes, rows, read)
    planned = plan(sizes, rows, block << 10, same, fragmented=image.superblock.fragmented)
    assert image.superblock.fragmented == (not fragments)
    wanted = [
        (row, number) for row in rows for number in range(-(-int(sizes[row]) // (block << 10)))
    ]
    found = relaid(image, planned, compressor, read, wanted)

    assert len(found.fragments) == len(built.fragments)
    np.testing.assert_allclose(found.fragments["length"], built.fragments["length"], rtol=0.01)
    for path in paths:
        mine = found.files[int(found.names["file"][found.rows[path]])]
        theirs = built.files[int(built.names["file"][built.rows[path]])]
        assert mine["blocks"] == theirs["blocks"]
        assert mine["fragment"] == theirs["fragment"]
        parts = [
            one.blocks["length"][int(row["first"]) :][: int(row["blocks"])].astype(np.int64)
            for one, row in ((found, mine), (built, theirs))
        ]
        # Versions of liblzma differ by a few bytes, and xz pads blocks to 4.
        np.testing.assert_allclose(*parts, rtol=0.01, atol=4, err_msg=path)


def test_blocks_that_nobody_asked_for_are_estimated(tmp_path):
    make_tree(tmp_path / "tree")
    octets = squashfs(tmp_path / "tree", tmp_path / "present").read_bytes()
    image = read_squashfs(octets)
    sizes = image.files["size"].astype(np.int64)
    calls = []
    read = reader(Contents(image, octets))

    def counted(file, first, until):
        calls.append(file)
        return read(file, first, until)

    largest = int(sizes.argmax())
    rows = in_order_of_the_tree(image)
    found = relaid(image, plan(sizes, rows, 65536), "gzip", counted, [(largest, 0)])
    assert calls == [largest]
    lengths = found.blocks["length"].astype(np.int64)
    assert (lengths[found.files["first"][largest] :][1:5] > 0).all()


def test_touches_are_the_blocks_of_each_call_in_rising_order():
    files = np.array([(100_000, 0, 4, -1), (8192, 0, 0, -1), (20_000, 0, 4, -1)], FILE)
    inserts = [(0, 5, 0, 0), (0, 4, 0, 0), (0, 6, 0, 0), (0, 7, 0, 0), (0, 8, 0, 0)]
    inserts += [(1, 0, 0, 1), (2, 4, 0, 2), (2, 5, 0, 2), (0, 0, 0, 3), (2, 9, 0, 4)]
    found, runs = touched_blocks(np.array([(*one, 0, 0) for one in inserts], INSERT), files, 4096)
    assert runs.tolist() == [0, 0, 2, 3]
    assert found.tolist() == [
        (Touched.BLOCK, 0, 1),
        (Touched.BLOCK, 0, 2),
        (Touched.BLOCK, 2, 1),
        (Touched.BLOCK, 0, 0),
    ]


def test_nothing_touched_is_an_empty_table():
    files = np.array([(8192, 0, 0, -1)], FILE)
    found, runs = touched_blocks(np.zeros(1, INSERT), files, 4096)
    assert (len(found), len(runs)) == (0, 0)
