"""Captures and stores at addresses: an object store, a web server, and memory."""

import functools
import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import fsspec
import pytest
from fleet_captures import SMALL, copies, damaged
from object_store import object_store

import foreread
from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.fetch import fetched
from foreread.analyzer.fleet.listing import Found, Listing
from foreread.analyzer.fleet.place import open_place
from foreread.analyzer.ingest.archive import unpack
from foreread.boards.base.silent import silent


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    """Two captures, one as a folder, a damaged one and another file."""
    folder = tmp_path_factory.mktemp("captures")
    copies(folder / "packed", 2)
    unpack(SMALL, folder / "open")
    damaged(folder)
    (folder / "notes.txt").touch()
    return folder


@pytest.fixture(scope="module")
def s3():
    with object_store() as bucket:
        yield bucket


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def web(captures):
    """A web server of the captures that lists folders."""
    handler = functools.partial(Quiet, directory=str(captures))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def uploaded(captures, address):
    place = open_place(address)
    for path in captures.rglob("*"):
        if path.is_file():
            place.fs.put_file(str(path), f"{place.path}/{path.relative_to(captures)}")
    return address


def analysed(source, store):
    """Analyse twice: the second time there is nothing to add."""
    found = foreread.fleet_analyse([source], store, jobs=2)
    again = foreread.fleet_analyse([source], store, jobs=2)
    assert (found.listed, found.analysed, found.errors, found.left) == (4, 4, 1, 0)
    assert (again.listed, again.analysed, again.stored_before) == (4, 0, 4)
    return found


@pytest.mark.thorough
def test_an_object_store_has_captures_and_store(s3, captures, tmp_path):
    source = uploaded(captures, f"{s3}/in")
    assert analysed(source, f"{s3}/store").other_files == 1
    files = foreread.fleet_report(f"{s3}/store", tmp_path)
    assert json.loads(files.json.read_text())["captures"] == 4
    assert f"{s3}/store" in files.sql.read_text()


@pytest.mark.thorough
def test_a_folder_of_an_object_store_is_listed_page_by_page(s3):
    place = open_place(f"{s3}/many")
    for number in range(25):
        place.fs.pipe_file(f"{place.path}/{number}.tar", b"x")
    pages = []
    inner = place.fs.call_s3

    def call_s3(name, *words, **options):
        pages.append(name)
        return inner(name, *words, MaxKeys=10, **options)

    place.fs.call_s3 = call_s3
    try:
        found = [one.address for one in Listing(silent).captures(f"{s3}/many")]
    finally:
        del place.fs.call_s3
    assert len(set(found)) == 25
    assert pages == ["list_objects_v2"] * 3


def test_an_object_whose_name_leaves_its_capture_is_refused(s3, tmp_path):
    place = open_place(f"{s3}/evil")
    place.fs.pipe_file(f"{place.path}/capture.json", b"{}")
    place.fs.pipe_file(f"{place.path}/x/../../../outside", b"x")
    found = Found(f"{s3}/evil", True, "1")
    (tmp_path / "scratch").mkdir()
    with (
        pytest.raises(FleetError, match="a file outside of itself"),
        fetched(found, str(tmp_path / "scratch")),
    ):
        pass
    assert list(tmp_path.rglob("outside")) == []
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_bucket_that_is_not_there_is_an_error(s3, tmp_path):
    with pytest.raises(FleetError, match="nowhere"):
        foreread.fleet_analyse(["s3://nowhere/captures"], tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_server_that_does_not_answer_is_an_error(tmp_path):
    with pytest.raises(FleetError, match=r"127\.0\.0\.1:1.*cannot be reached") as error:
        foreread.fleet_analyse(["http://127.0.0.1:1/captures/"], tmp_path / "store")
    assert "network" in error.value.remedy


def test_a_web_server_has_captures(web, tmp_path):
    found = foreread.fleet_analyse([f"{web}packed/"], tmp_path / "store", jobs=2)
    again = foreread.fleet_analyse([f"{web}packed/"], tmp_path / "store", jobs=2)
    assert (found.listed, found.analysed) == (2, 2)
    assert (again.analysed, again.stored_before) == (0, 2)


@pytest.mark.thorough
def test_memory_has_captures_and_store(captures, tmp_path):
    source = uploaded(captures, "memory://in")
    try:
        analysed(source, "memory://store")
        assert foreread.fleet_report("memory://store", tmp_path).html.exists()
    finally:
        fsspec.filesystem("memory").rm("/", recursive=True)


@pytest.mark.thorough
def test_a_capture_that_was_copied_is_not_added_again(captures, tmp_path):
    foreread.fleet_analyse([captures / "packed"], tmp_path / "store", jobs=1)
    (one,) = (captures / "packed/board-0").iterdir()
    copy = tmp_path / "copy.tar"
    copy.write_bytes(Path(one).read_bytes())
    found = foreread.fleet_analyse([copy], tmp_path / "store", jobs=1)
    assert (found.listed, found.analysed, found.stored_before) == (1, 0, 1)
    both = foreread.fleet_analyse([one, copy], tmp_path / "new", jobs=1)
    assert (both.listed, both.analysed, both.copies) == (2, 1, 1)


@pytest.mark.thorough
def test_another_device_model_is_another_analysis(captures, tmp_path):
    device = tmp_path / "slow.toml"
    device.write_text('kind = "fixed"\nlatency_us = 5000\nns_per_kib = 50000\n')
    source = [captures / "packed/board-0"]
    one = foreread.fleet_analyse(source, tmp_path / "store", jobs=1)
    two = foreread.fleet_analyse(source, tmp_path / "store", jobs=1, device_model=str(device))
    assert (one.analysed, two.analysed, two.stored_before) == (1, 1, 0)
