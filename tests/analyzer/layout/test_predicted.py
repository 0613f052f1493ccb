"""What a start reads from squashfs with other orders, block sizes and compressors."""

from dataclasses import replace

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import insert, read, table
from image_trees import contents, squashfs
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.layout.on_image import on_image
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.predicted import (
    Layout,
    predict_reads,
    reader_of,
    rows_in_tree_order,
)
from foreread.emulator.images.relaid import duplicates, plan, relaid
from foreread.emulator.images.squashfs import read_squashfs
from foreread.emulator.images.squashfs_contents import Contents
from foreread.tracer.formats.capture import FileEntry, Mount

SMALL, LARGE = 400, 300_000


@pytest.fixture(scope="module")
def octets(tmp_path_factory):
    """An image of small files, of which the start reads some, and of large ones."""
    root = tmp_path_factory.mktemp("predicted")
    for number in range(300):
        path = root / f"tree/etc/{number % 7}/file-{number:03d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents(SMALL * 10, number))
    for number in range(3):
        (root / f"tree/lib-{number}").write_bytes(contents(LARGE, number + 1000))
    return squashfs(root / "tree", root / "image").read_bytes()


@pytest.fixture
def recording():
    small = [f"/etc/{number % 7}/file-{number:03d}" for number in range(0, 300, 10)]
    paths = [*small, "/lib-1"]
    accesses = [(row, 0) for row in np.random.default_rng(1).permutation(len(small)).tolist()]
    accesses += [(len(small), page) for page in (0, 40, 41)]
    return recorded(accesses, paths, [*[SMALL * 10] * len(small), LARGE])


def recorded(accesses, paths, sizes):
    """A start on ext4 that touches pages (row of the paths, page) one by one."""
    host = structs.replace(capture_of().host, kernel="6.12.0")
    mount = Mount(dev="7:0", mountpoint="/", fstype="ext4", source="", options="ro")
    entries = [
        FileEntry(dev="7:0", ino=row + 10, path=path, size_bytes=size)
        for row, (path, size) in enumerate(zip(paths, sizes, strict=True))
    ]
    events = [
        one
        for row, page in accesses
        for one in (insert(row + 10, page, pid=ROOT_PID), read(page * 8, 1, pid=ROOT_PID))
    ]
    capture = capture_of(host=host, mounts=[mount])
    recording = interpret(Trace("test", table(*events)), capture, entries, "tree")
    return replace(recording, kernel="6.12.0")


def test_the_order_makes_a_start_read_less(octets, recording):
    start = on_image(recording, read_squashfs(octets))
    assert start.missing == ()
    layouts = [Layout(131072, "gzip", False), Layout(131072, "gzip", True)]
    present, same, ordered = predict_reads(start, octets, layouts)
    # Built again without an order the image is the present one.
    assert same.requests == present.requests
    assert same.read_bytes == pytest.approx(present.read_bytes, rel=0.01)
    data = ordered.read_bytes - ordered.metadata_bytes
    assert data < 0.6 * (present.read_bytes - present.metadata_bytes)
    assert ordered.unpacked_bytes < present.unpacked_bytes


def test_larger_blocks_read_more_of_a_sparsely_read_file(octets, recording):
    start = on_image(recording, read_squashfs(octets))
    layouts = [Layout(size << 10, "gzip", True) for size in (16, 64, 256, 1024)]
    found = predict_reads(start, octets, layouts, window=0)[1:]
    assert [one.requests - one.metadata_requests for one in found] == sorted(
        (one.requests - one.metadata_requests for one in found), reverse=True
    )
    assert found[0].read_bytes < found[-1].read_bytes


def test_an_image_without_the_files_is_refused(octets):
    image = read_squashfs(octets)
    with pytest.raises(LayoutError, match="reads 1 file, and the image has none"):
        on_image(recorded([(0, 0)], ["/other"], [1]), image)


def test_the_tree_order_gives_the_fragments_of_the_builder(octets):
    image = read_squashfs(octets)
    read, rows = reader_of(Contents(image, octets)), rows_in_tree_order(image)
    sizes = image.files["size"].astype(np.int64)
    planned = plan(sizes, rows, image.block_size, duplicates(sizes, rows, read))
    found = relaid(image, planned, "gzip", read, [(row, 0) for row in rows])
    np.testing.assert_array_equal(found.files["fragment"], image.files["fragment"])
    np.testing.assert_array_equal(found.files["offset"], image.files["offset"])
    np.testing.assert_array_equal(found.fragments["length"], image.fragments["length"])
