"""The names that a start looks up in an image: opened, missing, and those that only reads show."""

from dataclasses import replace

import numpy as np
import pytest
from capture_builder import ROOT_PID, capture_of
from event_table import R, event, insert, table
from image_trees import contents, squashfs
from msgspec import structs

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.layout.known_names import known_names
from foreread.analyzer.layout.lookups import Lookup, Names, hidden_lookups, metadata_reads
from foreread.analyzer.layout.on_image import on_image
from foreread.analyzer.layout.predicted import Layout, case, predict_reads
from foreread.emulator.images.reads import TOUCH, ReadOf, Touched
from foreread.emulator.images.squashfs import read_squashfs
from foreread.tracer.formats.capture import FileEntry, Mount, dev_of

OPEN = "foreread:openat"
STRANGER = ROOT_PID + 1000


@pytest.fixture(scope="module")
def octets(tmp_path_factory):
    """An image whose directories are in many metadata blocks."""
    root = tmp_path_factory.mktemp("lookups")
    for number in range(2000):
        path = root / f"tree/{number % 20:02d}/file-{number:04d}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents(200, number))
    (root / "tree/lib").symlink_to("07")
    return squashfs(root / "tree", root / "image").read_bytes()


@pytest.fixture(scope="module")
def image(octets):
    return read_squashfs(octets)


def touched(image, touches):
    paths = {row: path for path, row in image.rows.items()}
    return [(Touched(kind).name, paths[row]) for kind, row in touches]


def recorded(image, events, opens=()):
    """A start on squashfs: rows of files accessed, and opens (microseconds, thread, path)."""
    host = structs.replace(capture_of().host, kernel="6.12.0")
    mount = Mount(dev="7:0", mountpoint="/", fstype="squashfs", source="", options="ro")
    entries = [
        FileEntry(dev="7:0", ino=row + 10, path=path, size_bytes=int(image.files["size"][file]))
        for path, row in image.rows.items()
        if (file := int(image.names["file"][row])) >= 0
    ]

    def fields(name, _):
        rows = [(us * 1000, pid, -100, path.encode()) for us, pid, path in opens]
        columns = list(zip(*rows, strict=True)) or [()] * 4
        assert name == OPEN
        return {
            "time_ns": np.array(columns[0], np.uint64),
            "pid": np.array(columns[1], np.int32),
            "dfd": np.array(columns[2], np.int64),
            "path": np.array(columns[3], object),
        }

    capture = capture_of(host=host, mounts=[mount])
    names = frozenset({OPEN})
    trace = Trace("test", table(*events), event_names=names, read_fields=fields)
    recording = interpret(trace, capture, entries, "tree")
    return replace(recording, kernel="6.12.0")


