"""The tracefs back-end: an own ftrace instance, its raw per-CPU pages kept as they are.

Files in the trace directory, named as in tracefs::

    header_page  header_event  events/SYSTEM/NAME/format  cpuN.raw  stats/cpuN

Nothing is written to disk while it records: pages are taken from the ring buffer into memory
once half of it is full, and saved after the recording has stopped. So the recorder causes no
page-cache event and no request of its own.
"""

from __future__ import annotations

import errno
import os
import select
import struct
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from foreread.boards.base.interrupts import uninterrupted
from foreread.boards.base.owner import PREFIX, owner_tag
from foreread.boards.base.units import KIB
from foreread.tracer.backends import tracefs_mount
from foreread.tracer.backends.base import INDISPENSABLE, Probe, Recorded
from foreread.tracer.error import RecordError
from foreread.tracer.memory import available_memory_kib

CLOCK = "mono"
OPENS = "foreread:openat"  # our event probe: sys_enter_openat with the path as a string
_OPENAT = "syscalls:sys_enter_openat"
EVENT_PROBE = (
    f"{_OPENAT.replace(':', '.')} dfd=$dfd:s32 flags=$flags:x32 path=+0($filename):ustring"
)
# kernel/trace/ring_buffer.c: the commit word's bit for events lost before this page
_MISSED_EVENTS = 1 << 31
_COMMITTED = (1 << 30) - 1  # the other bits of the commit are flags
_MEMORY_SHARE = 4  # at most this part of the available memory holds pages not saved yet


class TracefsBackend:
    """Records through tracefs alone; needs nothing but root and a kernel with ftrace."""

    name = "tracefs"

    def __init__(self) -> None:
        self._undo = ExitStack()
        self._instance: Path | None = None
        self._trace_directory = Path()
        self._events: list[str] = []
        self._drain: _Drain | None = None
        self._recorded: Recorded | None = None
        self._notes: list[str] = []
        self._probe: Probe | None = None

    def probe(self) -> Probe:
        """Return whether an instance with the needed events can be made; tried once."""
        self._probe = self._probe or self._try()
        return self._probe

    def _try(self) -> Probe:
        try:
            with tracefs_mount.mounted() as place, uninterrupted():
                instance = _make_instance(place)
                instance.rmdir()
                present, _ = tracefs_mount.available(place, [INDISPENSABLE])
        except RecordError as error:
            return Probe(self.name, False, str(error), error.remedy)
        if not present:
            remedy = "use a kernel from 3.10 on with CONFIG_FTRACE and event tracing"
            return Probe(self.name, False, f"the kernel has no event {INDISPENSABLE}", remedy)
        return Probe(self.name, True, version=os.uname().release)

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        """Begin recording ``events`` of all CPUs; ``buffer_kib`` of buffer per CPU."""
        self._trace_directory = trace_directory
        self._events = list(events)
        self._recorded, self._notes = None, []
        with uninterrupted():
            try:
                self._start(buffer_kib)
            except OSError as error:
                remedy = "run as root, with enough free memory for the trace buffer"
                raise RecordError(f"tracefs: {error.filename}: {error.strerror}", remedy) from error

    def stop(self) -> Recorded:
        """End the recording and save its pages; the instance is gone afterwards."""
        with uninterrupted():
            try:
                drain, self._drain = self._drain, None
                if drain is not None:
                    self._recorded = self._save(drain)
            finally:
                self._undo.close()
        return self._recorded or Recorded(lost={})

    def _start(self, buffer_kib: int) -> None:
        place = self._undo.enter_context(tracefs_mount.mounted())
        self._add_open_probe(place)  # undone after the instance, which uses it, is gone
        self._instance = instance = _make_instance(place)
        self._undo.callback(_remove_instance, instance)
        _write(instance / "tracing_on", "0")
        _write(instance / "trace_clock", CLOCK)
        # Keep the beginning when the buffer is full: a start-up's first part is still exact. Not by
        # options/overwrite: Linux 6.18 crashes in a writer of it whose instance is removed
        # meanwhile, since it is the one file here that holds no reference (kernel/trace/trace.c).
        _write(instance / "trace_options", "nooverwrite")
        _write(instance / "buffer_size_kb", str(buffer_kib))
        self._copy_formats(place)
        self._drain = _Drain(instance)
        self._undo.callback(self._drain.close)
        for event in self._events:
            _write(instance / "events" / _system_path(event) / "enable", "1")
        self._drain.start()
        _write(instance / "tracing_on", "1")

    def _add_open_probe(self, place: Path) -> None:
        """Define an event with the path of every open, where the kernel has event probes."""
        if _OPENAT not in self._events:
            return
        group = tracefs_mount.probe_group(owner_tag())
        try:
            tracefs_mount.change_probes(place, open_probe(group))
        except OSError:
            self._notes.append("the kernel has no event probes: paths of opens are not recorded")
            return
        self._undo.callback(tracefs_mount.remove_probe, place, group)
        self._events.append(OPENS)

    def _copy_formats(self, place: Path) -> None:
        for header in ("header_page", "header_event"):
            _copy(place / "events" / header, self._trace_directory / header)
        for event in self._events:
            source = place / "events" / _system_path(event) / "format"
            _copy(source, self._trace_directory / "events" / event.replace(":", "/") / "format")

    def _save(self, drain: _Drain) -> Recorded:
        assert self._instance is not None
        _write(self._instance / "tracing_on", "0")
        pages = drain.finish()
        lost = {}
        for cpu, chunks in pages.items():
            stats = self._instance / f"per_cpu/cpu{cpu}/stats"
            lost[cpu] = max(lost_events(stats.read_text()), missed_marks(chunks))
            _copy(stats, self._trace_directory / f"stats/cpu{cpu}")
        drain.close()
        for cpu, chunks in pages.items():
            with (self._trace_directory / f"cpu{cpu}.raw").open("wb") as file:
                file.writelines(chunks)
        if drain.memory_full:
            self._notes.append("the memory for the trace was full: its end is missing")
        return Recorded(lost=lost, notes=self._notes)


