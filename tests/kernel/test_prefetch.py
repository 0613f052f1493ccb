"""The replayers on the running kernel: they bring in what a list names, and a start reads it."""

from __future__ import annotations

import os
import subprocess

import pytest
from loop_image import loop_image
from machine_lock import nobody_records
from named_recordings import record_named
from prefetch_replayers import SHELLS, cached_pages, compiled, forget, scripted
from shells import BUSYBOX, each_shell
from waiting import left_s, wait_until

from foreread.analyzer.ingest.load import load
from foreread.analyzer.prefetch import Listing, Range, encode, find_ranges
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

PAGE = os.sysconf("SC_PAGE_SIZE")
NAMES = ("plain", " two words", "new\nline\n", "tab\there", "quote'\"$(x)`y`", "\udcff\\0101*[a]")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no list was replayed"),
]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with loop_image(tmp_path_factory.mktemp("prefetch")) as image:
        for name in NAMES:
            (image.mountpoint / name).write_bytes(os.urandom(96 * PAGE + 100))
        os.sync()
        yield image


@pytest.fixture(scope="module")
def replayers(tmp_path_factory):
    found = {"c": compiled(tmp_path_factory.mktemp("replayer"))}
    return found | {shell[0]: scripted(shell) for shell in SHELLS}


def replayed(command, listing, tmp_path):
    if not command:
        pytest.skip("this shell is not installed: the script was not run under it")
    path = tmp_path / "list"
    path.write_bytes(encode(listing))
    done = subprocess.run([*command, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("shell", each_shell(BUSYBOX, of=(("c",), *SHELLS)))
def test_pages_of_hostile_names_are_brought_in(loop, replayers, tmp_path, shell):
    files = [loop.mountpoint / name for name in NAMES]
    with nobody_records():
        assert_brought_in(files, replayers[shell[0]], tmp_path, exactly=shell == ("c",))


def assert_brought_in(files, replayer, tmp_path, exactly):
    for file in files:
        forget(file)
        assert cached_pages(file) == []
    ranges = [Range(str(file), at * PAGE, 3 * PAGE) for at in (40, 8) for file in files]
    ranges += [Range(str(files[0]), 96 * PAGE, PAGE), Range(f"{files[0]}.gone", 0, PAGE)]
    ranges += [Range(str(files[1]), 1000 * PAGE, PAGE)]
    replayed(replayer, Listing(tuple(ranges)), tmp_path)
    wanted = {*range(8, 11), *range(40, 43)}
    for file in files:
        needed = wanted | ({96} if file == files[0] else set())
        wait_until(lambda file=file, needed=needed: needed <= {*cached_pages(file)})
        if exactly:
            assert {*cached_pages(file)} == needed


@pytest.mark.thorough
@pytest.mark.parametrize("largest_kb", ("64", "127"))
def test_ranges_larger_than_a_request_are_read_completely(loop, replayers, tmp_path, largest_kb):
    """The kernel drops what goes beyond the device's largest request, which may end in a page."""
    file = loop.mountpoint / "large"
    file.write_bytes(os.urandom(4 << 20))
    forget(file)
    limits = {loop.knob.parent / "max_sectors_kb": largest_kb, loop.knob: "0"}
    listing = Listing(tuple(Range(str(file), at << 20, 1 << 20) for at in (0, 2)))
    pages = (1 << 20) // PAGE
    wanted = {*range(pages), *range(2 * pages, 3 * pages)}
    with nobody_records():
        before = {knob: knob.read_text() for knob in limits}
        try:
            for knob, value in limits.items():
                knob.write_text(value)
            said = replayed(replayers["c"], listing, tmp_path)
        finally:
            for knob, value in before.items():
                knob.write_text(value)
        wait_until(lambda: {*cached_pages(file)} == wanted)
    assert "2048 KiB in 2 ranges, files opened 1 times" in said


def test_the_list_of_a_start_has_the_pages_that_it_reads(loop, replayers, tmp_path):
    """Recorded, listed, replayed: what was accessed is there, and nothing else of the file."""
    data = loop.data
    words = [str(loop.busybox), "dd", f"if={data}", "of=/dev/null", f"bs={PAGE}", "skip=3"]
    options = RecordOptions(RunOptions([*words, "count=7"], allow_warm=True), wait_s=left_s())
    record_named(options, tmp_path / "capture")
    recording = load(tmp_path / "capture")
    found = find_ranges(recording)
    assert Range(str(data), 3 * PAGE, 7 * PAGE) in found.listing.ranges
    program = [one for one in found.listing.ranges if one.path == str(loop.busybox)]
    assert sum(one.length for one in program) > 10 * PAGE
    assert found.wasted_bytes == 0
    with nobody_records():
        forget(data)
        replayed(replayers["c"], found.listing, tmp_path)
        wait_until(lambda: cached_pages(data) == [*range(3, 10)], lambda: cached_pages(data))