def block(image, path, time_us):
    """The pages of the first block of a file as they come in, and its read."""
    row = image.rows[path]
    fragment = image.fragments[int(image.files["fragment"][int(image.names["file"][row])])]
    first = int(fragment["at"]) // 1024 * 2
    until = -(-(int(fragment["at"]) + int(fragment["length"])) // 1024) * 2
    at = time_us * 1000
    return [
        insert(row + 10, 0, pid=ROOT_PID, time_ns=at),
        event(
            Kind.BIO_QUEUE, pid=ROOT_PID, index=first, value=until - first, flags=R, time_ns=at + 1
        ),
    ]


def metadata_read(image, row, time_us, pid=ROOT_PID):
    """The requests of a metadata block: of its length, and of the rest."""
    begin, end = int(image.metadata["at"][row]), int(image.metadata["end"][row])
    requests = []
    for number, (low, high) in enumerate(((begin, begin + 2), (begin + 2, end))):
        first, until = low // 1024 * 2, -(-high // 1024) * 2
        requests += request(first, until - first, time_us + number / 2, pid)
    return requests


def request(first, sectors, time_us, pid=ROOT_PID):
    """A request: queued, issued and completed."""
    until = first + sectors
    kinds = (Kind.BIO_QUEUE, Kind.RQ_ISSUE, Kind.RQ_COMPLETE)
    return [
        event(
            kind,
            pid=pid,
            index=first,
            value=until - first,
            flags=R,
            time_ns=int(time_us * 1000) + n,
        )
        for n, kind in enumerate(kinds)
    ]


def test_a_path_is_looked_up_name_by_name_through_links(image):
    touches = Names(image).walk("/lib/file-0007")
    assert touched(image, touches) == [
        ("NAME", "/lib"),
        ("NAME", "/07"),
        ("NAME", "/07/file-0007"),
    ]


def test_a_name_that_is_missing_is_searched_once_up_to_a_later_first_letter(image):
    names = Names(image)
    assert touched(image, names.walk("/07/abc")) == [("NAME", "/07"), ("SEARCH", "/07/file-0007")]
    assert touched(image, names.walk("/07/abc")) == [("NAME", "/07")]
    last = touched(image, names.walk("/07/zzz"))
    assert last == [("NAME", "/07"), ("SEARCH", "/07/file-1987")]


def test_opened_paths_are_looked_up_before_the_blocks_that_follow(image):
    paths = ["/01/file-0001", "/05/file-0005"]
    events = [one for n, path in enumerate(paths) for one in block(image, path, 100 * (n + 1))]
    opens = [(150, ROOT_PID, "/05/nothing"), (160, STRANGER, "/02"), (90, ROOT_PID, paths[0])]
    start = on_image(recorded(image, events, sorted(opens)), image)
    found = touched(
        image, [(kind, row) for kind, row, _ in start.touches(131072, 0).tolist() if kind != 1]
    )
    assert found == [
        ("NAME", "/01"),
        ("NAME", "/01/file-0001"),
        ("NAME", "/01/file-0001"),
        ("NAME", "/05"),
        ("SEARCH", "/05/file-1985"),
        ("NAME", "/05/file-0005"),
    ]


def test_metadata_read_for_unknown_names_is_read_in_every_layout(image, octets):
    path, later = "/01/file-0001", "/09/file-0009"
    own = set()
    for name in ("/01", path, "/09", later):
        row = image.names[image.rows[name]]
        own |= set(image.gets[int(row["first"]) :][: int(row["gets"])].tolist())
    others = [row for row in range(len(image.metadata) - 1) if row not in own][:3]
    assert len(others) == 3
    events = block(image, path, 50)
    for number, row in enumerate(others):
        events += metadata_read(image, row, 100 + number)
    known = next(iter(own - {0}))
    events += metadata_read(image, known, 200)  # which the name explains
    events += block(image, later, 400)
    start = on_image(recorded(image, events, [(40, ROOT_PID, path)]), image)
    kinds = [kind for kind, _, _ in start.touches(131072, 0).tolist()]
    assert sum(kind in (Touched.ENTRY, Touched.INODE) for kind in kinds) == len(others)
    found = case(start, None, image, start.touches(131072, 0), 0)
    reads = found.reads[found.reads["kind"] == ReadOf.METADATA]["row"].tolist()
    assert set(others) <= set(reads)
    other = predict_reads(start, octets, [Layout(65536, "gzip", True)], window=0)[1]
    assert other.metadata_requests >= 2 * 3


def test_the_share_of_metadata_that_was_in_memory_is_read_in_no_layout(image, octets):
    path = "/01/file-0001"
    layouts = [Layout(65536, "gzip", True)]

    def predicted(recorded_metadata):
        start = on_image(recorded(image, block(image, path, 50), [(40, ROOT_PID, path)]), image)
        vars(start)["recorded_metadata"] = recorded_metadata
        return predict_reads(start, octets, layouts, window=0)

    every = predicted(0)  # not recorded
    number = every[0].metadata_requests
    assert number > 3
    half = predicted(number // 2)
    assert half[0].metadata_requests == number // 2
    for one, whole in zip(half, every, strict=True):
        left = round(whole.metadata_requests * (number // 2 / number))
        assert one.metadata_requests == left
        assert one.requests == whole.requests - whole.metadata_requests + left
        assert one.read_bytes < whole.read_bytes
    assert predicted(number + 2)[0].metadata_requests == number + 2


def test_a_read_of_a_length_is_not_taken_for_a_small_block_beside_it(image):
    metadata = image.metadata.copy()[:3]
    metadata["at"], metadata["end"] = (4096, 4196, 9216), (4196, 8192, 11000)
    small = replace(image, metadata=metadata)
    length, first, second = (8, 2), (8, 2), (8, 8)  # sectors

    def rows(*requests):
        events = []
        for number, (sector, sectors) in enumerate(requests):
            events += request(sector, sectors, 100 + 10 * number)
        recording = recorded(image, events, [])
        return [row for _, row in metadata_reads(recording, small, dev_of("7:0"), 0, 1024)]

    assert rows(length, second) == [1]
    assert rows(length, first) == [0]
    assert rows(length, first, length, second) == [0, 1]
    assert rows((18, 4)) == [2]  # nothing else is there


def test_a_read_for_an_unknown_name_stands_near_what_is_opened_then(image):
    path = "/09/file-0009"
    name = image.names[image.rows[path]]
    block = int(image.gets[int(name["first"]) + int(name["lookups"]) - 1])
    opened = [Lookup(500, tuple(Names(image).walk(path)))]
    found = hidden_lookups(image, opened, [(400, block)], lambda hidden: [block] if hidden else [])
    assert [(one.time_ns, one.touches) for one in found] == [
        (400, ((Touched.ENTRY, image.rows[path]),))
    ]


def test_directories_are_known_if_the_start_did_not_read_their_metadata(image):
    rows = [image.rows[path] for path in ("/01", "/01/file-0001", "/02", "/02/file-0002")]
    touches = np.array([(Touched.NAME, row, 0) for row in rows], TOUCH)
    reads = {(): [5, 6, 7], (rows[0],): [6, 7], (rows[2],): [5, 6]}
    modelled = lambda known: reads.get(tuple(known), [6])  # noqa: E731
    assert known_names(image, touches, [6, 7], modelled) == (rows[0],)
    assert known_names(image, touches, [5, 6, 7], modelled) == ()
