"""What counts as an access on file systems that insert and read pages in their own ways."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from loop_image import mounted
from named_recordings import record_named
from rings import further
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.boards.mounts import mount_of, read_mounts
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

PAGE = os.sysconf("SC_PAGE_SIZE")
FILE_PAGES = 70  # two whole blocks of squashfs and a part of one
READ = [3, 40, 17]
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "ext4 with blocks of 1 KiB": ["mkfs.ext4", "-q", "-F", "-b", "1024"],
    "xfs": ["mkfs.xfs", "-q"],
    "btrfs": ["mkfs.btrfs", "-q"],
}
# Writes a file, looks up inodes, then reads single pages: of a large file and of a small one.
APPLICATION = """
dd if=/dev/zero of={out} bs={page} count=16 2>/dev/null
ls -l {here}/many >/dev/null
for at in {pages}; do dd if={data} of=/dev/null bs={page} skip=$at count=1 2>/dev/null; done
dd if={here}/many/7 of=/dev/null bs={page} count=1 2>/dev/null
"""

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root: accesses on other file systems were not checked"
    ),
]


def fill(directory):
    (directory / "many").mkdir()
    for number in range(40):
        (directory / "many" / str(number)).write_bytes(os.urandom(PAGE + 1))
    (directory / "data").write_bytes(os.urandom(FILE_PAGES * PAGE))


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def need(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is missing: accesses on its file system were not checked")


def pages_by_name(here, out, output):
    """Record the application on ``here``; return the pages accessed there, by file name."""
    words = {"here": here, "out": out, "data": here / "data", "page": PAGE}
    script = APPLICATION.format(pages=" ".join(map(str, READ)), **words)
    options = RunOptions(["busybox", "sh", "-c", script], allow_warm=True)
    record_named(RecordOptions(options, wait_s=left_s()), output)
    recording = load(output)
    mount = mount_of(here, read_mounts())
    assert mount is not None
    major, minor = map(int, mount.dev.split(":"))
    files, accesses = recording.files, recording.accesses
    return {
        Path(path or "?").name: accesses["page"][accesses["file"] == row].tolist()
        for row, path in enumerate(recording.paths)
        if files["dev"][row] == major << 20 | minor and files["accessed"][row]
    }


@pytest.mark.parametrize("kind", further(MAKERS, ["btrfs"]))
def test_single_reads_are_accesses_and_writes_and_metadata_are_none(kind, tmp_path):
    need(MAKERS[kind][0])
    image, here = tmp_path / "image", tmp_path / "mounted"
    run("truncate", "-s", "400M", image)
    run(*MAKERS[kind], image)
    with mounted(image, here):
        fill(here)
        assert pages_by_name(here, here / "out", tmp_path / "capture") == {"data": READ, "7": [0]}


@pytest.mark.thorough
def test_squashfs_accesses_are_whole_blocks_within_the_file(tmp_path):
    need("mksquashfs")
    image, here, source = tmp_path / "image", tmp_path / "mounted", tmp_path / "source"
    source.mkdir()
    fill(source)
    run("mksquashfs", source, image, "-b", "128K", "-quiet", "-no-progress", "-no-fragments")
    with mounted(image, here):
        found = pages_by_name(here, tmp_path / "out", tmp_path / "capture")
    block = 131072 // PAGE
    blocks = {page // block for page in READ}
    assert found["7"] == [0, 1]
    assert np.unique(found["data"]).tolist() == [
        page for page in range(FILE_PAGES) if page // block in blocks
    ]
