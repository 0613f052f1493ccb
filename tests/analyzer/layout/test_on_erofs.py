"""A recorded start on images of EROFS and ext4."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from image_trees import built, tree_of

import foreread.analyzer.layout.on_erofs as module
from foreread import load
from foreread.analyzer.layout.image_start import recorded_start
from foreread.analyzer.layout.images_compared import ErofsLayout, ImageStarts, described, tables_of
from foreread.analyzer.layout.on_erofs import on_erofs
from foreread.analyzer.layout.on_ext4 import on_ext4
from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.seconds import Unpacking
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.images.erofs import read_erofs
from foreread.emulator.images.erofs_format import COMPRESSED
from foreread.emulator.images.erofs_kernel import TimedOnErofs
from foreread.emulator.images.ext4 import read_ext4
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.windows import Emulation

DATA = Path(__file__).parents[2] / "foreread/data"
ON_EROFS = DATA / "erofs-madplay/erofs-madplay.capture.tar.xz"
ON_EXT4 = DATA / "arm64-madplay/arm64-madplay.capture.tar.xz"
DEVICE = FixedCost(1e6, 50_000.0)


def on_an_ext4(root, image, size="64M"):
    """Return the octets of an image of ext4 with the files below ``root``."""
    built("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-d", root, image, size)
    return image.read_bytes()


@pytest.fixture(scope="module")
def recording():
    return load(ON_EROFS)


@pytest.fixture(scope="module")
def images(recording, tmp_path_factory):
    """The recorded files, uncompressed and compressed, and on ext4."""
    folder = tmp_path_factory.mktemp("erofs")
    root = tree_of(recording, folder / "root")
    found = {}
    for name, words in {"none": (), "lz4": ("-zlz4",), "large": ("-zlz4", "-C65536")}.items():
        built("mkfs.erofs", "--quiet", *words, folder / name, root)
        found[name] = (folder / name).read_bytes()
    found["ext4"] = on_an_ext4(root, folder / "ext4")
    return found


def test_a_start_reads_the_recorded_pages_of_an_image_like_the_recorded_one(recording, images):
    start = on_erofs(recording, read_erofs(images["none"]))
    found = start.counts(0)
    data = found.requests - found.metadata_requests
    inserts = recording.inserts
    assert data == pytest.approx(int(recording.files["accessed"].sum()), rel=0.1)
    assert inserts is not None
    assert start.missing == ()


@pytest.mark.parametrize("window", [0, 8, 32])
def test_the_c_core_reads_the_same_folios_of_an_uncompressed_image(recording, images, window):
    start = on_erofs(recording, read_erofs(images["none"]))
    kernel, _ = start.counting(window)
    program, (machine, limits) = start.program(), start.inputs.machine(start.disk)
    group = np.zeros(len(program.files), np.uint32)
    extents = start.layout().extents
    core = Emulation(program, rules_for(start.version), machine, limits, extents, group)
    columns = ("file", "index", "order", "run")
    read_by_core = [core.inserts(window)[name].tolist() for name in columns]
    assert list(zip(*read_by_core, strict=True)) == kernel.outcome.inserts
    assert len(kernel.outcome.inserts) > 100


def test_clusters_bring_fewer_bytes_in_fewer_requests(recording, images):
    plain, small, large = (
        on_erofs(recording, read_erofs(images[name])).counts(32)
        for name in ("none", "lz4", "large")
    )
    assert plain.unpacked == 0
    assert small.read_bytes < plain.read_bytes
    assert large.requests < small.requests
    assert min(small.unpacked, large.unpacked) > 0


def test_the_window_decides_the_requests_of_compressed_files_too(recording, images):
    start = on_erofs(recording, read_erofs(images["lz4"]))
    counts = [start.counts(window) for window in (0, 4, 32)]
    assert [one.requests for one in counts] == sorted((c.requests for c in counts), reverse=True)
    assert counts[0].read_bytes < counts[-1].read_bytes


def test_seconds_contain_the_time_to_unpack(recording, images):
    present = on_erofs(recording, read_erofs(images["none"]))
    timed = recorded_start(present, DEVICE)
    start = on_erofs(recording, read_erofs(images["lz4"]))
    quick, slow = (timed.seconds(start, 32, cost) for cost in (0.0, 1e5))
    pages = start.counts(32).unpacked / 4096
    assert 0.5 < (slow - quick) / (pages * 1e5 / 1e9) <= 1.0  # not of the last clusters


def test_every_page_of_a_large_folio_waits_for_its_clusters(recording, images, monkeypatch):
    kernels = []

    class Kept(TimedOnErofs):
        def __post_init__(self):
            super().__post_init__()
            kernels.append(self)

    monkeypatch.setattr(module, "TimedOnErofs", Kept)
    start = on_erofs(recording, read_erofs(images["lz4"]))
    recorded_start(on_erofs(recording, read_erofs(images["none"])), DEVICE).seconds(start, 32, 0.0)
    layouts = start.image.files["layout"]
    compressed = {
        file for file, row in enumerate(start.rows) if row >= 0 and layouts[row] in COMPRESSED
    }
    large = [one for one in kernels[-1].outcome.inserts if one[0] in compressed and one[2]]
    pages = {(file, at + page) for file, at, order, _ in large for page in range(1 << order)}
    assert len(pages) > 100
    assert pages <= {*kernels[-1]._by_page}


def test_rows_of_images_have_seconds_where_the_time_to_unpack_is_known(recording, images):
    starts = ImageStarts([recording], images["none"], [1.0], None, {}, DEVICE)
    rows = [starts.row(images["none"], None)]
    rows += [starts.row(images[name], ErofsLayout("lz4", 4096, True)) for name in ("lz4", "large")]
    assert [row.seconds is None for row in rows] == [False, True, True]
    starts.unpacking = {"lz4": Unpacking(40_000.0)}
    assert starts.row(images["lz4"], ErofsLayout("lz4", 4096, True)).seconds is not None
    assert rows[0].present
    assert rows[1].read_bytes < rows[0].read_bytes


def test_a_start_from_erofs_is_predicted_on_ext4(recording, images):
    present = on_erofs(recording, read_erofs(images["none"]))
    start = on_ext4(recording, read_ext4(images["ext4"]))
    found, same = start.counts(32), present.counts(32)
    data, there = (one.requests - one.metadata_requests for one in (found, same))
    assert data == pytest.approx(there, rel=0.1)
    assert recorded_start(present, DEVICE).seconds(start, 32, 0.0) > 0


@pytest.mark.thorough
def test_a_start_from_ext4_is_predicted_on_an_image_of_ext4(tmp_path):
    recording = load(ON_EXT4)
    root = tree_of(recording, tmp_path / "root")
    start = on_ext4(recording, read_ext4(on_an_ext4(root, tmp_path / "image")))
    wide, narrow = start.counts(32), start.counts(0)
    assert wide.requests < narrow.requests
    assert wide.read_bytes > narrow.read_bytes
    assert start.missing == ()


def test_kinds_of_images_are_described_by_their_compressor_and_cluster(images):
    assert described(tables_of(images["none"])) == ("none", 4096)
    assert described(tables_of(images["lz4"])) == ("lz4", 4096)
    assert described(tables_of(images["large"]))[0] == "lz4"
    assert 4096 < described(tables_of(images["large"]))[1] <= 65536
    assert described(tables_of(images["ext4"])) == ("none", 4096)


@pytest.mark.parametrize("name", ["none", "ext4"])
def test_a_capture_of_another_image_is_refused(name, recording, tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"x" * 5000)
    if name == "ext4":
        octets = on_an_ext4(tmp_path / "root", tmp_path / "image", "8M")
        place = on_ext4, read_ext4(octets)
    else:
        built("mkfs.erofs", "--quiet", tmp_path / "image", tmp_path / "root")
        place = on_erofs, read_erofs((tmp_path / "image").read_bytes())
    with pytest.raises(LayoutError, match="the image has none of them"):
        place[0](recording, place[1])


def test_a_capture_without_its_kernel_is_refused(recording, images):
    with pytest.raises(LayoutError, match="which kernel ran"):
        on_erofs(replace(recording, kernel=None), read_erofs(images["none"]))
