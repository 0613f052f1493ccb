"""What a squashfs is mounted from: its superblock, and the options of the kernel that read it."""

from __future__ import annotations

import gzip
import os
import shutil
import struct

import pytest
from image_trees import squashfs

from foreread.boards.device import Devices
from foreread.boards.mounts import MountPoint
from foreread.tracer.formats.capture import HUGE_PAGES, Squashfs, dev_text
from foreread.tracer.local import kernel_options
from foreread.tracer.local.kernel_options import local_options
from foreread.tracer.local.squashfs import local_images
from foreread.tracer.runs.kernel_options import parse_options
from foreread.tracer.runs.squashfs import parse_superblock

needs_mksquashfs = pytest.mark.skipif(
    shutil.which("mksquashfs") is None,
    reason="this machine has no mksquashfs: superblocks of its images were not read",
)


@needs_mksquashfs
@pytest.mark.parametrize(
    ("block", "compressor"),
    [("4K", "gzip"), ("64K", "lzo"), ("128K", "xz"), ("256K", "lz4"), ("1M", "zstd")],
)
def test_block_and_compressor_are_those_of_mksquashfs(tmp_path, block, compressor):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_bytes(b"text " * 9000)
    image = squashfs(tmp_path / "tree", tmp_path / "image", "-b", block, "-comp", compressor)
    kib = int(block[:-1]) * (1024 if block.endswith("M") else 1)
    assert parse_superblock(image.read_bytes()[:512]) == (kib * 1024, compressor)


def superblock(magic=0x73717368, block=1 << 17, compressor=1, log=17, major=4):
    return struct.pack("<I8xI4xHH4xHH", magic, block, compressor, log, major, 0)


def test_only_a_whole_superblock_of_squashfs_4_says_anything():
    assert parse_superblock(superblock()) == (1 << 17, "gzip")
    assert parse_superblock(superblock(compressor=77)) == (1 << 17, "")
    for damaged in ({"magic": 1}, {"block": 1 << 16}, {"log": 40, "block": 0}, {"major": 3}):
        assert parse_superblock(superblock(**damaged)) == (0, "")
    assert parse_superblock(superblock()[:20]) == (0, "")


def mount(dev, mountpoint):
    return MountPoint(dev, "/", str(mountpoint), "ro", "squashfs", "/dev/none", "ro")


def test_sizes_are_those_of_the_mount_that_is_visible(tmp_path):
    status = tmp_path.stat()
    dev = dev_text(os.major(status.st_dev) << 20 | os.minor(status.st_dev))
    devices = Devices(tmp_path, [mount(dev, tmp_path), mount("250:9", tmp_path)])
    block = os.statvfs(tmp_path).f_bsize
    assert local_images(devices) == {
        dev: Squashfs(block_bytes=block, device_block_bytes=status.st_blksize),
        "250:9": Squashfs(),
    }
    gone = Devices(tmp_path, [mount(dev, tmp_path / "gone"), mount(dev, tmp_path)])
    assert local_images(gone)[dev].block_bytes == block


CONFIG = """\
CONFIG_SQUASHFS=y
CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE=7
# CONFIG_SQUASHFS_4K_DEVBLK_SIZE is not set
CONFIG_SQUASHFS_4K_DEVBLK_SIZE_OTHER=y
CONFIG_TRANSPARENT_HUGEPAGE
"""


def test_options_are_read_from_a_kernel_s_configuration(tmp_path, monkeypatch):
    known = {"CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE": "7", "CONFIG_SQUASHFS_4K_DEVBLK_SIZE": "n"}
    assert parse_options(CONFIG.split("\n")) == known
    packed, plain = tmp_path / "config.gz", tmp_path / "config"
    monkeypatch.setattr(kernel_options, "_PLACES", (str(packed), str(plain)))
    assert local_options() == {}
    plain.write_text("CONFIG_TRANSPARENT_HUGEPAGE=y\n")
    assert local_options() == {"CONFIG_TRANSPARENT_HUGEPAGE": "y"}
    packed.write_bytes(gzip.compress(CONFIG.encode()))
    assert local_options() == known
    packed.write_bytes(b"no gzip")
    assert local_options() == {"CONFIG_TRANSPARENT_HUGEPAGE": "y"}


@pytest.mark.parametrize("config", ["", "CONFIG_SQUASHFS_LZO=m\n"])
def test_sysfs_without_huge_pages_shows_that_the_kernel_has_none(tmp_path, monkeypatch, config):
    (tmp_path / "config").write_text(config)
    monkeypatch.setattr(kernel_options, "_PLACES", (str(tmp_path / "config"),))
    known = parse_options(config.split("\n"))
    for folder, absent in (("mm", {}), ("mm/ksm", {HUGE_PAGES: "n"})):
        monkeypatch.setattr(kernel_options, "_MM", tmp_path / "mm")
        assert local_options() == {**absent, **known}
        (tmp_path / folder).mkdir()
    (tmp_path / "mm/transparent_hugepage").mkdir()
    assert local_options() == known
