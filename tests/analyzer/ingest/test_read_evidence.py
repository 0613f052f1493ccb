"""The file system of each queued read, and inserts without a read: by hand, and from captures."""

from pathlib import Path

import numpy as np
import pytest
from event_table import BDEV, R, event, insert, read, table
from rings import further
from unpacked import unpack

from foreread.analyzer.ingest.inserts import find_inserts
from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.ingest.read_evidence import Unseen
from foreread.analyzer.ingest.tables import Kind, Rwbs

PAGE = 4096
TOP, CRYPT, NVME = 254 << 20 | 1, 254 << 20, 259 << 20
PARTITION, DISK = 8 << 20 | 1, 8 << 20
NFS, BTRFS = 62, 40  # major 0
APP, WORKER = 7, 900
CAPTURES = Path(__file__).parents[2] / "foreread/data"
EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"


def of(*events, fstypes=None):
    return find_inserts(table(*events), PAGE, fstypes or {})


def read_through(*devs, dev, ino=5, page=0, pid=APP):
    """A page, and its read that each layer queues again."""
    yield insert(ino, page, dev=dev, pid=pid)
    for layer, disk in enumerate(devs):
        yield read(1000 * layer + 8 * page, 1, dev=disk, pid=pid)


def written(number, dev, ino=9, pid=APP):
    return [insert(ino, page, dev=dev, pid=pid) for page in range(number)]


@pytest.mark.parametrize("fstypes", [{}, {TOP: "ext4"}])
def test_a_read_counts_once_for_all_layers(fstypes):
    events = [
        one
        for page in range(10)
        for one in (
            insert(9, page, dev=TOP),
            *read_through(TOP, CRYPT, NVME, dev=TOP, page=page, pid=1),
        )
    ]
    inserts = of(*events, fstypes=fstypes)
    assert inserts.pages.sum() == 10
    assert (inserts.data["ino"][inserts.pages > 0] == 5).all()
    assert inserts.group.max() == 1


def test_layers_that_a_worker_queues_are_no_reads_of_other_threads():
    """dm-crypt: a kernel worker queues the read of the disk below."""
    events = []
    for page in range(20):
        events += [*written(1, TOP), *read_through(TOP, dev=TOP, page=page)]
        events += [read(5000 + 8 * page, 1, dev=NVME, pid=WORKER)]
    inserts = of(*events)
    assert inserts.pages.sum() == 20
    assert not inserts.unseen.any()


def test_partitions_of_older_kernels_read_from_the_disk_that_the_bio_names():
    events = [one for page in range(20) for one in read_through(DISK, dev=PARTITION, page=page)]
    inserts = of(*events, *written(4, PARTITION))
    assert inserts.pages.tolist() == [1] * 20 + [0] * 4


def test_btrfs_reads_from_each_of_its_disks():
    disks = (TOP, CRYPT)
    events = [
        one
        for page in range(20)
        for one in read_through(disks[page % 2], NVME, dev=BTRFS, page=page)
    ]
    inserts = of(*events, *written(20, BTRFS))
    assert inserts.pages.tolist() == [1] * 20 + [0] * 20
    assert not inserts.unseen.any()


def test_files_without_a_disk_are_not_written_because_their_thread_reads_a_disk_too():
    events = []
    for page in range(20):
        events += [insert(6, page, dev=NFS, pid=APP), *read_through(DISK, dev=DISK, page=page)]
    inserts = of(*events)
    assert inserts.pages.tolist() == [1] * 40
    on_nfs = inserts.data["dev"] == NFS
    assert {*inserts.unseen[on_nfs].tolist()} == {Unseen.NO_DISK}
    assert not inserts.unseen[~on_nfs].any()


def test_a_daemon_that_reads_for_others_leaves_their_pages_unsure():
    """FUSE: the daemon reads, on another file system."""
    fuse = [insert(6, page, dev=NFS) for page in range(8)]
    daemon = [one for page in range(8) for one in read_through(DISK, dev=DISK, page=page, pid=33)]
    inserts = of(*fuse, *daemon)
    assert inserts.pages.sum() == 16
    assert np.count_nonzero(inserts.unseen) == 8


def test_block_events_of_other_disks_show_no_written_page():
    inserts = of(*written(8, 179 << 20 | 2), *read_through(DISK, dev=DISK))
    assert inserts.pages.tolist() == [1] * 9
    assert inserts.unseen.tolist() == [Unseen.OTHER_DISKS] * 8 + [0]


