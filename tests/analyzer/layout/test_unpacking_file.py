"""unpacking.json: what is read from it, and the time to unpack blocks of other sizes."""

import json

import pytest

from foreread.analyzer.layout.order import LayoutError
from foreread.analyzer.layout.predicted import Reads
from foreread.analyzer.layout.unpacking_file import read_unpacking


def written(path, *rows):
    one = {"insert_ns": 10.0, "pages": 1, "seconds": 1.0}
    found = {"schema": 1, "kernel": "6.12", "page_size": 4096, "missing": []}
    path.write_text(json.dumps({**found, "compressors": [{**one, **row} for row in rows]}))
    return path


@pytest.fixture
def zstd(tmp_path):
    rows = [
        {"compressor": "zstd", "page_ns": page_ns, "sector_ns": page_ns / 4, "block_size": size}
        for size, page_ns in ((1 << 20, 120.0), (1 << 17, 180.0))
    ]
    return read_unpacking(written(tmp_path / "unpacking.json", *rows)).by_compressor["zstd"]


@pytest.mark.parametrize(
    ("log", "page_ns"), [(14, 180), (17, 180), (18, 160), (19, 140), (20, 120)]
)
def test_between_measured_sizes_the_time_follows_the_logarithm(zstd, log, page_ns):
    assert zstd.at(1 << log).page_ns == pytest.approx(page_ns)
    assert zstd.at(1 << log).sector_ns == pytest.approx(page_ns / 4)
    assert zstd.at(1 << log).insert_ns == 10


def test_a_file_without_sizes_has_one_time(tmp_path):
    rows = {"compressor": "gzip", "page_ns": 50.0}
    found = read_unpacking(written(tmp_path / "unpacking.json", rows)).by_compressor["gzip"]
    assert found.at(1 << 20).page_ns == 50


@pytest.mark.parametrize("size", [0, -1, 0.5, "128K"])
def test_a_size_that_is_none_is_refused(tmp_path, size):
    row = {"compressor": "gzip", "page_ns": 50.0, "block_size": size}
    with pytest.raises(LayoutError, match="block_size"):
        read_unpacking(written(tmp_path / "unpacking.json", row))


@pytest.mark.parametrize("page_size", [4096, 16384, 65536])
def test_time_is_counted_by_the_pages_that_were_measured(page_size, tmp_path):
    """The measurement counts pages of 4 KiB, whatever those of the board are."""
    row = {"compressor": "zstd", "page_ns": 1000.0, "insert_ns": 100.0}
    found = read_unpacking(written(tmp_path / "unpacking.json", row)).by_compressor["zstd"]
    reads = Reads(None, 1, 0, 0, 0, unpacked_bytes=40 * 4096, packed_bytes=0, inserted_bytes=4096)
    assert found.seconds(reads, page_size) == pytest.approx(40.1e-6)
