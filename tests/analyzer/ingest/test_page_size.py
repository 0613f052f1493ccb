"""The page size of a trace that does not name it: from offsets, from reads, or given."""

import lzma
from pathlib import Path

import pytest

from foreread.analyzer.ingest import text
from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.doubts.recording import of_recording
from foreread.analyzer.predict.window import predict

DATA = Path(__file__).parent / "data"
PI = DATA / "brought/pages-of-16-kib.txt"
INSERT = "mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x1 ofs={} order={}"
BIO = "block_bio_queue: 8,0 R {} + {} [app]"


def lines(*payloads):
    return "".join(
        f"  app-7  [001] .....  1.{number:06}: {payload}\n"
        for number, payload in enumerate(payloads)
    )


def written(directory, *payloads):
    path = directory / "trace.txt"
    path.write_text(lines(*payloads))
    return path


def doubts(path, page_size=None):
    recording = load_any(path, "all", page_size=page_size)
    return [finding.text for finding in of_recording(recording) if "pages of" in finding.text]


def test_pages_of_16_kib_are_read_in_order():
    recording = load(PI, "all")
    assert (recording.page_size, recording.trace.page_size_assumed) == (16384, False)
    assert recording.accesses["page"].tolist() == list(range(40))
    total = predict(recording).total
    assert dict(zip(total.read_ahead_kb, total.f, strict=True))[128] == 5  # of 9 pages each
    assert not any("page size" in note for note in recording.notes)


@pytest.mark.parametrize("size", [4096, 8192, 16384, 65536])
def test_reads_show_the_size_where_offsets_allow_several(size, tmp_path):
    payloads = []
    for number in range(4):  # too few offsets to conclude from them
        payloads += [INSERT.format(65536 * number, 0), BIO.format(128 * number, size // 512)]
    trace = text.read(written(tmp_path, *payloads))
    assert (trace.page_size, trace.page_size_assumed) == (size, False)
    inserts = trace.events["index"][trace.events["kind"] == Kind.INSERT]
    assert inserts.tolist() == [65536 // size * number for number in range(4)]


def test_one_odd_offset_proves_4_kib(tmp_path):
    payloads = [INSERT.format(65536 * number, 0) for number in range(20)]
    trace = text.read(written(tmp_path, *payloads, INSERT.format(4096, 0)))
    assert (trace.page_size, trace.page_size_assumed) == (4096, False)


def test_ends_of_ranges_are_offsets(tmp_path):
    pages = ["mm_filemap_get_pages: dev=8:1 ino=1 ofs=0-4095"] * 3
    trace = text.read(written(tmp_path, *pages))
    assert (trace.page_size, trace.page_size_assumed) == (4096, False)


def test_many_offsets_alone_leave_a_doubt(tmp_path):
    path = written(tmp_path, *(INSERT.format(16384 * number, 0) for number in range(1, 20)))
    recording = load(path, "all")
    assert recording.page_size == 16384
    assert doubts(path) == [
        "pages of 16384 bytes are assumed, since nothing in the trace proves their size: "
        "--page-size sets another"
    ]
    assert not any("page" in note and "size" in note for note in recording.notes)


def test_few_offsets_are_of_4_kib_with_a_doubt(tmp_path):
    path = written(tmp_path, *(INSERT.format(16384 * number, 0) for number in range(4)))
    assert load(path, "all").page_size == 4096
    assert len(doubts(path)) == 1


def test_large_folios_of_a_kernel_with_4_kib_are_no_large_pages(tmp_path):
    payloads = []
    for number in range(20):
        payloads += [INSERT.format(65536 * number, 4), BIO.format(128 * number, 128)]
    trace = text.read(written(tmp_path, *payloads))
    assert (trace.page_size, trace.page_size_assumed) == (4096, False)
    alone = text.read(written(tmp_path, *payloads[::2]))
    assert (alone.page_size, alone.page_size_assumed) == (4096, True)


def test_compressed_reads_show_nothing(tmp_path):
    payloads = []
    for number, sectors in enumerate((10, 26, 40, 14, 22)):
        payloads += [INSERT.format(16384 * number, 0), BIO.format(128 * number, sectors)]
    trace = text.read(written(tmp_path, *payloads))
    assert (trace.page_size, trace.page_size_assumed) == (4096, True)


def test_a_given_size_is_used_without_a_doubt(tmp_path):
    path = written(tmp_path, *(INSERT.format(65536 * number, 0) for number in range(20)))
    for size in (4096, 16384, 65536):
        recording = load(path, "all", page_size=size)
        assert recording.page_size == size
        assert recording.accesses["page"].tolist()[1] == 65536 // size
        assert not doubts(path, size)


def test_a_size_that_the_offsets_exclude_is_refused(tmp_path):
    with pytest.raises(TraceError, match="no pages of 65536 bytes") as caught:
        load(PI, "all", page_size=65536)
    assert "--page-size 16384" in caught.value.remedy


def test_a_size_other_than_that_of_the_file_is_refused(tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(lzma.decompress((DATA / "perf/file.data.xz").read_bytes()))
    assert load(path, "all", page_size=4096).page_size == 4096
    with pytest.raises(TraceError, match="pages of 4096 bytes, not of 16384"):
        load(path, "all", page_size=16384)


@pytest.mark.parametrize("size", [0, 1000, 2048, 1 << 17, "16k"])
def test_sizes_of_no_kernel_are_refused(size):
    with pytest.raises(TraceError, match="no kernel has pages"):
        load(PI, "all", page_size=size)


def test_numbers_of_pages_need_no_size(tmp_path):
    raw = "mm_filemap_add_to_page_cache: pfn=0x1 i_ino=0x2a s_dev=8388609 index={} order=0"
    payloads = []
    for number in range(4):
        payloads += [raw.format(hex(number)), BIO.format(32 * number, 32)]
    recording = load(written(tmp_path, *payloads), "all")
    assert recording.accesses["page"].tolist() == [0, 1, 2, 3]
    assert recording.page_size == 16384


def test_a_trace_of_requests_alone_has_no_doubt_about_pages():
    recording = load_any(DATA / "blktrace/start.bin", "all")
    assert not recording.trace.page_size_assumed
    assert not any("page size" in note for note in recording.notes)
