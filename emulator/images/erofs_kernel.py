"""The kernel's readahead on an EROFS image: compressed files bring whole clusters into the cache.

Uncompressed files are read in the ordinary way, at the places in the image's tables; an end that is
stored after the inode is read with the metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_format import COMPRESSED
from foreread.emulator.images.erofs_reads import Call, ErofsReader, Read
from foreread.emulator.images.erofs_rules import MOST_PAGES_WAITED_FOR, PAGE
from foreread.emulator.linux.operations import Cause, Outcome
from foreread.emulator.linux.requests import EXTENT, SECTOR, Layout, Limits, requests
from foreread.emulator.stepwise.cache import Folio
from foreread.emulator.stepwise.disk import Request, TimedKernel
from foreread.emulator.stepwise.inode import Inode
from foreread.emulator.stepwise.kernel import Kernel, Needed, OpenFile

_BLOCK = PAGE // SECTOR


def erofs_extents(image: ErofsImage, rows: Sequence[int]) -> npt.NDArray[np.void]:
    """Return the places (EXTENT) of uncompressed files; ``rows`` are the image's.

    Whole blocks are read; holes, and ends after inodes, are not read with the data.
    """
    extents: list[tuple[int, int, int, int, int]] = []
    for file, row in enumerate(rows):
        if row < 0 or image.files["layout"][row] in COMPRESSED:
            continue
        first, count = int(image.files["first"][row]), int(image.files["pieces"][row])
        covered = 0
        for at, length, place, *_ in image.pieces[first : first + count].tolist():
            if at > covered:
                extents.append((file, covered // SECTOR, 0, (at - covered) // SECTOR, 0))
            sectors = -(-length // PAGE) * _BLOCK
            extents.append((file, at // SECTOR, place // SECTOR, sectors, int(place % PAGE == 0)))
            covered = at + length
        if not count:
            extents.append((file, 0, 0, max(int(image.files["size"][row]) // SECTOR, 1), 0))
    return np.array(extents, EXTENT)


@dataclass
class OnErofs(Kernel):
    """A kernel with the files of an image.

    ``rows`` are the image's rows by file, -1 for files of other file systems. ``of_call`` has the
    reads of the present call for a compressed file, None for other files.
    """

    reader: ErofsReader = field(kw_only=True)
    rows: Sequence[int] = field(kw_only=True)
    of_call: Call | None = None

    def is_compressed(self, inode: Inode) -> bool:
        """Return whether the image stores a file compressed."""
        row = self.rows[inode.row]
        return row >= 0 and int(self.reader.image.files["layout"][row]) in COMPRESSED

    def read_single(self, file: OpenFile, page: int) -> None:
        """filemap_create_folio: z_erofs_read_folio for compressed files."""
        inode = file.inode
        if page > inode.last or not self.is_compressed(inode):
            super().read_single(file, page)
            return
        self.cause = Cause.ALONE
        if self._insert(inode, Folio(page, 0)):
            row = self.rows[inode.row]
            self.of_call = self.reader.read_page(row, page, lambda added: self._more(inode, added))
            self._end_run()

    def _readahead(self, file: OpenFile, start: int, end: int) -> None:
        """Pass a run of pages to z_erofs_readahead."""
        inode = file.inode
        if self.is_compressed(inode):

            def expanded(page: int) -> bool:
                """readahead_expand: the window grows with each page."""
                if not self._more(inode, page):
                    return False
                file.state.size += 1
                file.state.async_size += 1
                return True

            stop = min(end, inode.last + 1)
            self.of_call = self.reader.readahead(
                *(self.rows[inode.row], start, stop),
                insert=lambda added: self._more(inode, added),
                expanded=expanded,
            )
        super()._readahead(file, start, end)

    def _more(self, inode: Inode, page: int) -> bool:
        """Insert a page that the file system adds to a call; return whether it was absent."""
        cause, self.cause = self.cause, Cause.BLOCK
        new = self._insert(inode, Folio(page, 0))
        self.cause = cause
        return new

    def inline_ends(self, inserts: Sequence[tuple[int, int, int, int]]) -> list[Read]:
        """Return the reads of metadata with the ends of files (erofs_map_blocks_flatmode)."""
        call = Call()
        image = self.reader.image
        for file, index, order, _ in inserts:
            row = self.rows[file]
            if row < 0 or not image.files["pieces"][row]:
                continue
            last = int(image.files["first"][row]) + int(image.files["pieces"][row]) - 1
            at, length, place, *_ = image.pieces[last].tolist()
            if place % PAGE and index <= at // PAGE < index + (1 << order):
                self.reader.read_metadata(place, length, call)
        return call.reads


@dataclass(slots=True)
class Unpacked(Request):
    """Pages of clusters: usable when all ``reads`` are done, and the clusters unpacked."""

    reads: list[Request] = field(default_factory=list)
    unpack_ns: float = 0.0

    @property
    def read_ns(self) -> float:
        """The time when all reads are done."""
        return max(request.done_ns for request in self.reads)

    @property
    def there_ns(self) -> float:
        """The time when its pages can be used."""
        return self.read_ns + self.unpack_ns


@dataclass
class TimedOnErofs(OnErofs, TimedKernel):
    """A kernel with a clock; unpacking a page takes ``unpack_page_ns``, its end ``ready_page_ns``.

    The clusters of a call are unpacked when all its reads are done (z_erofs_decompress_kickoff), by
    the only processor: the next thread that needs a page waits for that, even if all threads waited
    for other reads meanwhile. Metadata that a call reads first holds its thread. ``hands_over``:
    the processor also gives the device the next waiting request, and unpacks before that
    (ErofsRules.unpacks_first). ``recorded``: the steps' time includes unpacking; its nanoseconds
    are only counted, in ``block_sectors``, so that another replay subtracts them there.
    """

    unpack_page_ns: float = field(kw_only=True, default=0.0)
    ready_page_ns: float = field(kw_only=True, default=0.0)
    hands_over: bool = field(kw_only=True, default=False)
    recorded: bool = field(kw_only=True, default=False)
    _packed: list[Unpacked] = field(default_factory=list)

    def use(self, needed: Needed) -> Request | None:
        """Return the request that brings the needed pages, and free the processor."""
        needed_request = super().use(needed)
        now, busy_ns = self.clock_ns, 0.0
        there_ns = needed_request.there_ns if needed_request else 0.0
        if there_ns == inf:
            return needed_request
        for unpacked in self._packed:
            if unpacked.read_ns <= now:
                busy_ns, unpacked.unpack_ns = busy_ns + unpacked.unpack_ns, 0.0
        self._packed = [
            unpacked
            for unpacked in self._packed
            if unpacked.read_ns > now and unpacked is not needed_request
        ]
        if not busy_ns:
            return needed_request
        return Request(now, max(now + busy_ns, there_ns))

    def _due_ns(self) -> float:
        """Return when the device gets a request: after unpacking, if the device waits for it."""
        if not self.hands_over or self.clock_ns >= self._busy_ns:
            return self.clock_ns
        last = [
            unpacked.unpack_ns for unpacked in self._packed if unpacked.read_ns == self._busy_ns
        ]
        return self._busy_ns + sum(last)

    def _end_run(self) -> None:
        call, self.of_call = self.of_call, None
        if call is None:
            before = len(self.outcome.inserts)
            first = self._first
            TimedKernel._end_run(self)
            self._send(self.inline_ends(self.outcome.inserts[first:before]))
            return
        Kernel._end_run(self)
        pages = [
            (file, page)
            for file, index, order, _ in self.outcome.inserts[self._first :]
            for page in range(index, index + (1 << order))
        ]
        self._first = len(self.outcome.inserts)
        self.pages += len(pages)
        sent = self._send(call.reads)
        call.pages = len(pages)
        unpack_ns = call.unpack_ns(self.unpack_page_ns, self.ready_page_ns)
        if self.recorded:
            self.block_sectors += round(unpack_ns)
            unpack_ns = 0.0
        if sent:
            unpacked = Unpacked(reads=sent, unpack_ns=unpack_ns)
            self._packed.append(unpacked)
            self._by_page.update(dict.fromkeys(pages, unpacked))
            if call.ahead <= MOST_PAGES_WAITED_FOR:
                self._held += sent
        elif unpack_ns:  # all blocks are in memory
            self._held.append(Request(self.clock_ns, self.clock_ns + unpack_ns))

    def _send(self, reads: Sequence[Read]) -> list[Request]:
        """Send reads in their order, in parts of the disk's limit; return the requests of data."""
        sent: list[Request] = []
        for read in reads:
            sector, rest = read.at // SECTOR, read.length // SECTOR
            while rest:
                part = min(rest, self.limits.max_sectors)
                request = self.send(sector, part, 1, read.metadata)
                sector, rest = sector + part, rest - part
                (self._held if read.metadata else sent).append(request)
        return sent


@dataclass
class CountingOnErofs(OnErofs):
    """A kernel that stores the reads of an image, and the calls for clusters."""

    layout: Layout = field(kw_only=True)
    limits: Limits = field(kw_only=True)
    reads: list[Read] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    _first: int = 0

    @property
    def unpacked(self) -> int:
        """Bytes that the processor unpacks."""
        return sum(call.unpacked for call in self.calls)

    def _end_run(self) -> None:
        empty = self.outcome.runs in self.outcome.empty
        super()._end_run()
        call, self.of_call = self.of_call, None
        inserts = self.outcome.inserts[self._first :]
        self._first = len(self.outcome.inserts)
        if call is not None:
            call.pages = sum(1 << order for _, _, order, _ in inserts)
            self.calls.append(call)
            self.reads += call.reads
        elif not empty and inserts and self.rows[inserts[0][0]] >= 0:
            self.reads += self.inline_ends(inserts)
            cut = requests(Outcome(inserts), self.layout, self.limits, self.machine.page_size)
            self.reads += [Read(at * SECTOR, sectors * SECTOR) for _, at, sectors, _ in cut]