class _Drain:
    """Takes pages out of an instance's ring buffers into memory, in a thread of its own."""

    def __init__(self, instance: Path) -> None:
        self.memory_full = False
        self._files: dict[int, int] = {}
        self._chunks: dict[int, list[bytes]] = {}
        self._page_bytes = _page_bytes(instance)
        self._left_bytes = available_memory_kib() * KIB // _MEMORY_SHARE
        self._stop_read, self._stop_write = os.pipe()
        for directory in sorted((instance / "per_cpu").glob("cpu*")):
            cpu = int(directory.name.removeprefix("cpu"))
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            self._files[cpu] = os.open(directory / "trace_pipe_raw", flags)
            self._chunks[cpu] = []
        self._thread = threading.Thread(target=self._run, name="foreread-drain", daemon=True)

    def start(self) -> None:
        """Begin to drain."""
        self._thread.start()

    def finish(self) -> dict[int, list[bytes]]:
        """Stop the thread, take what is left, and return all pages by CPU."""
        os.write(self._stop_write, b"x")
        if self._thread.ident is not None:
            self._thread.join()
        for file, chunks in zip(self._files.values(), self._chunks.values(), strict=True):
            chunks.extend(iter(partial(_read_page, file, self._page_bytes), b""))
        return self._chunks

    def close(self) -> None:
        """Close the ring buffers; may be called twice."""
        if self._stop_write >= 0 and self._thread.is_alive():
            os.write(self._stop_write, b"x")
            self._thread.join()
        for file in [*self._files.values(), self._stop_read, self._stop_write]:
            if file >= 0:
                os.close(file)
        self._files, self._stop_read, self._stop_write = {}, -1, -1

    def _run(self) -> None:
        poll = select.poll()
        cpu_of = {file: cpu for cpu, file in self._files.items()}
        for file in [*cpu_of, self._stop_read]:
            poll.register(file, select.POLLIN)
        while not self.memory_full:
            # Woken when a buffer is buffer_percent (half) full, not for every event.
            for file, _ in poll.poll():
                if file == self._stop_read:
                    return
                self._take(cpu_of[file])

    def _take(self, cpu: int) -> None:
        """Take the pages of a CPU, and stop after a page that its writer may still be filling.

        Each read by this thread is an event, too: without this stop it would take pages of one
        event each until its memory is used up.
        """
        chunks, file = self._chunks[cpu], self._files[cpu]
        while page := _read_page(file, self._page_bytes):
            chunks.append(page)
            self._left_bytes -= len(page)
            self.memory_full = self._left_bytes < 0
            if self.memory_full or is_partial(page):
                return


