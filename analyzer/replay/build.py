"""Turns a recording at read_ahead_kb=0 into the Program that the emulation runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analyzer.ingest.recording import Recording
from analyzer.ingest.tables import Array
from analyzer.replay.calls import LARGEST, Calls
from analyzer.replay.draft import MOST_PAGES, Draft
from analyzer.replay.faults import Faults
from analyzer.replay.images import Area, Handle
from analyzer.replay.misses import BY_FLAG, BY_KIND, BY_UNKNOWN_CALLS, Missed, Way, ways_of
from analyzer.replay.threads import Reading, Thread, Threads
from analyzer.replay.timeline import Moment, What, moments
from emulator.linux.operations import MapFlag, Program

_LARGEST_ORDER = 20  # of a folio; above any real one
_MOST_AROUND = 512  # pages that fault-around maps at most: one page table
_DUPLICATES = frozenset(f"syscalls:sys_{name}" for name in ("exit_dup", "enter_dup2", "enter_dup3"))


class Builder:
    """Follows the threads of a recording and writes down their operations."""

    def __init__(self, recording: Recording, files: Array) -> None:
        self.recording = recording
        self.page_size = recording.page_size
        self.draft = Draft(files, recording.page_size)
        self.calls = Calls(self.draft)
        self.threads = Threads()
        self.faults = Faults(recording, self.draft, self.threads)
        inodes = zip(recording.files["dev"].tolist(), recording.files["ino"].tolist(), strict=True)
        self._file = {inode: row for row, inode in enumerate(inodes)}
        self._read = _pages_by_insert(recording)
        self._ways = ways_of(recording)
        self._tells_duplicates = bool(_DUPLICATES & recording.trace.event_names)
        for file, entry in enumerate(recording.entries):
            if entry is not None and entry.cached_pages is not None:
                self.draft.cached(file, entry.cached_pages)

    def follow(self, told: Iterable[Moment]) -> None:
        """Take in what happened, in order."""
        for moment in told:
            values = moment.values
            self.draft.now_ns = moment.time_ns
            if moment.what == What.CLONED:
                self.threads.cloned(*values)
                continue
            thread = self.threads.get(moment.pid)
            if moment.what != What.INSERT:
                self._settle(thread)
            match moment.what:
                case What.FAULT:
                    self._fault(thread, *values[:3])
                case What.GET_PAGES:
                    self.faults.over(thread)
                    self._pages(thread, *values)
                case What.MAP_PAGES:
                    self._mapped(thread, *values)
                case What.INSERT:
                    self._insert(thread, moment)
                case What.RA_UNBOUNDED:
                    self._unbounded(thread, *values)
                case What.FORK:
                    self.threads.forked(thread, values[0])
                case What.EXEC:
                    thread.executed()
                case _:
                    self.faults.over(thread)
                    self.calls.take(thread, What(moment.what), values)
        for thread in self.threads.by_id.values():
            self._settle(thread)
            self.faults.over(thread)

    # What the kernel did for the application.

    def _pages(self, thread: Thread, dev: int, ino: int, first: int, last: int) -> None:
        """A read(2), or a part of one, has found its pages (mm_filemap_get_pages)."""
        file = self._file.get((dev, ino))
        if file is None or last < first:
            return
        last = min(last, first + MOST_PAGES - 1)
        goes_on = thread.last[0] == file and thread.last[2] == last and first > thread.last[1]
        reading = thread.reading
        if reading is None or not reading.several:
            thread.reading = None
        thread.last = (file, first, last)
        if goes_on and thread.reading is reading:  # no other call has begun since
            return
        handle = self._handle(thread, file, reading)
        self._read_at(handle, file, reading, self._extent(handle, reading, first, last))

    def _read_at(
        self, handle: Handle, file: int, reading: Reading | None, extent: tuple[int, int]
    ) -> None:
        end = self.draft.read(handle, file, *extent)
        if reading is None or reading.position is None:
            handle.position = end

    def _handle(self, thread: Thread, file: int, reading: Reading | None) -> Handle:
        """Return the struct file of a read."""
        image = thread.image
        if reading is None:
            handle = thread.kernel_reads.get(file)
            if handle is None:
                handle = thread.kernel_reads[file] = image.others[file] = self.draft.open(file)
            return handle
        handle = image.descriptors.get(reading.descriptor)
        if handle is None and not self._tells_duplicates:
            handle = image.original_of(reading.descriptor, file)
        if handle is not None:
            image.descriptors[reading.descriptor] = handle
        if handle is None or handle.file not in (None, file):
            handle = image.descriptors[reading.descriptor] = self.draft.open(file)
        if handle.file is None:
            self.draft.know(handle, file)
        image.others.setdefault(file, handle)  # which a mapping may share, if no call tells of it
        return handle

    def _extent(
        self, handle: Handle, reading: Reading | None, first: int, last: int
    ) -> tuple[int, int]:
        """Return position and length of a read in bytes: pages seen, arguments where known."""
        size = self.page_size
        whole = (first * size, (last - first + 1) * size)
        if reading is None or not 0 < reading.count < LARGEST:
            return whole
        position = handle.position if reading.position is None else reading.position
        if position // size != first:
            position = max(first * size, last * size + 1 - reading.count)
        fits = position // size == first and (position + reading.count - 1) // size == last
        return (position, reading.count) if fits else whole

    def _fault(self, thread: Thread, dev: int, ino: int, page: int) -> None:
        """A fault has reached filemap_fault; after it has read the page in, perhaps once more."""
        file = self._file.get((dev, ino))
        if file is None:
            return
        if self.faults.goes_on(thread, file, page):
            return
        self.faults.begin(thread, file, page, self._fault_on(thread, file, page))
        thread.brings = (file, page, page + 1)

    def _fault_on(self, thread: Thread, file: int, page: int) -> int:
        image = thread.image
        # Exec faults on what it has read before it is told of: not through the old mappings.
        executes = file in thread.kernel_reads and not image.maps(file)
        found = None if executes else image.find(file, page)
        return self.draft.fault(found or self._assume(thread, file, page), file, page)

    def _mapped(self, thread: Thread, dev: int, ino: int, first: int, last: int) -> None:
        """Fault-around has mapped what was cached of some pages."""
        file = self._file.get((dev, ino))
        if file is None or not 0 <= last - first < _MOST_AROUND:
            return
        self.faults.mapped(thread, file, first, last)
        self.draft.mapped(file, first, last + 1)

    def _assume(self, thread: Thread, file: int, page: int) -> Area:
        """Map a file as its program headers say, or else whole: no system call told of it."""
        handle = thread.image.others.get(file) or self.draft.open(file)
        thread.image.others[file] = handle
        entry = self.recording.entries[file]
        segments = entry.segments if entry else []
        for segment in segments:
            first = segment.at // self.page_size
            end = -(-(segment.at + segment.length) // self.page_size)
            flags = MapFlag.EXEC if segment.executable else MapFlag(0)
            thread.image.add(Area(first, end, handle, first, flags))
        found = thread.image.find(file, page)
        if found is None:
            self.draft.assumed["mapped whole, without flags"] += 1
            found = Area(0, max(page + 1, self.draft.pages_of(file)), handle, 0, MapFlag(0))
            thread.image.add(found)
        elif segments:
            self.draft.assumed["mapped as their program headers say"] += 1
        return found

    def _insert(self, thread: Thread, moment: Moment) -> None:
        """A page entered the cache: by a read that is told elsewhere, or in another way."""
        dev, ino, page, order = moment.values
        file = self._file.get((dev, ino))
        if file is None:
            return
        self.draft.inserted(file, page, 1 << min(order, _LARGEST_ORDER))
        if not self.faults.inserted(thread, file, page):
            self.calls.learn(thread, file)
        own = self.recording.threads is None or moment.pid in self.recording.threads
        silent = self._read.get((dev, ino, page)) == 0
        about, first, end = thread.brings
        entry = self.recording.entries[file]
        if own and silent and about == file and first <= page < end:
            self.draft.holes.append((file, page))
        elif not own or (silent and self._is_stored(file, page)):
            self.draft.present(file, page)
        elif entry is not None and entry.link:
            self.draft.single(file, page)
        elif (way := self._ways.get((dev, ino, page))) is not None:
            if way != Way.FILLED:
                self._missed(thread, file, page, way)
        else:
            self.draft.unexplained(file, page)

    # What a page that was read in tells, where no event tells of reads and faults.

    def _missed(self, thread: Thread, file: int, page: int, way: Way) -> None:
        """A page was read in; ``way`` is by what."""
        self.draft.assumed[BY_KIND if way == Way.UNTOLD else BY_FLAG] += 1
        most = None
        if way != Way.ADVICE and thread.reading is not None:
            most = (max(thread.reading.count, 2) - 2) // self.page_size + 2
        likely = Way.READ if way == Way.UNTOLD else way
        if thread.missed is not None and thread.missed.extend(file, page, likely, most):
            return
        self._settle(thread)
        if way == Way.UNTOLD:
            way = self._likely(thread, file)
        if way == Way.FAULT:
            self._fault_on(thread, file, page)
        else:
            thread.missed = Missed(file, page, page, way)

    def _likely(self, thread: Thread, file: int) -> Way:
        """Return what a file's pages are mostly touched by: a mapping, or the call in progress."""
        if thread.reading is not None:
            handle = thread.image.descriptors.get(thread.reading.descriptor)
            return Way.READ if handle is None or handle.file in (None, file) else Way.FAULT
        entry = self.recording.entries[file]
        program = entry is not None and bool(entry.segments)
        return Way.FAULT if program or thread.image.maps(file) else Way.READ

    def _settle(self, thread: Thread) -> None:
        """Write down the call that has read in what a thread missed."""
        missed, thread.missed = thread.missed, None
        if missed is None:
            return
        if missed.way == Way.ADVICE:
            handle = thread.image.others.get(missed.file) or self.draft.open(missed.file)
            self.draft.willneed(handle, missed.file, missed.first, missed.last + 1 - missed.first)
            return
        reading, thread.reading = thread.reading, None
        handle = self._handle(thread, missed.file, reading)
        if reading is not None and 0 < reading.count < LARGEST:
            position = handle.position if reading.position is None else reading.position
            extents = [missed.around(position, reading.count, self.page_size)]
        else:
            self.draft.assumed[BY_UNKNOWN_CALLS] += missed.last + 1 - missed.first
            extents = missed.guessed(self.draft.pages_of(missed.file), self.page_size)
        for extent in extents:
            self._read_at(handle, missed.file, reading, extent)

    def _unbounded(self, thread: Thread, dev: int, ino: int, page: int, pages: int) -> None:
        """Several pages in one go without a window: advice, if no system call told of it."""
        file = self._file.get((dev, ino))
        if file is None or not 0 < pages < LARGEST:
            return
        thread.brings = (file, page, page + pages)
        if pages == 1:
            return
        if "syscalls:sys_enter_fadvise64" in self.recording.trace.event_names:
            return
        handle = thread.image.others.get(file) or self.draft.open(file)
        self.draft.willneed(handle, file, page, pages)

    def _is_stored(self, file: int, page: int) -> bool:
        """Return whether the page has data on the device, as far as that is known."""
        entry = self.recording.entries[file]
        if entry is None or entry.extents is None:
            return True
        at = page * self.page_size
        return any(e.written and e.at <= at < e.at + e.length for e in entry.extents)


def _pages_by_insert(recording: Recording) -> dict[tuple[int, int, int], int]:
    """Return the pages that were read with each insert, by device, inode and page index."""
    inserts = recording.inserts
    if inserts is None:
        return {}
    key = (inserts.data[name].tolist() for name in ("dev", "ino", "index"))
    return dict(zip(zip(*key, strict=True), inserts.pages.tolist(), strict=True))


@dataclass(frozen=True)
class Built:
    """A recording's program; ``holes`` are (file row, page) that were read without I/O.

    ``times`` (u8, ns of the trace clock) are those of the operations, 0 before the run;
    ``notes`` say what the recording lacked.
    """

    program: Program
    times: Array
    holes: list[tuple[int, int]]
    notes: list[str]


def build(recording: Recording, files: Array) -> Built:
    """Return the recording's Program on ``files`` (FILE, one for each of the recording's)."""
    builder = Builder(recording, files)
    builder.follow(moments(recording))
    program, times = builder.draft.program()
    notes = [f"{count} {what}" for what, count in sorted(builder.draft.assumed.items())]
    return Built(program, times, builder.draft.holes, notes)
