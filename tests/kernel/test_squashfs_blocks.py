"""Starts from squashfs with blocks of 4 KiB to 1 MiB, predicted and read by the kernel."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys

import pytest
from loop_image import mounted
from named_recordings import record_named
from rings import further
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.squashfs_blocks import learnt_block
from foreread.analyzer.predict.linux import predict_linux
from foreread.tracer.formats.capture import dev_of
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

PAGE = os.sysconf("SC_PAGE_SIZE")
WINDOWS_KB = (0, 128)
SIZE = 3 << 20
TEXT = b"readahead window request page block fragment inode directory; "
# Reads apart, two at the borders of blocks, and some that follow each other.
READ_KIB = (0, 300, 700, 1148, 1150, 1154, 2300, 2303, 2304, 2308, 2312, 2999)
READER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
for at in sys.argv[2:]:
    os.pread(file, 4096, int(at) << 10)
"""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: block sizes were not checked"),
    pytest.mark.skipif(
        shutil.which("mksquashfs") is None,
        reason="this machine has no mksquashfs: block sizes were not checked",
    ),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    dice, octets = random.Random(5), bytearray()
    while len(octets) < SIZE:
        octets += dice.randbytes(777) if dice.random() < 0.5 else TEXT * dice.randint(1, 20)
    folder = tmp_path_factory.mktemp("tree")
    (folder / "lib.bin").write_bytes(octets[:SIZE])
    return folder


def recorded(here, window_kb, output):
    """Record the reader; return the recording, and the squashfs in its capture."""
    words = [sys.executable, "-SE", "-c", READER, str(here / "lib.bin"), *map(str, READ_KIB)]
    options = RecordOptions(
        RunOptions(words, allow_warm=True), window_kb, wait_s=left_s(), search_s=0
    )
    record_named(options, output)
    found = load(output)
    mounts = [one for one in found.capture.mounts if one.mountpoint == str(here)]
    return found, mounts[-1]


def read_by_kernel(recording, dev):
    """Return the requests of file data and the pages that a run read from a file system."""
    inserts = recording.inserts.data
    pages = int((inserts["dev"] == dev).sum())
    return int((recording.requests["dev"] == recording.devices[dev]).sum()), pages


@pytest.mark.parametrize(
    ("kib", "compressor"),
    further(
        [
            *((256, "gzip"), (4, "gzip"), (8, "lzo"), (16, "xz"), (32, "lz4")),
            *((64, "zstd"), (128, "gzip"), (512, "lzo"), (1024, "gzip")),
        ]
    ),
)
def test_requests_and_pages_at_each_block_size_are_the_kernel_s(kib, compressor, tree, tmp_path):
    if kib * 1024 < PAGE:
        pytest.skip(f"this kernel has pages of {PAGE} bytes: it mounts no smaller blocks")
    image, here = tmp_path / "image", tmp_path / "mounted"
    words = ["mksquashfs", tree, image, "-b", f"{kib}K", "-comp", compressor, "-no-fragments"]
    subprocess.run([*map(str, words), "-quiet", "-no-progress"], check=True, capture_output=True)
    with mounted(image, here):
        at_0, mount = recorded(here, 0, tmp_path / "at-0")
        at_128, _ = recorded(here, 128, tmp_path / "at-128")
    assert (mount.squashfs.block_bytes, mount.squashfs.compressor) == (kib << 10, compressor)
    assert mount.squashfs.device_block_bytes in (1024, 4096)
    dev = dev_of(mount.dev)
    sizes = {(dev, one.ino): one.size_bytes for one in at_0.entries if one}
    assert learnt_block(at_0.trace.events, dev, sizes, PAGE) == kib << 10
    found = predict_linux(at_0, windows=[kb * 1024 // PAGE for kb in WINDOWS_KB])
    curve = next(one for one in found.devices if dev_of(one.dev) == at_0.devices[dev])
    predicted = list(zip(curve.f, curve.pages, strict=True))
    assert predicted == [read_by_kernel(one, dev) for one in (at_0, at_128)]