def open_probe(group: str) -> str:
    """Return the definition of the event ``group``/openat (Documentation/trace/eprobetrace.rst)."""
    return f"e:{group}/openat {EVENT_PROBE}"


def lost_events(stats: str) -> int:
    """Return the events that a CPU's ``stats`` file counts as lost."""
    counts = dict(line.split(":", 1) for line in stats.splitlines() if ":" in line)
    return sum(int(counts.get(key, 0)) for key in ("overrun", "commit overrun", "dropped events"))


def missed_marks(
    pages: list[bytes], byte_order: str = sys.byteorder, long_size: int = struct.calcsize("l")
) -> int:
    """Return the number of pages that report lost events (a lower bound of the losses)."""
    # Page header: u64 timestamp, local_t commit; flags are in the commit's lower 32 bits.
    form, low = ("<I", 8) if byte_order == "little" else (">I", 8 + long_size - 4)
    commits = (struct.unpack_from(form, page, low)[0] for page in pages)
    return sum(bool(commit & _MISSED_EVENTS) for commit in commits)


def is_partial(
    page: bytes, byte_order: str = sys.byteorder, long_size: int = struct.calcsize("l")
) -> bool:
    """Return whether less than half of a page holds events: its writer is still filling it.

    The writer moves to the next page when an event does not fit, and every event is smaller than
    half a page.
    """
    form, low = ("<I", 8) if byte_order == "little" else (">I", 8 + long_size - 4)
    commit: int = struct.unpack_from(form, page, low)[0]
    return (commit & _COMMITTED) < len(page) // 2


def _make_instance(place: Path) -> Path:
    instance = place / "instances" / f"{PREFIX}{owner_tag()}-{os.urandom(3).hex()}"
    try:
        instance.mkdir()
    except OSError as error:
        remedy = (
            "run as root"
            if error.errno in (errno.EACCES, errno.EPERM)
            else ("use a kernel from 3.10 on with CONFIG_FTRACE")
        )
        message = f"cannot make a trace instance in {instance.parent}: {error.strerror}"
        raise RecordError(message, remedy) from error
    return instance


def _remove_instance(instance: Path) -> None:
    _write(instance / "tracing_on", "0")
    instance.rmdir()


def _system_path(event: str) -> str:
    """Return where in tracefs' events an event is; the group of our own probe has our pid."""
    system, _, name = event.partition(":")
    group = tracefs_mount.probe_group(owner_tag()) if event == OPENS else system
    return f"{group}/{name}"


def _read_page(file: int, size: int) -> bytes:
    try:
        return os.read(file, size)
    except BlockingIOError:
        return b""


def _page_bytes(instance: Path) -> int:
    """Return the size of a sub-buffer; it can be set from 6.8 on and is a page otherwise."""
    setting = instance / "buffer_subbuf_size_kb"
    if setting.exists():
        return int(setting.read_text()) * KIB
    return os.sysconf("SC_PAGE_SIZE")


def _write(path: Path, value: str) -> None:
    try:
        path.write_text(value)
    except OSError as error:
        error.filename = str(path)
        raise


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.write_bytes(source.read_bytes())
