"""A recorded start that is made up, to be replayed beside loads."""

from __future__ import annotations

from capture_builder import capture_of, device_of, host_of
from event_table import R, event, insert, read, table

from foreread.analyzer.ingest.interpret import interpret
from foreread.analyzer.ingest.recording import Trace
from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.start import prepare
from foreread.emulator.devices.device import FixedCost
from foreread.tracer.formats.capture import FileEntry, Mount

PAGE, PAGES = 4096, 64
MS = 1_000_000
KERNEL = (6, 12, 1)
DISK = FixedCost(1 * MS, 50_000)


def a_start(device=DISK, **queue):
    """64 pages of a file, read in order, 0.3 ms of computing before each."""
    events, now = [], 0
    for page in range(PAGES):
        now += 300_000
        events += [
            insert(1, page, time_ns=now - 3_000),
            read(page * 8, 1, time_ns=now - 10),
            event(Kind.RQ_ISSUE, index=page * 8, value=8, flags=R, time_ns=now),
        ]
        now += 1_200_000
        events.append(event(Kind.RQ_COMPLETE, index=page * 8, value=8, flags=R, time_ns=now))
        events.append(event(Kind.GET_PAGES, ino=1, index=page, value=page, time_ns=now + 500))
    capture = capture_of(
        host=host_of(kernel="6.12.1"),
        end_ns=now + 50,
        pid=1,
        devices=[
            device_of(filesystems=["7:0"], queue={"max_sectors_kb": "1280", **queue}),
            device_of("8:0", "sda", filesystems=["8:1"]),
        ],
        mounts=[
            Mount(dev="7:0", mountpoint="/", fstype="ext4", source="/dev/loop0", options=""),
            Mount(dev="8:1", mountpoint="/data", fstype="ext4", source="/dev/sda1", options=""),
        ],
    )
    entry = FileEntry(dev="7:0", ino=1, path="/a", size_bytes=PAGES * PAGE)
    trace = Trace("test", table(*events), kernel="6.12.1")
    recording = interpret(trace, capture, [entry], "all")
    return prepare(inputs(recording, KERNEL), KERNEL, device)