def test_writes_to_the_disk_show_that_it_was_recorded():
    wrote = event(Kind.BIO_QUEUE, pid=WORKER, dev=DISK, index=8, value=64, flags=int(Rwbs.WRITE))
    inserts = of(*written(8, PARTITION), wrote)
    assert inserts.pages.sum() == 0


def test_reads_that_workers_queue_may_be_those_of_any_page():
    """blk-throttle hands bios to a worker (held.py has their places in captures)."""
    own = [one for page in range(20) for one in read_through(DISK, dev=DISK, page=page)]
    held = [insert(7, page, dev=DISK, pid=APP) for page in range(10)]
    by_worker = [read(900 + 8 * page, 1, dev=DISK, pid=WORKER) for page in range(10)]
    inserts = of(*own, *held, *by_worker)
    assert inserts.pages.sum() == 30
    assert inserts.unseen[20:].tolist() == [Unseen.OTHER_THREADS] * 10
    known = of(*own, *held, *by_worker, fstypes={DISK: "ext4"})
    assert known.pages.sum() == 20


def test_one_read_of_a_journal_does_not_make_written_pages_unsure():
    journal = read(99, 1, dev=DISK, pid=251)
    inserts = of(*read_through(DISK, dev=DISK), *written(60, DISK), journal)
    assert inserts.pages.sum() == 1
    assert not inserts.unseen.any()


def test_pages_of_blocks_count_with_the_read_of_their_block():
    block = [insert(5, page, dev=DISK) for page in range(1, 32)]
    inserts = of(insert(5, 40, dev=DISK), read(8, 9, dev=DISK), *block, *written(2, DISK))
    assert inserts.pages.tolist() == [1] * 32 + [0] * 2
    assert inserts.unseen.tolist() == [0] + [Unseen.IN_BLOCKS] * 31 + [0] * 2


def test_requests_of_other_threads_say_how_many_pages_come_together():
    issued = [
        event(Kind.RQ_ISSUE, pid=WORKER, dev=DISK, index=256 * row, value=256, flags=R)
        for row in range(3)
    ]
    inserts = of(*written(96, DISK), *issued)
    assert inserts.pages.sum() == 96
    assert (inserts.group == 32).all()


def test_metadata_of_a_block_device_is_no_file_without_a_disk():
    of_disk = event(Kind.INSERT, dev=BDEV, ino=DISK, index=4)
    inserts = of(of_disk, *read_through(DISK, dev=DISK))
    assert (inserts.metadata.rows, inserts.pages.tolist()) == (1, [1])


def trace_of(path, folder):
    """Unpack a capture, and return its trace without the metadata."""
    unpack(path, folder)
    return next(folder.glob("**/trace"))


@pytest.mark.parametrize(
    ("name", "unsure"),
    further(
        [
            ("arm64-madplay", 0),
            ("squashfs-madplay", 346),
            ("btrfs-madplay", 0),
            ("f2fs-madplay", 0),
            ("riscv64-madplay", 0),
            ("suite/x86_64-python-1", 0),
            ("erofs-lz4-madplay", 97),
        ],
        2,
    ),
)
def test_the_trace_of_a_capture_alone_shows_the_same_pages(name, unsure, tmp_path):
    """What brings blocks of pages is not known without the type of the file system."""
    path = next(CAPTURES.glob(f"{name}*.tar.xz"), None) or next(
        (CAPTURES / name).glob("*.capture.tar.xz")
    )
    capture, alone = load_any(path, "all"), load(trace_of(path, tmp_path))
    assert np.count_nonzero(alone.inserts.unseen) == unsure
    if not unsure:
        for column in ("dev", "ino", "index"):
            known, found = (
                one.inserts.data[column][one.inserts.pages > 0] for one in (capture, alone)
            )
            assert (known == found).all()
    assert alone.counts["metadata"] == capture.counts["metadata"]
    assert bool(alone.inserts.on_f2fs) == name.startswith("f2fs")


def test_reads_that_a_limiter_held_back_are_not_taken_for_written_pages(tmp_path):
    """The example's disk was limited: workers queued 54 reads; 25 pages were written."""
    alone = load(trace_of(EXAMPLE, tmp_path))
    assert alone.counts["written_or_hole"] == 0
    assert np.count_nonzero(alone.inserts.unseen == Unseen.OTHER_THREADS) == 61
