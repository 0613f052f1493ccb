"""Captures are listed as a stream, and other files are counted."""

import os
import tracemalloc
from itertools import islice

import pytest
from fleet_captures import SMALL

from foreread.analyzer.fleet.error import FleetError
from foreread.analyzer.fleet.listing import Listing
from foreread.analyzer.ingest.archive import unpack
from foreread.boards.base.silent import silent
from foreread.tracer.formats.packing import SUFFIXES


def listed(path, unreadable=silent):
    return sorted(found.address for found in Listing(unreadable).captures(str(path)))


def test_archives_and_folders_with_metadata_are_captures(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ("one.tar", "a/two.capture.tar.xz", "a/b/three.TAR.GZ", "a/readme", "perf.data"):
        (tmp_path / name).touch()
    (tmp_path / "a/four").mkdir()
    unpack(SMALL, tmp_path / "a/four")
    inner = next((tmp_path / "a/four").iterdir())
    listing = Listing(silent)
    found = sorted(
        one.address.removeprefix(f"{tmp_path}/") for one in listing.captures(str(tmp_path))
    )
    assert found == [
        "a/b/three.TAR.GZ",
        str(inner.relative_to(tmp_path)),
        "a/two.capture.tar.xz",
        "one.tar",
    ]
    assert (listing.listed, listing.others) == (4, 2)


def test_every_archive_that_foreread_writes_is_listed(tmp_path):
    names = [f"one{suffix}" for suffix in SUFFIXES]
    assert {"one.tar.bz2", "one.tbz2"} < {*names}
    for name in names:
        (tmp_path / name).touch()
    assert listed(tmp_path) == sorted(str(tmp_path / name) for name in names)


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path):
    (tmp_path / "perf.data").touch()
    assert listed(tmp_path / "perf.data") == [str(tmp_path / "perf.data")]


def test_a_stamp_changes_with_the_file(tmp_path):
    path = tmp_path / "one.tar"
    path.touch()
    (first,) = Listing(silent).captures(str(tmp_path))
    os.utime(path, ns=(1, 1))
    (second,) = Listing(silent).captures(str(tmp_path))
    (named,) = Listing(silent).captures(str(path))
    assert first.stamp != second.stamp == named.stamp


def test_links_to_folders_and_circles_are_not_followed(tmp_path):
    (tmp_path / "one.tar").touch()
    (tmp_path / "circle").symlink_to(tmp_path)
    assert listed(tmp_path) == [str(tmp_path / "one.tar")]


def test_pipes_and_devices_are_not_opened(tmp_path):
    os.mkfifo(tmp_path / "one.tar")
    (tmp_path / "two.tar").symlink_to("/dev/zero")
    listing = Listing(silent)
    assert list(listing.captures(str(tmp_path))) == []
    assert listing.others == 2


def test_a_place_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FleetError, match="does not exist"):
        listed(tmp_path / "nowhere")


def test_an_address_that_nothing_opens_is_an_error():
    with pytest.raises(FleetError, match="Protocol not known: nothing"):
        listed("nothing://place")


def test_a_folder_that_cannot_be_listed_is_said_and_the_rest_is_listed(tmp_path, monkeypatch):
    (tmp_path / "bad").mkdir()
    (tmp_path / "one.tar").touch()
    inner = os.scandir

    def scandir(path):
        if str(path).endswith("/bad"):
            raise PermissionError(13, "Permission denied", str(path))
        return inner(path)

    monkeypatch.setattr(os, "scandir", scandir)
    said = []
    assert listed(tmp_path, lambda *words: said.append(words)) == [str(tmp_path / "one.tar")]
    assert [(place, "Permission denied" in why) for place, why in said] == [
        (str(tmp_path / "bad"), True)
    ]


def peak_of(folder, number):
    """Return the memory that a listing takes, after its first name."""
    tracemalloc.start()
    try:
        captures = Listing(silent).captures(str(folder))
        next(captures)
        tracemalloc.reset_peak()
        begin, _ = tracemalloc.get_traced_memory()
        assert sum(1 for _ in islice(captures, number)) == number - 1
        return tracemalloc.get_traced_memory()[1] - begin
    finally:
        tracemalloc.stop()


def filled(folder, number):
    """Fill a folder with empty files: links, of which ext4 allows 65,000 to a file."""
    for first in range(0, number, 50_000):
        (folder / "files").mkdir(exist_ok=True)
        one = folder / f"files/{first}.tar"
        one.touch()
        for each in range(first + 1, min(first + 50_000, number)):
            os.link(one, f"{folder}/files/{each}.tar")
    return folder


@pytest.mark.thorough
def test_a_folder_of_many_files_is_listed_in_little_memory(tmp_path):
    assert peak_of(filled(tmp_path, 10_000), 10_000) < 300_000


@pytest.mark.thorough
@pytest.mark.timeout(1200)  # a million files take minutes on a busy machine
def test_a_folder_of_a_million_files_is_listed_in_little_memory(tmp_path):
    assert peak_of(filled(tmp_path, 1_000_000), 1_000_000) < 300_000
