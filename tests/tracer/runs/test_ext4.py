"""Files of images made by mke2fs, found by their tables alone."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess

import pytest
from property_tests import examples

from foreread.tracer.runs.ext4 import inode_tables, places

# By type and block size; "bigalloc" is ext4 with clusters of 16 blocks.
KINDS = [("ext4", 4096), ("ext4", 1024), ("bigalloc", 1024), ("ext3", 4096), ("ext2", 1024)]
MIB = 1 << 20
FAR = (0, 20, 70, 80)  # MiB; of blocks of 1 KiB, what lies beyond 64 has three blocks above it

pytestmark = pytest.mark.skipif(shutil.which("mke2fs") is None, reason="e2fsprogs is missing")


class Image:
    """An image, read as a target's disk is: some blocks at a time."""

    def __init__(self, path):
        self.path = path
        self.rounds = 0

    def read(self, blocks, size):
        self.rounds += 1
        with self.path.open("rb") as file:
            return {block: os.pread(file.fileno(), size, block * size) for block in blocks}

    def content(self, extents, size):
        data = bytearray(size)
        with self.path.open("rb") as file:
            for at, place, length, written in extents:
                if written and at < size:
                    end = min(at + length, size)
                    data[at:end] = os.pread(file.fileno(), end - at, place)
        return bytes(data)


def sparse(path, positions, block=4096):
    with path.open("wb") as file:
        for position in positions:
            file.seek(position)
            file.write(os.urandom(block))


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def image(request, tmp_path_factory):
    kind, block = request.param
    folder = tmp_path_factory.mktemp("image")
    root = folder / "root"
    root.mkdir()
    (root / "small").write_bytes(os.urandom(100))
    (root / "empty").write_bytes(b"")
    (root / "large").write_bytes(os.urandom(3 * MIB))
    sparse(root / "pieces", [at * 3 * 4096 for at in range(900)])
    sparse(root / "far", [at * MIB for at in FAR])
    path = folder / "image"
    clusters = ["-O", "bigalloc", "-C", str(16 * block)] if kind == "bigalloc" else []
    words = ["mke2fs", "-q", "-t", "ext4" if clusters else kind, "-b", str(block), *clusters]
    subprocess.run([*words, "-d", root, path, "90M" if clusters else "32M"], check=True)
    return Image(path), root


def inode_of(image, name):
    words = ["debugfs", "-R", f"stat /{name}", image.path]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return int(said.split()[1])


def test_detection_depends_on_the_content(image):
    disk, root = image
    names = ["small", "empty", "large", "pieces", "far"]
    inodes = {name: inode_of(disk, name) for name in names}
    found = places(disk.read, inodes.values())
    for name in names:
        content = (root / name).read_bytes()
        assert disk.content(found[inodes[name]], len(content)) == content, name


def test_a_hole_is_in_no_extent(image):
    disk, _ = image
    (extents,) = places(disk.read, [inode_of(disk, "far")]).values()
    assert [(at, written) for at, _, _, written in extents] == [(at * MIB, True) for at in FAR]


def test_folders_and_inodes_that_are_not_there_have_no_place(image):
    disk, _ = image
    assert places(disk.read, [2, 0, 1 << 31]) == {}


def test_many_files_take_few_rounds(image):
    disk, _ = image
    disk.rounds = 0
    places(disk.read, range(11, 17))
    assert disk.rounds <= 6


def test_damaged_tables_do_not_crash(image):
    disk, _ = image
    inodes = [inode_of(disk, name) for name in ("large", "pieces", "far")]
    rng = random.Random(5)

    def damaged(blocks, size):
        whole = {block: bytearray(raw) for block, raw in disk.read(blocks, size).items()}
        # Few of them, so that the trees are followed to their ends, too.
        for raw in (raw for raw in whole.values() if raw and rng.random() < 0.1):
            for _ in range(rng.randrange(4)):
                raw[rng.randrange(len(raw))] = rng.randrange(256)
            del raw[len(raw) - rng.choice([0, 0, 0, 1, len(raw)]) :]
        return {block: bytes(raw) for block, raw in whole.items() if rng.random() < 0.99}

    whole, found = (
        places(disk.read, inodes),
        [places(damaged, inodes) for _ in range(examples(300))],
    )
    assert any(one.get(inode) == whole[inode] for one in found for inode in inodes)
    assert any(inode not in one for one in found for inode in inodes)
    size = disk.path.stat().st_size
    extents = [extent for one in found for several in one.values() for extent in several]
    assert all(0 <= at <= at + length <= size for _, at, length, _ in extents)


def test_another_file_system_is_left_alone():
    assert places(lambda blocks, size: dict.fromkeys(blocks, b"\x55" * size), [12]) == {}
    assert places(lambda _blocks, _size: {}, [12]) == {}


def test_inode_tables_are_those_that_the_file_system_s_own_tool_prints(image):
    """dumpe2fs: Inode table at 40-1426, and the inodes of a group that were never used."""
    disk, _ = image
    said = subprocess.run(
        ["dumpe2fs", disk.path], check=True, capture_output=True, text=True
    ).stdout
    numbers = dict(re.findall(r"^(Inodes per group|Block size|Inode size):\s+(\d+)", said, re.M))
    per_group, block, size = (
        int(numbers[name]) for name in ("Inodes per group", "Block size", "Inode size")
    )
    expected = []
    for group in re.split(r"\nGroup \d+:", said)[1:]:
        first = int(re.search(r"Inode table at (\d+)-", group)[1])
        unused = re.search(r"(\d+) unused inodes", group)
        used = per_group - (int(unused[1]) if unused else 0)
        if used:
            expected.append((first, first + used // (block // size)))
    assert inode_tables(disk.read) == (block, expected)


@pytest.mark.parametrize("content", [b"", bytes(8192)])
def test_no_inode_tables_are_found_in_what_is_no_ext4(tmp_path, content):
    path = tmp_path / "image"
    path.write_bytes(content)
    assert inode_tables(Image(path).read) is None
