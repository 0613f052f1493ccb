"""Every back-end against the running kernel: what it records, what it loses, what it leaves."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rings import further
from waiting import wait_until

from foreread.analyzer.ingest.detect import open_trace
from foreread.analyzer.ingest.tables import Kind
from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.tracer.backends import supervised, tracefs_mount
from foreread.tracer.backends.base import WANTED_EVENTS, Backend, Recorded
from foreread.tracer.backends.perf import PerfBackend
from foreread.tracer.backends.select import candidates
from foreread.tracer.backends.supervised import leftovers
from foreread.tracer.backends.trace_cmd import TraceCmdBackend
from foreread.tracer.backends.tracefs import TracefsBackend
from foreread.tracer.error import RecordError

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no recording was checked"),
]

BACKENDS: list[type[Backend]] = [TracefsBackend, TraceCmdBackend, PerfBackend]
FILES = {"perf": "perf.data", "trace-cmd": "trace.dat", "tracefs": ""}
BUFFER_KIB = 16384
DATA_PAGES = 300
PAGE = os.sysconf("SC_PAGE_SIZE")
REPOSITORY = Path(__file__).parents[2]
_ADDED = re.compile(r"dev (\d+):(\d+) ino ([0-9a-f]+) .*ofs=(\d+)(?: order=(\d+))?")


@pytest.fixture(scope="module", autouse=True)
def _tracing():
    """Mount tracefs, which these tests look into; perf and trace-cmd would leave it mounted."""
    with tracefs_mount.mounted():
        yield


@dataclass(frozen=True)
class Program:
    """A program and its data on an ext4 image of their own."""

    mountpoint: Path

    def run(self) -> None:
        """Read all data with the program."""
        command = [str(self.mountpoint / "busybox"), "cat", str(self.mountpoint / "data")]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def inode(self, name: str) -> int:
        return (self.mountpoint / name).stat().st_ino

    @property
    def dev(self) -> tuple[int, int]:
        number = self.mountpoint.stat().st_dev
        return os.major(number), os.minor(number)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[], Program]]:
    """Return a function that mounts a copy of the image: nothing of it is cached then.

    The same image mounted again may be warm: a recorder's mount namespace keeps its mounts.
    """
    source, image = tmp_path / "source", tmp_path / "image"
    source.mkdir()
    shutil.copy(shutil.which("busybox") or pytest.fail("busybox is needed"), source / "busybox")
    (source / "data").write_bytes(os.urandom(DATA_PAGES * PAGE))
    with image.open("wb") as file:
        file.truncate(16 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-d", str(source), str(image)], check=True)
    mounted: list[Path] = []

    def cold() -> Program:
        mountpoint = tmp_path / f"mnt{len(mounted)}"
        mountpoint.mkdir()
        copy = shutil.copy(image, tmp_path / f"image{len(mounted)}")
        subprocess.run(["mount", "-o", "loop,ro", str(copy), str(mountpoint)], check=True)
        mounted.append(mountpoint)
        fresh = Program(mountpoint)
        major, minor = fresh.dev
        Path(f"/sys/dev/block/{major}:{minor}/queue/read_ahead_kb").write_text("0")
        return fresh

    yield cold
    for mountpoint in mounted:  # lazily: another program may be looking at its files
        subprocess.run(["umount", "--lazy", str(mountpoint)], check=True)


def present_events() -> list[str]:
    with tracefs_mount.mounted() as place:
        return tracefs_mount.available(place, WANTED_EVENTS)[0]


def record(backend: Backend, directory: Path, program: Program) -> Recorded:
    directory.mkdir()
    backend.start(directory, present_events(), BUFFER_KIB)
    try:
        program.run()
    finally:
        recorded = backend.stop()
    return recorded


def decode(name: str, directory: Path) -> str:
    """Return the trace as text of the recorder's own tools, which share no code with ours."""
    if name == "perf":
        command = ["perf", "script", "--fields", "event,trace", "-i", str(directory / "perf.data")]
    elif name == "trace-cmd":
        command = ["trace-cmd", "report", "-i", str(directory / "trace.dat")]
    else:
        restore(directory)
        command = ["trace-cmd", "report", "-i", str(directory / "restored.dat")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def restore(directory: Path) -> None:
    """Make a trace.dat of the raw pages in ``directory``."""
    head, out = str(directory / "head.dat"), str(directory / "restored.dat")
    pages = sorted(map(str, directory.glob("cpu*.raw")), key=lambda name: (len(name), name))
    for command in (["-c", "-o", head], ["-i", head, "-o", out, *pages]):
        subprocess.run(["trace-cmd", "restore", *command], check=True, capture_output=True)


def inserted(text: str, dev: tuple[int, int]) -> set[tuple[int, int]]:
    """Return (inode, page) of every page that was added to the cache from ``dev``."""
    pages = set()
    for line in text.splitlines():
        added = _ADDED.search(line) if "mm_filemap_add_to_page_cache" in line else None
        if added and (int(added[1]), int(added[2])) == dev:
            first = int(added[4]) // PAGE
            run = range(first, first + (1 << int(added[5] or 0)))
            pages |= {(int(added[3], 16), page) for page in run}
    return pages


def inserted_as_read(trace: Path, dev: tuple[int, int]) -> set[tuple[int, int]]:
    """Return what :func:`inserted` does, by our own readers."""
    events = open_trace(trace).events
    added = events.take((events["kind"] == Kind.INSERT) & (events["dev"] == dev[0] << 20 | dev[1]))
    columns = (added[name].tolist() for name in ("ino", "index", "value"))
    return {
        (ino, page)
        for ino, first, order in zip(*columns, strict=True)
        for page in range(first, first + (1 << order))
    }


def traces_of(pid: int) -> list[str]:
    """Return instances, scratch directories, mounts and processes that ``pid`` left behind.

    The mount of these tests' own process lasts until its last test.
    """
    mark = f"{PREFIX}{pid}-"
    place = tracefs_mount.find()
    assert place
    found = [str(one) for one in (place / "instances").glob(f"{mark}*")]
    found += [str(one) for one in Path("/dev/shm").glob(f"{mark}*")]
    if pid != os.getpid():
        found += [one for one in Path("/proc/mounts").read_text().splitlines() if mark in one]
    return found + [line for line in command_lines() if mark in line]


def command_lines() -> list[str]:
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # ended meanwhile
    return lines


@pytest.mark.parametrize("backend", further(BACKENDS, BACKENDS[1:]))  # tracefs: test_record.py
def test_records_every_page_the_program_read(
    backend: type[Backend], program: Callable[[], Program], tmp_path: Path
) -> None:
    cold = program()
    recorded = record(backend(), tmp_path / "trace", cold)
    pages = inserted(decode(backend.name, tmp_path / "trace"), cold.dev)
    assert inserted_as_read(tmp_path / "trace" / FILES[backend.name], cold.dev) == pages
    data = cold.inode("data")
    assert {page for ino, page in pages if ino == data} == set(range(DATA_PAGES))
    assert sum(recorded.lost.values()) == 0
    assert traces_of(os.getpid()) == []


@pytest.mark.thorough
def test_back_ends_record_the_same_pages(program: Callable[[], Program], tmp_path: Path) -> None:
    pages = {}
    for backend in BACKENDS:
        cold = program()
        files = {cold.inode("busybox"), cold.inode("data")}
        record(backend(), tmp_path / backend.name, cold)
        found = inserted(decode(backend.name, tmp_path / backend.name), cold.dev)
        pages[backend.name] = {(ino, page) for ino, page in found if ino in files}
    assert len({ino for ino, _ in pages["tracefs"]}) == len(files)
    assert pages["tracefs"] == pages["trace-cmd"] == pages["perf"]


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_user_s_own_tracing_is_left_alone(backend: type[Backend], tmp_path: Path) -> None:
    place = tracefs_mount.find()
    assert place
    names = ("current_tracer", "trace_clock", "tracing_on", "set_event", "buffer_size_kb")
    settings = [*(place / name for name in names), Path("/proc/sys/kernel/ftrace_enabled")]
    before = {path: path.read_text() for path in settings if path.exists()}
    recorder = backend()
    recorder.start(tmp_path, present_events(), BUFFER_KIB)
    during = {path: path.read_text() for path in before}
    recorder.stop()
    assert during == before == {path: path.read_text() for path in before}


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_exception_between_start_and_stop_leaves_nothing(
    backend: type[Backend], tmp_path: Path
) -> None:
    recorder = backend()
    with pytest.raises(ZeroDivisionError):
        try:
            recorder.start(tmp_path, present_events(), BUFFER_KIB)
            raise ZeroDivisionError
        finally:
            recorder.stop()
    assert traces_of(os.getpid()) == []
    recorder.stop()


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_recording_that_cannot_start_leaves_nothing(
    backend: type[Backend], tmp_path: Path
) -> None:
    recorder = backend()
    with pytest.raises(RecordError) as failure:
        recorder.start(tmp_path, ["filemap:no_such_event"], BUFFER_KIB)
    recorder.stop()
    assert failure.value.remedy
    assert traces_of(os.getpid()) == []


@pytest.mark.thorough
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_killed_foreread_leaves_nothing(backend: type[Backend], tmp_path: Path) -> None:
    script = (
        "import sys, time, pathlib\n"
        f"from {backend.__module__} import {backend.__name__} as Backend\n"
        "Backend().start(pathlib.Path(sys.argv[1]), sys.argv[2:], 1024)\n"
        "print('recording', flush=True)\n"
        "time.sleep(600)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), *present_events()],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout and child.stdout.readline() == "recording\n"
    assert traces_of(child.pid)
    child.kill()
    child.wait()
    child.stdout.close()
    if backend is TracefsBackend:  # nobody is left to clean up: the next start does
        with tracefs_mount.mounted() as place:
            tracefs_mount.remove_leftovers(place)
    wait_until(lambda: not traces_of(child.pid), lambda: traces_of(child.pid))


@pytest.mark.thorough
@pytest.mark.parametrize("backend", [TraceCmdBackend, PerfBackend])
def test_a_killed_recorder_is_reported_and_leaves_nothing(
    backend: type[TraceCmdBackend] | type[PerfBackend], tmp_path: Path
) -> None:
    recorder = backend()
    recorder.start(tmp_path, present_events(), BUFFER_KIB)
    try:
        mark = f"{PREFIX}{owner_tag()}-"
        kill_program(recorder.program, mark)
    finally:
        with pytest.raises(RecordError, match=f"{recorder.name} failed"):
            recorder.stop()
    assert traces_of(os.getpid()) == []


def kill_program(program: str, mark: str) -> None:
    """Kill the processes that run ``program`` with ``mark`` in their command line."""
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == program.encode() and any(mark.encode() in word for word in words):
            os.kill(int(directory.name), signal.SIGKILL)


@pytest.mark.thorough
def test_perf_counts_what_it_loses(tmp_path: Path) -> None:
    backend = PerfBackend()
    backend.start(tmp_path, ["syscalls:sys_enter_read"], 4)
    try:
        subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"], check=True)
    finally:
        recorded = backend.stop()
    text = subprocess.run(
        ["perf", "report", "--stats", "-i", str(tmp_path / "perf.data")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert any(recorded.lost.values()) == ("LOST" in text)


@pytest.mark.thorough
def test_remains_of_a_killed_supervisor_are_removed_by_the_next_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"  # where no other foreread removes remains
    monkeypatch.setattr(supervised, "_MEMORY", memory)
    monkeypatch.setattr(supervised, "_memory_has_room", lambda: True)
    dead = memory / f"{PREFIX}999999999-1-test"
    dead.mkdir(parents=True)
    assert leftovers(memory) == [str(dead)]
    backend = PerfBackend()
    backend.start(tmp_path, present_events(), BUFFER_KIB)
    backend.stop()
    assert not dead.exists()


@pytest.mark.thorough
def test_every_back_end_says_whether_it_works() -> None:
    for backend in candidates():
        probe = backend.probe()
        assert probe.works or (probe.lacks and probe.remedy)
    assert traces_of(os.getpid()) == []


@pytest.fixture
def little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make recordings go to a file system of 4 MiB."""
    memory = tmp_path / "memory"
    memory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(memory)], check=True)
    monkeypatch.setattr(supervised, "_MEMORY", memory)
    monkeypatch.setattr(supervised, "_memory_has_room", lambda: True)
    yield memory
    subprocess.run(["umount", str(memory)], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("backend", [TraceCmdBackend, PerfBackend])
def test_a_recording_that_outgrows_its_space_is_refused(
    backend: type[Backend],
    little_memory: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(Path.cwd().iterdir())
    recorder = backend()
    recorder.start(tmp_path, ["syscalls:sys_enter_read"], 1024)
    try:
        subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"], check=True)
    finally:
        with pytest.raises(RecordError) as failure:
            recorder.stop()
    assert "free memory" in failure.value.remedy
    assert list(little_memory.iterdir()) == []
    assert set(Path.cwd().iterdir()) == before
    assert traces_of(os.getpid()) == []


@pytest.mark.thorough
def test_the_drain_stops_at_pages_of_its_own_reads(tmp_path: Path) -> None:
    backend = TracefsBackend()
    if not backend.probe().works:
        pytest.skip("tracefs cannot record here: what its drain takes was not checked")
    try:
        with tracefs_mount.mounted() as place:
            events, _ = tracefs_mount.available(place, WANTED_EVENTS)
        backend.start(tmp_path, events, 64)
        for _ in range(3):  # each more than fills the buffer of a CPU, of which one drains
            subprocess.run([sys.executable, "-c", "import asyncio"], check=True)
    finally:
        backend.stop()
    for stats in sorted((tmp_path / "stats").iterdir()):
        taken = (tmp_path / f"{stats.name}.raw").stat().st_size
        counted = re.search(r"^read events: (\d+)$", stats.read_text(), re.MULTILINE)
        assert counted is not None
        assert taken <= 64 * int(counted[1]) + 100 * PAGE
