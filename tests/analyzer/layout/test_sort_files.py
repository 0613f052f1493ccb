"""Sort files, checked by the builders that take them."""

import tarfile

import numpy as np
import pytest
from image_trees import built, squashfs

from foreread.analyzer.layout.order import LayoutError, Ordered
from foreread.analyzer.layout.sort_files import (
    gensquashfs_sort_file,
    mksquashfs_sort_file,
    not_for_gensquashfs,
    tar_list,
)
from foreread.emulator.images.squashfs import read_squashfs

NAMES = ["plain", "with space", "back\\slash", 'quo"te', "two  spaces", "end ", "ümlaut", "#sharp"]
LISTED = [f"/folder/{name}" for name in (*NAMES, *(f"file-{n}" for n in range(40)))]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "folder").mkdir(parents=True)
    chance = np.random.default_rng(3)
    for path in (*LISTED, *(f"/folder/unlisted-{n}" for n in range(20))):
        (root / path[1:]).write_bytes(chance.bytes(5000))
    return root


def order_in(image_file, paths):
    """The paths in the order in which their data is stored."""
    image = read_squashfs(image_file.read_bytes())
    file = {path: int(image.names["file"][image.rows[path]]) for path in paths}
    first = {path: int(image.blocks["at"][image.files["first"][row]]) for path, row in file.items()}
    return sorted(paths, key=first.__getitem__)


def shuffled():
    return [Ordered(LISTED[n], (0,), 1) for n in np.random.default_rng(5).permutation(len(LISTED))]


def test_mksquashfs_stores_files_in_the_order(tree, tmp_path):
    order = shuffled()
    sort_file = tmp_path / "sort"
    sort_file.write_bytes(mksquashfs_sort_file([*order, Ordered("/not/there", (0,), 1)]))
    image = squashfs(tree, tmp_path / "image", "-no-fragments", "-sort", str(sort_file))
    unlisted = [f"/folder/unlisted-{n}" for n in range(20)]
    found = order_in(image, [*LISTED, *unlisted])
    assert found[: len(LISTED)] == [one.path for one in order]


def test_gensquashfs_stores_files_in_the_order(tree, tmp_path):
    order, image, sort_file = shuffled(), tmp_path / "image", tmp_path / "sort"
    sort_file.write_bytes(gensquashfs_sort_file(order))
    words = ("--pack-dir", tree, "--quiet", "--block-size", "4096", "--sort-file", sort_file, image)
    built("gensquashfs", *words)
    unlisted = [f"/folder/unlisted-{n}" for n in range(20)]
    assert not_for_gensquashfs(order) == ["/folder/end "]
    expected = [one.path for one in order if one.path != "/folder/end "]
    found = order_in(image, [*LISTED, *unlisted])
    assert found[: len(expected)] == expected


def test_tar_stores_files_in_the_order_after_their_directories(tree, tmp_path):
    order, names, archive = shuffled(), tmp_path / "names", tmp_path / "root.tar"
    every = ["/", "/folder", *(f"/folder/{path.name}" for path in (tree / "folder").iterdir())]
    names.write_bytes(tar_list([*order, Ordered("/not/there", (0,), 1)], every))
    built("tar", "-C", tree, "--no-recursion", "--null", "-T", names, "-cf", archive)
    with tarfile.open(archive) as members:
        found = [name.removeprefix(".") for name in members.getnames()]
    assert found[0] == "/folder"
    assert found[1 : 1 + len(LISTED)] == [one.path for one in order]
    assert sorted(found) == sorted(every[1:])


def test_a_long_order_shares_the_numbers_between_neighbours():
    order = [Ordered(f"/{n}", (0,), 1) for n in range(70_000)]
    numbers = [int(line.split()[1]) for line in mksquashfs_sort_file(order).splitlines()]
    assert numbers == sorted(numbers, reverse=True)
    assert min(numbers) >= 1 and max(numbers) == 32767


@pytest.mark.parametrize("writer", [mksquashfs_sort_file, gensquashfs_sort_file])
def test_a_line_break_in_a_name_is_refused(writer):
    with pytest.raises(LayoutError, match="line break"):
        writer([Ordered("/a\nb", (0,), 1)])
