"""A real application, recorded once at read_ahead_kb=0: what it reads at other windows.

Every folio and every request of runs at those windows is the one predicted.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from loop_image import loop_image
from named_recordings import record_named
from rings import further
from waiting import left_s

from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.tables import Kind, Rwbs
from foreread.analyzer.predict.linux import inputs, predict_linux
from foreread.boards.mounts import mount_of, read_mounts
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.stepwise.replay import emulate
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

WINDOWS_KB = ((0, 16, 128), (0, 4, 64, 256))
# In 3 of 120 runs the shell read other pages, also at window 0, where nothing is read ahead. Such a
# run cannot be predicted from another one, and is made again.
TRIES = 4
BIG = 1 << 20  # bytes: more pages than a mapping has misses before it is read page by page
RELEASE = version_of(os.uname().release)

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no application was predicted"),
    pytest.mark.skipif(
        RELEASE < (6, 12),
        reason="this kernel has no access events",
    ),
]


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with loop_image(tmp_path_factory.mktemp("application")) as image:
        with Path("/usr/bin/perl").open("rb") as program:
            (image.mountpoint / "program").write_bytes(program.read())
        (image.mountpoint / "program").chmod(0o755)
        for name in ("big", "big-b", "big-c"):
            (image.mountpoint / name).write_bytes(os.urandom(BIG))
        os.sync()
        yield image


def application(loop):
    """A shell that runs programs and reads files in three ways, all of them on the image."""
    busybox, data = loop.busybox, loop.data
    return [
        str(busybox),
        "sh",
        "-c",
        f"{busybox} cat {data} >/dev/null; {busybox} dd if={data} of=/dev/null bs=7000 skip=3;"
        f"{busybox} md5sum {busybox} {loop.mountpoint}/program; {loop.mountpoint}/program -e 1;"
        f"{busybox} tail -c 100 {data}",
    ]


# How struct files and mappings pass on: a descriptor read by two processes and through a duplicate,
# advice before the first page, pages that are written, and an inherited standard input.
GUEST = """
import mmap, os, subprocess, sys
path = sys.argv[1]
size = os.stat(path).st_size
fd = os.open(path, os.O_RDONLY)
os.read(fd, 20000)
if os.fork() == 0:
    os.read(fd, 20000)
    os._exit(0)
os.wait()
copy = os.dup(fd)
os.close(fd)
os.read(os.open(path + "-b", os.O_RDONLY), 10)  # has the number of the one that was closed
os.read(copy, 20000)
os.lseek(copy, 300000, os.SEEK_SET)
os.read(copy, 9000)
os.read(copy, 9000)
os.set_inheritable(copy, True)
subprocess.run(["/bin/cat"], stdin=copy, stdout=subprocess.DEVNULL, check=True)
ahead = os.open(path + "-b", os.O_RDONLY)
os.posix_fadvise(ahead, 0, 0, os.POSIX_FADV_SEQUENTIAL)
os.read(ahead, 100000)
with open(path + "-c", "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    for page in range(0, size // mmap.PAGESIZE, 2):
        mapped[page * mmap.PAGESIZE] = 1
"""


def recorded(loop, kb, output, command=None):
    options = RunOptions(command or application(loop), allow_warm=True)
    wanted = RecordOptions(options, wait_s=left_s(), read_ahead_kb=kb)
    record_named(wanted, output)
    return load(output)


def device(loop):
    mount = mount_of(loop.mountpoint, read_mounts())
    assert mount is not None
    major, minor = map(int, mount.dev.split(":"))
    return major << 20 | minor


def folios(recording, dev):
    data = recording.inserts.data
    own = (data["dev"] == dev) & np.isin(data["pid"], list(recording.threads))
    return [
        tuple(row)
        for row in zip(*(data[c][own].tolist() for c in ("ino", "index", "value")), strict=True)
    ]


def requests(recording, dev):
    """Requests of file data: their sectors lie in an extent of a file."""
    events = recording.trace.events
    flags = events["flags"]
    issued = (events["kind"] == Kind.RQ_ISSUE) & (events["dev"] == dev)
    issued &= ((flags & Rwbs.READ) > 0) & ((flags & Rwbs.META) == 0)
    pieces = [e for entry in recording.entries if entry for e in entry.extents or []]
    return sum(
        any(e.physical <= sector * 512 < e.physical + e.length for e in pieces)
        for sector in events["index"][issued].tolist()
    )


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is missing")
@pytest.mark.parametrize("windows_kb", further((one,) for one in WINDOWS_KB))
def test_folios_and_requests_at_other_windows_are_those_predicted(windows_kb, loop, tmp_path):
    compare(loop, tmp_path, application(loop), windows_kb)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is missing")
def test_struct_files_are_followed_through_processes_and_duplicates(loop, tmp_path):
    command = [sys.executable, "-S", "-c", GUEST, str(loop.mountpoint / "big")]
    compare(loop, tmp_path, command, sorted({kb for some in WINDOWS_KB for kb in some}))


def compare(loop, tmp_path, command, windows_kb):
    dev = device(loop)
    base = usual(loop, dev, tmp_path, command)
    predicted = predict_linux(base, windows=[kb * 1024 // base.page_size for kb in windows_kb])
    curve = next(curve for curve in predicted.devices if curve.name == loop.device)
    taken = inputs(base, RELEASE)
    row = taken.disks.index(dev)
    names, ino = base.files["dev"].tolist(), base.files["ino"].tolist()
    for at, kb in enumerate(windows_kb):
        window = kb * 1024 // base.page_size
        outcome = emulate(taken.program, rules_for(RELEASE), window, taken.machine(row)[0])
        expected = [(ino[f], i, o) for f, i, o, _ in outcome.inserts if names[f] == dev]
        found = []
        while (expected, curve.f[at]) not in found and len(found) < TRIES:
            place = tmp_path / f"at{kb}-{len(found)}"
            run = recorded(loop, kb, place, command) if kb else base
            found.append((folios(run, dev), requests(run, dev)))
        assert expected == found[-1][0], kb
        assert curve.f[at] == found[-1][1], kb


def usual(loop, dev, tmp_path, command):
    """Record at window 0 until two runs read the same; return one of them."""
    runs = []
    for number in range(TRIES):
        run = recorded(loop, 0, tmp_path / f"0-{number}", command)
        if any(folios(run, dev) == folios(other, dev) for other in runs):
            return run
        runs.append(run)
    raise AssertionError(f"no two of {TRIES} runs read the same")
