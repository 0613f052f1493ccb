"""Follows the threads of a recording, and collects their operations.

The readable version: analyzer/program/build.py does the same in C, and must agree with it.
"""

from __future__ import annotations

from foreread.analyzer.ingest.tables import Array
from foreread.analyzer.program.build import Assumed, Followed
from foreread.analyzer.program.evidence import MOST_PAGES, Evidence, FileFlag, Shown
from foreread.analyzer.program.misses import NO_WAY, Way
from foreread.analyzer.program.timeline import What
from foreread.analyzer.reference.calls import LARGEST, Calls
from foreread.analyzer.reference.draft import Draft
from foreread.analyzer.reference.faults import Faults
from foreread.analyzer.reference.images import Area, Handle
from foreread.analyzer.reference.missed import Missed
from foreread.analyzer.reference.threads import Reading, Thread, Threads
from foreread.emulator.linux.operations import MapFlag

_LARGEST_ORDER = 20  # of a folio; above any real one
_MOST_AROUND = 512  # pages that fault-around maps at most: one page table


def follow_slowly(evidence: Evidence) -> Followed:
    """Return the operations of a recording's threads."""
    reference = _Reference(evidence)
    reference.follow(evidence.moments)
    return reference.draft.followed()


class _Reference:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.page_size = evidence.page_size
        self.draft = Draft(evidence)
        self.calls = Calls(self.draft)
        self.threads = Threads()
        self.faults = Faults(evidence, self.draft, self.threads)
        self._inserted = {(file, page): rest for page, file, *rest in evidence.inserted.tolist()}
        for first, end, file, _ in evidence.cached.tolist():
            self.draft.cached(file, first, end)

    def follow(self, moments: Array) -> None:
        """Process the moments in order."""
        for time_ns, numbers, pid, what in moments.tolist():
            values = tuple(map(int, numbers))
            self.draft.now_ns = time_ns
            if what == What.CLONED:
                self.threads.cloned(*values[:2])
                continue
            thread = self.threads.get(pid)
            if what != What.INSERT:
                self._settle(thread)
            match what:
                case What.FAULT:
                    self._fault(thread, *values[:2])
                case What.GET_PAGES:
                    self.faults.over(thread)
                    self._pages(thread, *values[:3])
                case What.MAP_PAGES:
                    self._mapped(thread, *values[:3])
                case What.INSERT:
                    self._insert(thread, *values[:4])
                case What.RA_UNBOUNDED:
                    self._unbounded(thread, *values[:3])
                case What.FORK:
                    self.threads.forked(thread, values[0])
                case What.EXEC:
                    thread.executed()
                case _:
                    self.faults.over(thread)
                    self.calls.take(thread, What(what), values)
        for thread in self.threads.by_id.values():
            self._settle(thread)
            self.faults.over(thread)

    # Actions of the kernel for the application.

    def _pages(self, thread: Thread, file: int, first: int, last: int) -> None:
        """Process a read(2), or a part of one, that has its pages (mm_filemap_get_pages)."""
        if file < 0 or last < first:
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
        if handle is None and not self._evidence.shown & Shown.DUPLICATES:
            handle = image.original_of(reading.descriptor, file)
        if handle is not None:
            image.descriptors[reading.descriptor] = handle
        if handle is None or handle.file not in (None, file):
            handle = image.descriptors[reading.descriptor] = self.draft.open(file)
        if handle.file is None:
            self.draft.know(handle, file)
        image.others.setdefault(file, handle)  # a mapping may share it unrecorded
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

    def _fault(self, thread: Thread, file: int, page: int) -> None:
        """Process a fault in filemap_fault; after a read of the page, perhaps once more."""
        if file < 0:
            return
        if self.faults.goes_on(thread, file, page):
            return
        self.faults.begin(thread, file, page, self._fault_on(thread, file, page))
        thread.brings = (file, page, page + 1)

    def _fault_on(self, thread: Thread, file: int, page: int) -> int:
        image = thread.image
        # Before its event, exec faults on pages that it has read: not through the old mappings.
        executes = file in thread.kernel_reads and not image.maps(file)
        area = None if executes else image.find(file, page)
        return self.draft.fault(area or self._assume(thread, file, page), file, page)

    def _mapped(self, thread: Thread, file: int, first: int, last: int) -> None:
        """Process a fault-around that mapped the cached ones of some pages."""
        if file < 0 or not 0 <= last - first < _MOST_AROUND:
            return
        self.faults.mapped(thread, file, first, last)
        self.draft.mapped(file, first, last + 1)

    def _assume(self, thread: Thread, file: int, page: int) -> Area:
        """Map a file of an unrecorded mapping: by its program headers, or else whole."""
        handle = thread.image.others.get(file) or self.draft.open(file)
        thread.image.others[file] = handle
        segments = self._evidence.segments[self._evidence.segments["file"] == file]
        for first, end, _, executable in segments.tolist():
            flags = MapFlag.EXEC if executable else MapFlag(0)
            thread.image.add(Area(first, end, handle, first, flags))
        area = thread.image.find(file, page)
        if area is None:
            self.draft.assumed[Assumed.WHOLE] += 1
            area = Area(0, max(page + 1, self.draft.pages_of(file)), handle, 0, MapFlag(0))
            thread.image.add(area)
        elif self._is(file, FileFlag.PROGRAM):
            self.draft.assumed[Assumed.HEADERS] += 1
        return area

    def _is(self, file: int, flag: FileFlag) -> bool:
        return bool(self._evidence.flags[file] & flag)

    def _insert(self, thread: Thread, file: int, page: int, order: int, own: int) -> None:
        """Process a page that entered the cache, by a read with its own event or otherwise."""
        if file < 0:
            return
        self.draft.inserted(file, page, 1 << min(max(order, 0), _LARGEST_ORDER))
        if not self.faults.inserted(thread, file, page):
            self.calls.learn(thread, file)
        unread, stored, way = self._inserted.get((file, page), (0, 1, NO_WAY))
        about, first, end = thread.brings
        if own and unread and about == file and first <= page < end:
            self.draft.holes.append((file, page))
        elif not own or (unread and stored):
            self.draft.present(file, page)
        elif self._is(file, FileFlag.LINK):
            self.draft.single(file, page)
        elif way == NO_WAY:
            self.draft.unexplained(file, page)
        elif way != Way.FILLED:
            self._missed(thread, file, page, Way(way))

    # Inference from pages read in, if reads and faults have no events.

    def _missed(self, thread: Thread, file: int, page: int, way: Way) -> None:
        """Record a page that was read in; ``way`` is how."""
        self.draft.assumed[Assumed.KINDS if way == Way.UNKNOWN else Assumed.FLAGS] += 1
        most = None
        if way != Way.ADVICE and thread.reading is not None:
            count = thread.reading.count
            count = count if 2 <= count < LARGEST else 2
            most = (count - 2) // self.page_size + 2
        likely = Way.READ if way == Way.UNKNOWN else way
        if thread.missed is not None and thread.missed.extend(file, page, likely, most):
            return
        self._settle(thread)
        if way == Way.UNKNOWN:
            way = self._likely(thread, file)
        if way == Way.FAULT:
            self._fault_on(thread, file, page)
        else:
            thread.missed = Missed(file, page, page, way)

    def _likely(self, thread: Thread, file: int) -> Way:
        """Return how a file's pages are mostly touched: by a mapping, or the call in progress."""
        if thread.reading is not None:
            handle = thread.image.descriptors.get(thread.reading.descriptor)
            return Way.READ if handle is None or handle.file in (None, file) else Way.FAULT
        return (
            Way.FAULT if self._is(file, FileFlag.PROGRAM) or thread.image.maps(file) else Way.READ
        )

    def _settle(self, thread: Thread) -> None:
        """Add the call that has read in the pages that a thread missed."""
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
            self.draft.assumed[Assumed.CALLS] += missed.last + 1 - missed.first
            extents = missed.guessed(self.draft.pages_of(missed.file), self.page_size)
        for extent in extents:
            self._read_at(handle, missed.file, reading, extent)

    def _unbounded(self, thread: Thread, file: int, page: int, pages: int) -> None:
        """Add pages that came in at once without a window: advice, if its call was not recorded."""
        if file < 0 or not 0 < pages < LARGEST:
            return
        thread.brings = (file, page, page + pages)
        if pages == 1 or self._evidence.shown & Shown.ADVICE:
            return
        handle = thread.image.others.get(file) or self.draft.open(file)
        self.draft.willneed(handle, file, page, pages)
