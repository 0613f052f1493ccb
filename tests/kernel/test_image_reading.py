"""Reads of squashfs images, predicted from their tables and seen on the running kernel."""

from __future__ import annotations

import os
import platform
import shutil

import numpy as np
import pytest
from image_trees import contents, make_tree, squashfs
from rings import further
from traced_bios import read_from

from foreread.emulator.images.reads import TOUCH, ReadOf, Touched
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_reads import squashfs_reads
from foreread.emulator.images.squashfs_rules import DEVICE_BLOCK, squashfs_rules
from foreread.emulator.images.touched import touched_blocks
from foreread.emulator.linux.operations import FILE, MAPPING, OPERATION, Machine, Op, Program
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.linux.windows import Emulation

PAGE = os.sysconf("SC_PAGE_SIZE")
IMAGES = {"gzip": "16K", "zstd": "128K", "xz": "64K", "lz4": "256K"}

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no image was mounted"),
]


def add_files(tree):
    """Files for many fragments of the largest blocks, and names for more metadata than is kept."""
    chance = np.random.default_rng(2)
    for number in range(60):
        path = tree / f"large-{number}"
        path.write_bytes(contents(int(chance.integers(1000, 250_000)), number))
    for folder in range(20):
        (tree / f"small/{folder}").mkdir(parents=True)
        for number in range(60):
            name = chance.bytes(20).hex()  # hardly compresses
            (tree / f"small/{folder}/{name}").write_bytes(bytes([number]))


def touches_of(image, chance):
    """Names in random order, each with some blocks of its file, as rows and as calls."""
    touches, calls = [], []
    paths = {row: path for path, row in image.rows.items()}
    for name in chance.permutation(len(image.names)).tolist()[:500]:
        file = int(image.names["file"][name])
        if file < 0:
            continue
        touches.append((Touched.NAME, name, 0))
        blocks = -(-int(image.files["size"][file]) // image.block_size)
        numbers = sorted(set(chance.integers(0, blocks, 3).tolist())) if blocks else []
        calls.append((paths[name], numbers))
        touches += [(Touched.BLOCK, file, number) for number in numbers]
    return np.array(touches, TOUCH), calls


def first_only(image, touches):
    """Without blocks that the page cache has already: of files with another name."""
    seen, kept = set(), []
    for touch in touches.tolist():
        if touch[0] != Touched.BLOCK or touch not in seen:
            kept.append(touch)
        seen.add(touch)
    return np.array(kept, TOUCH)


# The second figure is the disk's logical block, below which no device block of squashfs is.
@pytest.mark.parametrize(
    ("compressor", "logical"),
    further([("gzip", 4096), ("gzip", 512), ("zstd", 512), ("xz", 512), ("lz4", 512)], 2),
)
def test_the_kernel_reads_what_the_tables_say(compressor, logical, tmp_path):
    if shutil.which("mksquashfs") is None:
        pytest.skip("no mksquashfs: its images were not read")
    make_tree(tmp_path / "tree")
    add_files(tmp_path / "tree")
    options = ("-comp", compressor, "-b", IMAGES[compressor])
    image_file = squashfs(tmp_path / "tree", tmp_path / "image", *options)
    image = read_squashfs(image_file.read_bytes())
    touches, calls = touches_of(image, np.random.default_rng(7))
    bytes_of = [(path, [(n * image.block_size, 1) for n in numbers]) for path, numbers in calls]
    seen, _ = read_from(tmp_path, 0, bytes_of, logical)
    device_block = max(logical, DEVICE_BLOCK)
    rules = squashfs_rules(version_of(platform.release()), device_block=device_block)
    found = squashfs_reads(image, first_only(image, touches), rules)
    assert len(found) > 40
    assert {ReadOf.HEADER, ReadOf.DATA, ReadOf.FRAGMENT} <= set(found["kind"].tolist())
    predicted = [(at // 512, length // 512) for at, length in found[["at", "length"]].tolist()]
    assert seen == predicted


def calls_of(image, chance):
    """Files in random order: (path, size, [(position, bytes)]), read whole or in a few places."""
    found = []
    paths = sorted(path for path, row in image.rows.items() if image.names["file"][row] >= 0)
    for path in chance.permutation(paths).tolist()[:250]:
        size = int(image.files["size"][image.names["file"][image.rows[path]]])
        if chance.random() < 0.5:
            parts = [(at, 65536) for at in range(0, size, 65536)]
        else:
            places = chance.integers(0, max(size, 1), 4).tolist()
            parts = [(at, min(4096, size - at)) for at in places if at < size]
        found.append((path, size, parts))
    return found


def program_of(image, calls):
    """The same calls for the emulation, and the rows of names and files of each."""
    rows = {}
    operations = []
    for handle, (path, _, parts) in enumerate(calls):
        file = int(image.names["file"][image.rows[path]])
        rows.setdefault(file, len(rows))
        operations.append((Op.OPEN, handle, 0, 0, 0))
        operations += [(Op.READ, handle, 0, at, length) for at, length in parts]
    handles = [rows[int(image.names["file"][image.rows[path]])] for path, *_ in calls]
    pages = image.block_size // PAGE
    files = [(int(image.files["size"][file]), 0, pages, -1) for file in rows]
    tables = (np.array(operations, OPERATION), np.array([], MAPPING), np.array(handles, np.uint32))
    return Program(*tables, np.array(files, FILE)), list(rows)


def with_lookups(touches, files, image, calls):
    """Touches with the rows of the image, each file's name before its first block.

    A file is opened, and looked up, even if nothing of it is read.
    """
    first = {}
    for path, *_ in calls:
        first.setdefault(int(image.names["file"][image.rows[path]]), image.rows[path])
    found, known, waiting = [], set(), list(first.items())
    for _, row, number in touches.tolist():
        while files[row] not in known:
            file, name = waiting.pop(0)
            known.add(file)
            found.append((Touched.NAME, name, 0))
        found.append((Touched.BLOCK, files[row], number))
    return np.array(found + [(Touched.NAME, name, 0) for _, name in waiting], TOUCH)


@pytest.mark.thorough  # make test has tests/kernel/test_squashfs_blocks.py
@pytest.mark.parametrize("kib", (0, 16, 128, 512))
def test_the_kernel_reads_ahead_what_emulation_and_tables_say(kib, tmp_path):
    if shutil.which("mksquashfs") is None:
        pytest.skip("no mksquashfs: its images were not read")
    make_tree(tmp_path / "tree")
    add_files(tmp_path / "tree")
    image_file = squashfs(tmp_path / "tree", tmp_path / "image", "-b", "32K")
    image = read_squashfs(image_file.read_bytes())
    calls = calls_of(image, np.random.default_rng(9))
    seen, sectors = read_from(tmp_path, kib, [(path, parts) for path, _, parts in calls])
    version = version_of(platform.release())
    program, files = program_of(image, calls)
    machine = Machine(page_size=PAGE, io_pages=sectors * 1024 // PAGE)
    nothing = np.zeros(0, EXTENT)
    emulation = Emulation(
        program, rules_for(version), machine, Limits(sectors), nothing, np.zeros(len(files), "u4")
    )
    touches, _ = touched_blocks(emulation.inserts(kib * 1024 // PAGE), program.files, PAGE)
    touches = with_lookups(touches, files, image, calls)
    found = squashfs_reads(image, touches, squashfs_rules(version))
    assert len(found) > 100
    predicted = [(at // 512, length // 512) for at, length in found[["at", "length"]].tolist()]
    assert seen == predicted
