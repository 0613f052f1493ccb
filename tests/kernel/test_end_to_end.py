"""The main job on the running kernel: a known access pattern goes in, and comes out."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from loop_image import WINDOW_KB, loop_image
from rings import further
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.window import predict

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: nothing was recorded or predicted"),
]
ROOT = Path(__file__).parents[2]
PAGES_READ = [40, 10, 11, 63, 10, 0]
HOSTILE = [
    "<script>alert(1)<",
    "a'b\"c$(touch x)`id`",
    "line\nfeed\x1b[31m",
    "not utf-8 \udcff",
    "$x_1^2$",
]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with loop_image(tmp_path_factory.mktemp("loop")) as image:
        yield image


def foreread(*words, cwd=ROOT, **more):
    done = subprocess.run(
        [sys.executable, "-m", "foreread", *map(str, words)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **more,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pattern(loop):
    """A shell line that reads pages in a known order, writes a file and reads a hole."""
    reads = [f"{loop.busybox} dd if={loop.data} bs=4096 skip={p} count=1" for p in PAGES_READ]
    written = f"{loop.busybox} dd if=/dev/zero of={loop.mountpoint}/written bs=4096 count=9"
    hole = f"{loop.busybox} truncate -s 40960 {loop.mountpoint}/hole"
    cat = f"{loop.busybox} cat {loop.mountpoint}/hole"
    hostile = [f"{loop.busybox} cat {shlex.quote(str(p))}" for p in hostile_files(loop)]
    return "; ".join([*reads, written, hole, cat, *hostile])


def hostile_files(loop):
    """Files whose names try to break out of HTML, shell and terminal."""
    files = [loop.mountpoint / name for name in HOSTILE]
    for file in files:
        if not file.exists():
            file.write_bytes(b"x" * 5000)
    return files


@pytest.fixture(scope="module", params=further(("tracefs", "trace-cmd", "perf"), ["tracefs"]))
def capture(request, loop, tmp_path_factory):
    output = tmp_path_factory.mktemp("capture") / request.param
    foreread("record", "--backend", request.param, "-o", output, "--json", "--wait", str(left_s()),
             "--allow-warm", "--", loop.busybox, "sh", "-c", pattern(loop))  # fmt: skip
    return output


def touched(recording, path):
    row = recording.paths.index(str(path))
    accesses = recording.accesses
    return accesses["page"][accesses["file"] == row].tolist()


def test_pages_read_come_out_in_order_and_once(capture, loop):
    recording = load(capture)
    assert touched(recording, loop.data) == [40, 10, 11, 63, 0]
    assert not recording.contaminated
    assert recording.recorded_read_ahead_kb == 0


@pytest.mark.thorough
def test_written_pages_and_holes_are_not_accesses(capture, loop):
    recording = load(capture)
    for name in ("written", "hole"):
        assert str(loop.mountpoint / name) not in recording.paths
    assert recording.counts["written_or_hole"] >= 9 + 10


@pytest.mark.thorough
def test_without_readahead_every_access_is_a_request(capture, loop):
    prediction = predict(load(capture))
    curve = next(curve for curve in prediction.devices if curve.name == loop.device)
    assert curve.f[0] == curve.tap == curve.pages[0]
    assert curve.g[0] == curve.g_formula[0] == 0
    assert curve.current_read_ahead_kb == WINDOW_KB


@pytest.mark.thorough
def test_every_command_takes_the_capture(capture, loop, tmp_path):
    assert sum(json.loads(foreread("show", capture, "--json"))["lost"].values()) == 0
    answer = foreread("predict", capture, "--criterion", "published")
    assert "quasi-optimal" in answer  # by counts: other work can leave no seconds to predict
    report = json.loads(foreread("report", capture, "-o", tmp_path / "report", "--json"))
    assert Path(report["html"]).read_text().startswith("<!DOCTYPE html>")
    foreread("script", capture, "-o", tmp_path / "boot", "--read-ahead-kb", "16")
    assert "16" in foreread("script", capture, "-o", tmp_path / "b2", "--read-ahead-kb", "16")


@pytest.mark.thorough
def test_hostile_names_are_found_and_shown_harmless(capture, loop, tmp_path):
    paths = load(capture).paths
    assert all(str(file) in paths for file in hostile_files(loop))
    shown = foreread("show", "--verbose", "--files", "99", capture)
    assert "\x1b" not in shown
    assert "line\\nfeed" in shown
    foreread("report", capture, "-o", tmp_path / "report")
    page = (tmp_path / "report/index.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;" in page
    foreread("report", "--static", capture, "-o", tmp_path / "static")
    static = (tmp_path / "static/index.html").read_text()
    assert "<script" not in static
    assert "&lt;script&gt;alert(1)&lt;" in static


@pytest.fixture
def still(loop):
    """The image read-only: its journal is empty, so it keeps no block of metadata in memory.

    A block that a transaction holds survives the dropping of caches, and then one of two runs
    reads it from the disk and the other does not.
    """
    subprocess.run(["mount", "-o", "remount,ro", loop.mountpoint], check=True)
    yield loop
    subprocess.run(["mount", "-o", "remount,rw", loop.mountpoint], check=True)


@pytest.mark.thorough
def test_sweep_is_compared_with_the_prediction(still, tmp_path):
    loop = still
    capture, sweep = tmp_path / "app.capture.tar.xz", tmp_path / "sweep.json"
    command = ["--", loop.busybox, "cat", loop.data]
    here = ["--json", "--wait", str(left_s()), "--allow-warm"]  # others may read files meanwhile
    foreread("record", *here, "-o", capture, *command)
    foreread("sweep", *here, "--windows", "0,16,128", "--repeat", "1", "-o", sweep, *command)
    result = json.loads(foreread("predict", "--json", capture, "--measured", sweep))
    assert [point["read_ahead_kb"] for point in result["points"]] == [0, 16, 128]
    at_zero = result["points"][0]
    assert at_zero["predicted"]["F"] <= at_zero["measured"]["F"]
    # Which window is predicted best depends on the disk: it need not be one of the three.
    unmeasured = any("was not measured" in note for note in result["notes"])
    assert (result["regret"] is None) == unmeasured
