"""Images of ext4 and ext2 of the real builder, read."""

import random
import re
import subprocess

import pytest
from image_trees import make_tree

from foreread.emulator.images.ext4 import read_ext4
from foreread.emulator.images.ext4_lookups import Ext4Lookups
from foreread.emulator.images.source import ImageError
from foreread.tracer.runs.ext4 import places

OPTIONS = {
    "ext4": ("-t", "ext4", "-b", "4096"),
    "ext4, small blocks": ("-t", "ext4", "-b", "1024"),
    "ext4, no checksums": ("-t", "ext4", "-b", "4096", "-O", "^metadata_csum,^64bit"),
    "ext4, clusters": ("-t", "ext4", "-b", "1024", "-O", "bigalloc", "-C", "16384"),
    "ext2": ("-t", "ext2", "-b", "4096"),
    "ext2, small blocks": ("-t", "ext2", "-b", "1024"),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    files = make_tree(root)
    (root / "short").symlink_to("usr/lib")
    (root / "long").symlink_to("usr/../" * 20 + "usr/lib")
    return root, files


@pytest.fixture(scope="module", params=OPTIONS)
def image(request, tree, tmp_path_factory):
    file = tmp_path_factory.mktemp("image") / "image"
    words = ["mke2fs", "-q", *OPTIONS[request.param], "-d", str(tree[0]), str(file), "12M"]
    subprocess.run(words, check=True, capture_output=True)
    return file


def test_the_extents_of_an_image_lead_to_the_contents_of_each_file(image, tree):
    octets = image.read_bytes()
    found = read_ext4(octets)
    for path, contents in tree[1].items():
        inode = found.inodes[found.names[path]]
        together = bytearray(-(-inode.size // 4096) * 4096)
        for at, place, length, written in inode.extents:
            assert written
            together[at : at + length] = octets[place : place + length]
        assert bytes(together[: inode.size]) == contents, path
    assert found.links["/short"] == "usr/lib"
    assert found.links["/long"] == "usr/../" * 20 + "usr/lib"


def test_the_extents_are_those_that_a_target_s_tables_give(image):
    octets = image.read_bytes()
    found = read_ext4(octets)
    files = [number for number, inode in found.inodes.items() if inode.is_file]
    expected = places(
        lambda blocks, size: {one: octets[one * size : (one + 1) * size] for one in blocks}, files
    )
    for number in files:
        pieces = list(found.inodes[number].extents)
        joined = []
        for piece in pieces:
            last = joined[-1] if joined else None
            if last and (last[0] + last[2], last[1] + last[2]) == piece[:2]:
                joined[-1] = (*last[:2], last[2] + piece[2], last[3])
            else:
                joined.append(piece)
        assert joined == expected[number]


def test_inodes_are_where_debugfs_says(image):
    found = read_ext4(image.read_bytes())
    path = "/usr/lib/lib5.so"
    words = ["debugfs", "-R", f"imap {path}", str(image)]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    block = int(re.search(r"located at block (\d+)", said)[1])
    assert found.inodes[found.names[path]].block == block


def test_a_name_is_looked_up_once_with_its_directory_and_inode(image):
    lookups = Ext4Lookups(read_ext4(image.read_bytes()))
    assert lookups.look_up("/usr/lib/lib5.so") == "/usr/lib/lib5.so"
    before = len(lookups.reads)
    assert before >= 3  # the root's block, those of usr and lib, and inodes
    assert lookups.look_up("/usr/lib/lib5.so") == "/usr/lib/lib5.so"
    assert lookups.look_up("/usr/lib/lib4.so")
    assert len(lookups.reads) == before  # the inode's neighbours were read ahead
    assert lookups.look_up("/usr/lib/none") is None
    assert lookups.look_up("/short/lib5.so") == "/usr/lib/lib5.so"


def test_blocks_of_inodes_are_read_ahead_and_the_wanted_one_by_itself(image):
    """As recorded on Linux 6.12: 64 to 82, 84 to 96, and 83."""
    found = read_ext4(image.read_bytes())
    lookups = Ext4Lookups(found)
    lookups.look_up("/etc")
    size = found.superblock.block_size
    inode = found.inodes[found.names["/etc"]]
    _, *reads = [(one.at // size, one.length // size) for one in lookups.reads]  # after the root's
    begin = max(inode.block // 32 * 32, inode.table)
    end = min(begin + 32, inode.until)  # which is read, too
    around = [(begin, inode.block - begin), (inode.block + 1, end - inode.block)]
    assert reads == [*(one for one in around if one[1]), (inode.block, 1)]


def test_a_damaged_image_is_refused_or_read(tmp_path):
    (tmp_path / "root").mkdir()
    for number in range(20):
        (tmp_path / f"root/{number}").write_bytes(bytes([number]) * 9000)
    words = ["mke2fs", "-q", "-t", "ext4", "-d", str(tmp_path / "root"), str(tmp_path / "i"), "1M"]
    subprocess.run(words, check=True, capture_output=True)
    octets = (tmp_path / "i").read_bytes()
    chance = random.Random(3)
    refused = known = 0
    for _ in range(100):
        damaged = bytearray(octets)
        for _ in range(20):
            damaged[chance.randrange(1024, 60_000)] = chance.randrange(256)
        try:
            read_ext4(bytes(damaged))
            known += 1
        except ImageError as error:
            assert error.remedy
            refused += 1
    assert refused
    assert known


@pytest.mark.parametrize("octets", [b"", b"x" * 5000, bytes(1 << 20)])
def test_a_file_that_is_not_an_image_is_refused(octets):
    with pytest.raises(ImageError):
        read_ext4(octets)
