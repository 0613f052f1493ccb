"""ext4's readahead in inode tables on the running kernel, against what one recording predicts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import target_recordings
from loop_image import mounted
from machine_lock import nobody_records
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.program.inode_tables import tables_of
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.formats.capture import dev_of
from foreread.tracer.local.record import record
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

FOLDERS, FILES = 50, 40  # 2,000 inodes in 125 blocks

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.thorough,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="needs root: readahead in inode tables was not compared"
    ),
]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """Yield the loop device of an image with many inodes, and where it is mounted."""
    folder = tmp_path_factory.mktemp("inodes")
    root, image, mountpoint = folder / "root", folder / "image", folder / "mnt"
    for number in range(FOLDERS):
        (root / str(number)).mkdir(parents=True)
        for file in range(FILES):
            (root / str(number) / str(file)).touch()
    shutil.copy(shutil.which("busybox") or "", root / "busybox")
    words = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-N", "4096", "-d", root, image, "64M"]
    subprocess.run([str(word) for word in words], check=True)
    with mounted(image, mountpoint) as device:
        subprocess.run(["mount", "-o", "remount,ro", str(mountpoint)], check=True)
        yield device, mountpoint


def command_of(mountpoint):
    """Return a look at files of every seventh folder."""
    paths = [mountpoint / str(one) / str(file) for one in range(0, FOLDERS, 7) for file in (3, 30)]
    return [str(word) for word in (mountpoint / "busybox", "stat", "-c", "%i", *paths)]


def recorded(disk, output, **more):
    run = RunOptions(command_of(disk[1]), allow_warm=True)
    record(RecordOptions(run, wait_s=left_s(), **more), TracefsBackend(), output)
    return load(output), number_of(disk[0])


def number_of(device):
    return dev_of(Path(f"/sys/block/{device}/dev").read_text().strip())


def blocks_read(recording, dev, table):
    """Return the blocks of a table that requests of the recording read."""
    requests = recording.requests
    own = requests["dev"] == dev
    found = set()
    for sector, sectors in zip(
        requests["sector"][own].tolist(), requests["sectors"][own].tolist(), strict=True
    ):
        found.update(range(sector // 8, (sector + sectors) // 8))
    return {block for block in found if table.first <= block <= table.last}


def test_the_kernel_reads_ahead_what_a_recording_without_readahead_predicts(disk, tmp_path):
    knob = Path(f"/sys/fs/ext4/{disk[0]}/inode_readahead_blks")
    before = knob.read_text()
    recording, dev = recorded(disk, tmp_path / "off")
    with nobody_records():
        assert knob.read_text() == before
    (tables,) = tables_of(recording, dev)
    (table,) = tables.tables
    assert tables.ahead == int(before)
    requests = recording.requests
    sectors = requests["sector"][requests["dev"] == dev]
    needed = [*tables.needed(sectors)]
    assert {block for _, block, _ in needed} == blocks_read(recording, dev, table)
    assert len(needed) > 8
    for value in (1, 8, 32, 128):
        with nobody_records():
            knob.write_text(str(value))
        try:
            # At a window of its own a recording leaves the readahead of inode tables as it is.
            ahead, _ = recorded(disk, tmp_path / str(value), read_ahead_kb=4)
        finally:
            with nobody_records():
                knob.write_text(before)
        expected = set()
        for (_, block, _), (_, runs) in zip(needed, tables.reads_ahead(needed, value), strict=True):
            expected.add(block)
            expected.update(first + at for first, number in runs or () for at in range(number))
        assert blocks_read(ahead, dev, table) == expected, value


def test_a_target_s_recorder_finds_the_same_tables(disk, tmp_path):
    knob = Path(f"/sys/fs/ext4/{disk[0]}/inode_readahead_blks")
    before = knob.read_text()
    target_recordings.record_here(tmp_path / "target", command_of(disk[1]))
    with nobody_records():
        assert knob.read_text() == before
    here, dev = recorded(disk, tmp_path / "here")
    there = load(tmp_path / "target")
    assert tables_of(there, dev) == tables_of(here, dev) != ()
    (tables,) = tables_of(here, dev)
    needed = [
        [block for _, block, _ in tables.needed(one.requests["sector"][one.requests["dev"] == dev])]
        for one in (here, there)
    ]
    assert needed[0] == needed[1]
