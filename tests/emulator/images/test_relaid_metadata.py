"""The metadata of an image packed in another way, compared with that of mksquashfs."""

from __future__ import annotations

import numpy as np
import pytest
from image_trees import make_tree, squashfs
from rings import further

from foreread.analyzer.layout.order import Ordered
from foreread.analyzer.layout.predicted import reader_of, rows_in_order, rows_in_tree_order
from foreread.analyzer.layout.sort_files import mksquashfs_sort_file
from foreread.emulator.images.reads import TOUCH, ReadOf, Touched
from foreread.emulator.images.relaid import duplicates, plan, relaid
from foreread.emulator.images.relaid_metadata import with_metadata
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_contents import Contents
from foreread.emulator.images.squashfs_reads import squashfs_reads
from foreread.emulator.images.squashfs_rules import squashfs_rules

RULES = squashfs_rules((6, 12))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("relaid") / "root"
    make_tree(root)
    for number in range(900):  # a listing of several blocks, with an index
        (root / "etc/large").mkdir(exist_ok=True)
        (root / f"etc/large/a-file-with-a-long-name-{number:04d}").write_bytes(b"x" * number)
    return root


@pytest.fixture(scope="module")
def present(root):
    return squashfs(root, root.with_name("present")).read_bytes()


def in_another_way(octets, block_size, order=None):
    image = read_squashfs(octets)
    read = reader_of(Contents(image, octets))
    rows = rows_in_tree_order(image) if order is None else rows_in_order(image, order)
    sizes = image.files["size"].astype(np.int64)
    planned = plan(sizes, rows, block_size, duplicates(sizes, rows, read))
    again = relaid(image, planned, "gzip", read, [])
    return with_metadata(image, again, None if order is None else rows)


def metadata_read(image, paths):
    """The kinds of reads for names looked up one after another, and the first block of files."""
    touches = []
    for path in paths:
        row = image.rows[path]
        file = int(image.names["file"][row])
        touches.append((Touched.NAME, row, 0))
        if file >= 0 and image.files["size"][file]:
            touches.append((Touched.BLOCK, file, 0))
    reads = squashfs_reads(image, np.array(touches, TOUCH), RULES)
    return reads["kind"][reads["kind"] <= ReadOf.METADATA].tolist(), reads["touch"][
        reads["kind"] <= ReadOf.METADATA
    ].tolist()


@pytest.mark.parametrize("kib", further([128, 16, 1024]))
@pytest.mark.parametrize("sorted_", [False, True])
def test_the_same_metadata_are_read_as_from_the_builder_s_image(
    root, present, tmp_path, kib, sorted_
):
    image = read_squashfs(present)
    chance = np.random.default_rng(kib)
    paths = chance.permutation(sorted(image.rows)).tolist()
    listed = [path for path in paths if image.names["file"][image.rows[path]] >= 0]
    order = [Ordered(path, (0,), 1) for path in listed[:400]] if sorted_ else None
    words = ["-b", f"{kib}K"]
    if order is not None:
        (tmp_path / "sort").write_bytes(mksquashfs_sort_file(order))
        words += ["-sort", tmp_path / "sort"]
    real = read_squashfs(squashfs(root, tmp_path / "real", *words).read_bytes())
    found = in_another_way(present, kib << 10, order)
    assert metadata_read(found, paths) == metadata_read(real, paths)
    np.testing.assert_array_equal(
        found.files["fragment"][[found.names["file"][found.rows[p]] for p in listed]],
        real.files["fragment"][[real.names["file"][real.rows[p]] for p in listed]],
    )
