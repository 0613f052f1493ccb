"""The length of squashfs's blocks: recorded, or learnt from a run without readahead."""

from dataclasses import replace
from pathlib import Path

import pytest
from capture_builder import ROOT_PID, capture_of, host_of
from event_table import DISK, insert, read, table
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.squashfs_blocks import learnt_block
from foreread.analyzer.predict.linux import predict_linux
from foreread.tracer.formats.capture import FileEntry, Mount, Squashfs

PAGE = 4096
PAGES = 1600  # of the file
TOUCHED = (0, 75, 175, 537, 562, 737, 900, 1250, 1263)
DATA = Path(__file__).parent / "data/squashfs-blocks"
# By name of the image: process, and requests and pages that the trace has.
GOLDEN = {
    "64K": (1867, 9, 144),
    "128K": (2255, 8, 256),
    "256K": (2457, 7, 448),
    "1M": (5351, 8, 1024),
}


def block_read(touched, block, cached=False, late=False, ino=5, pages=PAGES, thread=ROOT_PID):
    """A thread misses a page: all pages of its block come in, and the block is read.

    ``late``: the other pages come after the read (CONFIG_SQUASHFS_FILE_CACHE). ``cached``: the
    block is in the cache of fragments.
    """
    first = touched // block * block
    others = [page for page in range(first, min(first + block, pages)) if page != touched]
    inserts = [insert(ino, page, pid=thread) for page in others]
    bio = [] if cached else [read(first * 4, 1, pid=thread)]
    return [insert(ino, touched, pid=thread), *(bio + inserts if late else inserts + bio)]


def start(block, late, touched=TOUCHED, ino=5, pages=PAGES):
    """Events of reads at several places."""
    found, came = [], set()
    for page in touched:
        if page // block not in came:
            came.add(page // block)
            found += block_read(page, block, late=late, ino=ino, pages=pages)
    return found


def learnt(*events, pages=PAGES, page_size=PAGE):
    return learnt_block(table(*events), DISK, {(DISK, 5): pages * page_size}, page_size)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kib", [4, 8, 16, 32, 64, 128, 256, 512, 1024])
def test_the_length_is_learnt_from_whole_blocks_and_their_reads(kib, late):
    block = kib * 1024 // PAGE
    assert learnt(*start(block, late)) == kib * 1024
    in_order = start(block, late, range(0, PAGES, 7))
    assert learnt(*in_order) == kib * 1024


def test_pages_of_64_kib_have_blocks_of_64_kib_to_1_mib():
    for kib in (64, 256, 1024):
        found = start(kib // 64, False, range(0, PAGES, 7))
        assert learnt(*found, page_size=64 << 10) == kib * 1024


def test_the_default_is_taken_where_every_file_is_shorter_than_a_block():
    """All lengths from that of the files on read them alike."""
    assert learnt(*block_read(2, 32, pages=5), pages=5) == 128 << 10
    assert learnt(*block_read(2, 256, pages=60), pages=60) == 256 << 10


@pytest.mark.parametrize(
    "events",
    [
        [],
        [insert(5, page, pid=ROOT_PID) for page in range(32)],  # no read was recorded
        [insert(5, page, pid=ROOT_PID) for page in (3, 4, 300, 301)] + [read(0, 1, pid=ROOT_PID)],
    ],
)
def test_nothing_is_learnt_from_inserts_that_no_length_explains(events):
    assert learnt(*events) is None


def test_fragments_in_memory_and_other_threads_change_nothing():
    other = [event for page in (40, 140) for event in block_read(page, 16, thread=77)]
    tails = [event for ino in range(10, 13) for event in block_read(0, 16, True, ino=ino, pages=3)]
    assert learnt(*start(16, False), *tails, *other) == 64 << 10


def recorded(*events, squashfs=None, window=0, kernel="6.18.0"):
    mount = Mount(
        dev="7:0", mountpoint="/rom", fstype="squashfs", source="", options="", squashfs=squashfs
    )
    host = host_of(kernel=kernel)
    capture = capture_of(mounts=[mount], host=host, read_ahead_kb=window)
    entry = FileEntry(dev="7:0", ino=5, path="/f", size_bytes=PAGES * PAGE)
    return interpret(Trace("test", table(*events)), capture, [entry], "tree")


@pytest.mark.parametrize(("size", "blocks"), [(64 << 10, 16), (1 << 20, 256), (4096, 1)])
def test_the_recorded_length_is_used(size, blocks):
    found = recorded(*start(32, False), squashfs=Squashfs(block_bytes=size))
    assert found.block_pages == {DISK: blocks}
    assert (
        f"squashfs on /rom: blocks of {size >> 10} KiB" in predict_linux(found, windows=[0]).notes
    )


@pytest.mark.parametrize("size", [0, 2048, 5000, 3 << 16, 2 << 20])
def test_a_length_that_no_squashfs_has_is_not_believed(size):
    found = recorded(*start(64, False), squashfs=Squashfs(block_bytes=size))
    assert found.block_pages == {DISK: 64}
    said = [note for note in predict_linux(found, windows=[0]).notes if "squashfs on /rom" in note]
    assert len(said) == 1
    assert "does not contain the block size" in said[0]


def test_an_unknown_length_is_a_doubt():
    pages = [insert(5, page, pid=ROOT_PID) for page in (3, 4, 300, 301)]
    found = predict_linux(recorded(*pages, read(0, 1, pid=ROOT_PID)), windows=[0])
    assert [one for one in found.doubts if "block size of the squashfs on /rom is unknown" in one]
    at_128 = recorded(*start(64, False), window=128)
    assert at_128.block_pages == {DISK: 32}


@pytest.mark.parametrize("name", GOLDEN)
def test_requests_and_pages_are_those_of_the_trace(name):
    pid, requests, pages = GOLDEN[name]
    found = load(DATA / f"sq-{name}.tar.xz", frozenset({pid}))
    predicted = predict_linux(found, windows=[0])
    curve = next(one for one in predicted.devices if one.dev.startswith("7:"))
    assert (curve.f, curve.pages) == ([requests], [pages])
    own = found.requests["dev"] >> 20 == 7
    own &= found.requests["pid"] == pid
    assert int(own.sum()) == requests


def notes_of_limits(recording):
    return [one for one in predict_linux(recording, windows=[0]).notes if "max_sectors_kb" in one]


def test_a_read_longer_than_the_disk_s_limit_in_the_capture_shows_the_limit():
    found = load(DATA / "sq-256K.tar.xz", frozenset({GOLDEN["256K"][0]}))
    loop, *_ = (one for one in notes_of_limits(found) if one.startswith("loop"))
    assert "max_sectors_kb was 127 according to the capture" in loop
    assert "147 KiB" in loop
    queue = {"max_sectors_kb": "1280"}
    devices = [structs.replace(one, queue=queue) for one in found.capture.devices]
    limited = replace(found, capture=structs.replace(found.capture, devices=devices))
    assert not [one for one in notes_of_limits(limited) if one.startswith("loop")]


def test_an_unknown_limit_of_a_disk_is_said():
    found = load(DATA / "sq-64K.tar.xz", frozenset({GOLDEN["64K"][0]}))
    said = [one for one in notes_of_limits(found) if one.startswith("254:0: its max_sectors_kb is")]
    assert said[0].endswith("requests of up to 1,280 KiB are assumed")
