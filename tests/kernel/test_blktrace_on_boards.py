"""The requests in blktrace's own files, from an emulated board, against those predicted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np
import pytest
from named_recordings import record_named_on

from foreread.analyzer.ingest.load import load, load_any
from foreread.analyzer.ingest.tables import Rwbs
from foreread.analyzer.predict.choice import predict_by
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.emulated.parts import DEFAULT_PACKAGES
from foreread.tracer.runs.options import RunOptions
from foreread.tracer.runs.recording import RecordOptions

COMMAND = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]
WINDOWS_KB = (0, 8, 16, 32, 64, 128, 256, 1024)
# blktrace runs from memory: it shares no cached page with the application.
BEGIN = """
set -e
mkdir /run/tools
cd /run/tools
for file in /usr/sbin/blktrace /lib64/ld-linux-x86-64.so.2; do cp "$file" .; done
cp /lib/x86_64-linux-gnu/libc.so.6 .
mkdir -p /sys/kernel/debug/block 2>/dev/null || mount -t debugfs debugfs /sys/kernel/debug
./ld-linux-x86-64.so.2 --library-path . ./blktrace -d /dev/slow0 -D /run -o start >/run/said 2>&1 &
echo $! >/run/tracer
until [ "$(cat /sys/block/slow0/trace/enable)" = 1 ]; do sleep 1; done
"""
# Keeps its process number, which is that of the application. What it printed would wake the server
# of the connection, whose faults in the C library read ahead what the application needs.
START = f"""
echo "$1" >/sys/block/slow0/queue/read_ahead_kb
sync
echo 3 >/proc/sys/vm/drop_caches
echo $$ >/run/pid
exec {shlex.join(COMMAND)}
"""
END = """
cd /run || exit
read -r tracer <tracer
kill -INT "$tracer"
while [ -e "/proc/$tracer" ]; do sleep 1; done
blkparse -q -i start -d start.bin >/dev/null
"""

pytestmark = [pytest.mark.boards, pytest.mark.thorough]


@pytest.fixture(scope="module")
def board() -> Iterator[EmulatedTarget]:
    packages = (*DEFAULT_PACKAGES, "blktrace")
    with EmulatedTarget(LiveOptions("x86_64", kernel="6.12", packages=packages)) as target:
        yield target


def shell(board, script, *words):
    done = board.run(["sh", "-c", script, "sh", *map(str, words)])
    assert done.status == 0, done.stderr
    return done.stdout.decode()


def reads_of_files(requests, recording):
    """Return a mask of the reads within files of the start.

    The others are of metadata; ext4 reads inode tables ahead without the flag that says so.
    """
    found = np.zeros(requests.rows, bool)
    for entry in filter(None, recording.entries):
        for extent in entry.extents or ():
            at = requests["sector"] * np.uint64(512)
            found |= (at >= extent.physical) & (at < extent.physical + extent.length)
    return found & ((requests["flags"] & Rwbs.READ) > 0)


def test_reads_of_each_start_are_as_many_as_predicted(board, tmp_path, capsys):
    shell(board, BEGIN)
    capture = tmp_path / "start.capture"
    record_named_on(board, RecordOptions(RunOptions(COMMAND, allow_warm=True)), capture)
    pids = {}
    for kb in WINDOWS_KB:
        shell(board, START, kb)
        pids[kb] = int(shell(board, "cat /run/pid"))
    shell(board, END)
    board.pull("/run/start.bin", tmp_path / "start.bin")
    requests = load_any(tmp_path / "start.bin").requests
    recording = load(capture)
    of_files = reads_of_files(requests, recording)
    found = {kb: int((of_files & (requests["pid"] == pid)).sum()) for kb, pid in pids.items()}
    total = predict_by(recording).total
    predicted = {kb: total.f[total.read_ahead_kb.index(kb)] for kb in WINDOWS_KB}
    with capsys.disabled():
        print(f"\n  reads by window in KiB: {found}", end="")
    assert found == predicted
