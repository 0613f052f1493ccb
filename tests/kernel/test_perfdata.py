"""The perf.data reader against perf itself, on recordings made by the running kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from rings import further

from foreread.analyzer.ingest import perfdata
from foreread.analyzer.ingest.spec import EVENT_SPECS
from foreread.analyzer.ingest.tables import Kind
from foreread.tracer.backends import tracefs_mount

PERF = shutil.which("perf")
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no perf recording was compared"),
    pytest.mark.skipif(PERF is None, reason="no perf: the perf.data reader was not compared"),
]
_LINE = re.compile(r"\s*\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\w+:\w+):")


@pytest.fixture(scope="module", autouse=True)
def _tracing():
    """Mount tracefs for perf, which would leave it mounted."""
    with tracefs_mount.mounted():
        yield


def perf(*arguments: str) -> str:
    command = [str(PERF), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted_here() -> list[str]:
    listed = perf("list", "tracepoint")
    return [event for event in EVENT_SPECS if f" {event} " in listed]


def record(path: Path, *options: str) -> None:
    """Record a process that reads a file not cached, over all CPUs."""
    data = path.with_name("data")
    data.write_bytes(os.urandom(1 << 20))
    os.sync()
    with data.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    events = [word for event in wanted_here() for word in ("-e", event)]
    workload = ("sh", "-c", f"cat {data} | wc -c; :")
    perf("record", "-q", "-a", "-k", "mono", *options, *events, "--", *workload)


def by_perf_script(path: Path) -> Counter[tuple[int, int, int]]:
    """Count (time_ns, cpu, kind)."""
    found: Counter[tuple[int, int, int]] = Counter()
    for line in perf("script", "--ns", "-i", str(path), "-F", "cpu,time,event").splitlines():
        match = _LINE.match(line)
        assert match, line
        cpu, seconds, fraction, event = match.groups()
        found[int(seconds) * 10**9 + int(fraction), int(cpu), int(EVENT_SPECS[event].kind)] += 1
    return found


@pytest.mark.parametrize(
    "options", further(("", "-z", "-g"), [""]), ids=["plain", "zstd", "callchains"]
)
def test_same_events_as_perf_script(options: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    record(path, "-o", str(path), *options.split())
    trace = perfdata.read(path)
    columns = [trace.events[name].tolist() for name in ("time_ns", "cpu", "kind")]
    assert Counter(zip(*columns, strict=True)) == by_perf_script(path)
    assert trace.kernel == os.uname().release
    assert trace.page_size == os.sysconf("SC_PAGE_SIZE")


@pytest.mark.thorough
def test_pages_of_the_file_read_are_inserted(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    record(path, "-o", str(path))
    status = (tmp_path / "data").stat()
    events = perfdata.read(path).events
    inserts = events.take((events["kind"] == Kind.INSERT) & (events["ino"] == status.st_ino))
    if not inserts.rows:
        pytest.skip(f"this machine has {tmp_path} outside of any disk: inserts were not compared")
    pages = set()
    for index, order in zip(inserts["index"].tolist(), inserts["value"].tolist(), strict=True):
        pages |= set(range(index, index + (1 << order)))
    assert pages == set(range((1 << 20) // os.sysconf("SC_PAGE_SIZE")))
    dev = os.major(status.st_dev) << 20 | os.minor(status.st_dev)
    assert set(inserts["dev"].tolist()) == {dev}
