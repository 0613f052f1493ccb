"""``foreread improve`` on the running kernel: the whole job, killed on its way and continued."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from limited_disks import limiting_group
from loop_image import WINDOW_KB, loop_image
from waiting import left_s, wait_until

import foreread.analyzer.report.write
from foreread.cli.main import main
from foreread.tracer.formats.capture import METADATA, read
from foreread.tracer.local.journal import restore_leftovers

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no start was improved"),
]
ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).parent.parent / "support/touch_pages.c"
PIECE = 64 << 10
# With those of the program about 260 requests, six and a half slices of the limiter: a request more
# or less, of metadata, does not take another tenth of a second. The present window reads 13 MB,
# which takes more than twice as long.
PIECES = 204
REQUESTS_PER_S, BYTES_PER_S = 400, 8 << 20
JOIN = """\
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int members = open(argv[1], O_WRONLY);
    if (argc < 3 || members < 0 || write(members, "0", 1) != 1 || close(members))
        return 1;
    return execv(argv[2], argv + 2);
}
"""
STEPS = ["check", "record", "predict", "advise", "confirm", "report", "script"]


@pytest.fixture
def loop():
    with TemporaryDirectory(dir="/dev/shm") as folder, loop_image(Path(folder)) as image:
        yield image


@pytest.fixture
def start(loop):
    """The words of a start that uses one page of each 64 KiB: the present window reads all of them.

    It reads from its own disk alone, without a shell or a library of this machine's, and that disk
    is so slow that what else the machine does matters little. ``join`` is in memory: its own pages
    would be read before it is in the group, without a limit, and the replay has one disk only.
    """
    in_memory = loop.mountpoint.parent
    program, data = loop.mountpoint / "touch_pages", loop.mountpoint / "sparse"
    linked, join = in_memory / "touch_pages", in_memory / "join"
    subprocess.run(["cc", "-O2", "-static", "-o", linked, SOURCE], check=True)
    shutil.copy(linked, program)  # the linker leaves holes: a page with one is read block by block
    subprocess.run(
        ["cc", "-O2", "-static", "-x", "c", "-o", join, "-"], input=JOIN, text=True, check=True
    )
    data.write_bytes(os.urandom(PIECES * PIECE))
    os.sync()
    with limiting_group(loop.device, REQUESTS_PER_S, BYTES_PER_S) as group:
        members = group / "cgroup.procs"
        yield [str(word) for word in (join, members, program, "SPARSE", data, PIECE)]
        wait_until(lambda: not members.read_text())


def improve(folder, start, *options):
    words = [sys.executable, "-m", "foreread", "improve", "-o", str(folder), *options]
    words += ["--wait", str(left_s()), "--allow-warm", "--", *start]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def document(folder):
    return json.loads((folder / "improve.json").read_text())


@pytest.mark.thorough  # make demo does the whole job with each change
def test_the_whole_job_on_a_loop_device(loop, start, tmp_path, monkeypatch, capsys):
    """Whether a remedy is confirmed depends on what else the machine does, and is not asserted."""
    monkeypatch.setattr(foreread.analyzer.report.write, "write_pdf", lambda *_: None)
    monkeypatch.setattr(foreread.analyzer.report.write, "_picture", lambda _: b"")
    folder = tmp_path / "out"
    words = ["improve", "-o", str(folder), "--allow-warm", "--wait", str(left_s())]
    while (code := main([*words, "--", *start])) and left_s():
        # Processes of others took the processor from the recorded run.
        assert "no predicted seconds" in capsys.readouterr().err
        shutil.rmtree(folder)
    assert code == 0
    found = document(folder)
    assert found["answer"] in capsys.readouterr().out
    assert found["verdict"] in ("confirmed", "keep")
    assert found["now"]["read_ahead_kb"] == WINDOW_KB
    measured = [one for one in found["remedies"] if one["measured"]]
    assert measured and all(one["by_script"] for one in measured)
    capture = read(folder / "app.capture")[0]
    assert capture.command == start and capture.confirmations
    assert (folder / "report/index.html").exists()
    assert (folder / "boot/foreread-apply").exists() == (found["verdict"] == "confirmed")
    assert loop.restored_kb() == WINDOW_KB


@pytest.mark.thorough
def test_killed_three_times_it_goes_on_and_comes_to_its_answer(loop, start, tmp_path):
    """Which answer it is depends on what else the machine does, and is not asserted."""
    folder = tmp_path / "out"
    capture = folder / "app.capture"
    reached = [
        (folder / "output.txt").exists,  # before or in the recording
        (capture / METADATA).exists,  # in the prediction
        (folder / "advice/advice.json").exists,  # in the runs
    ]
    for place in reached:
        process = improve(folder, start)
        wait_until(lambda: place() or process.poll() is not None)  # noqa: B023
        process.kill()
        _, told = process.communicate()
        assert process.returncode == -signal.SIGKILL, told
    created = read(capture)[0].created
    process = improve(folder, start)
    said, told = process.communicate()
    assert process.returncode == 0, told
    found = document(folder)
    states = {one["name"]: one["state"] for one in found["steps"]}
    assert states["record"] == "kept"
    assert read(capture)[0].created == created
    assert states["report"] == "done" and (folder / "report/index.html").exists()
    assert found["verdict"] in ("confirmed", "keep")
    assert states["confirm"] == "done"
    assert found["answer"] in said
    assert [name for name in STEPS if name in states] == list(states)
    assert all(one["command"].startswith("foreread ") for one in found["steps"])
    restore_leftovers()
    assert loop.restored_kb() == WINDOW_KB
