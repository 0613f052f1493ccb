"""The reads of a compressed EROFS file that calls of the page cache cause (fs/erofs/zdata.c, 6.12).

A call goes through its pages from the last to the first and collects their clusters. Then the
blocks of these clusters are read in rising order, adjacent blocks together. A cache keeps
compressed blocks of clusters that were not unpacked whole, and more pages than requested may come
in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from foreread.emulator.images.erofs import ErofsImage
from foreread.emulator.images.erofs_maps import CompressedFile, Kind, Mapped
from foreread.emulator.images.erofs_rules import MOST_PAGES_OF_A_BIO, PAGE, ErofsRules
from foreread.emulator.images.source import ImageError

Insert = Callable[[int], bool]  # of a page of the file; false if it is cached


@dataclass
class Read:
    """Bytes [at, at + length) of the image that one bio reads."""

    at: int
    length: int
    metadata: bool = False


@dataclass
class Call:
    """The reads of a call of the page cache, and the bytes that the processor unpacks for it.

    ``pages`` are the pages that it brings; bytes are also unpacked for pages that were not
    requested. ``ahead`` are the pages that readahead requested, 0 for a single page: the thread
    waits for the reads of few pages (z_erofs_is_sync_decompress).
    """

    reads: list[Read] = field(default_factory=list)
    unpacked: int = 0
    ahead: int = 0
    pages: int = 0

    def unpack_ns(self, page_ns: float, ready_ns: float) -> float:
        """Return the processor's time: ``page_ns`` to unpack a page, ``ready_ns`` to complete it.

        0 if no cluster is unpacked.
        """
        return self.unpacked / PAGE * page_ns + self.pages * ready_ns if self.unpacked else 0.0


class ErofsReader:
    """A mounted image: the compressed blocks and the metadata that are in memory."""

    def __init__(self, image: ErofsImage, rules: ErofsRules) -> None:
        if image.superblock.block_size != PAGE:
            raise ImageError(
                f"the image has blocks of {image.superblock.block_size:,} bytes, which are not "
                "emulated",
                f"build it with mkfs.erofs -b{PAGE}",
            )
        self.image, self.rules = image, rules
        self.kept: set[int] = set()  # compressed blocks: the managed cache
        self.metadata: set[int] = set()  # pages
        self._files: dict[int, CompressedFile] = {}
        self._fragments: set[int] = set()  # pages of the file with the fragments

    def read_page(self, row: int, page: int, insert: Insert) -> Call:
        """z_erofs_read_folio: read a page of a file that was inserted."""
        call = Call()
        self._read_page(row, page, insert, call)
        return call

    def readahead(self, row: int, first: int, stop: int, insert: Insert, expanded: Insert) -> Call:
        """z_erofs_readahead: read inserted pages; ``expanded`` inserts further pages."""
        call = Call()
        front = _Frontend(self, self._file(row), first * PAGE, call)
        if self.rules.reads_more:
            front.look(stop * PAGE - 1, readmore=True)
            until = -(-front.map.end // PAGE)
            while stop < until and expanded(stop):
                stop += 1
        call.ahead = stop - first
        for page in range(stop - 1, first - 1, -1):
            front.scan(page)
        if self.rules.reads_more:
            front.read_before(insert)
        front.submit()
        return call

    def read_metadata(self, at: int, length: int, call: Call) -> None:
        """erofs_bread: read the pages of some metadata, one by one, unless they are in memory."""
        for page in range(at // PAGE, (at + length - 1) // PAGE + 1):
            if page not in self.metadata:
                self.metadata.add(page)
                call.reads.append(Read(page * PAGE, PAGE, True))

    def read_fragment(self, at: int, length: int, call: Call) -> None:
        """z_erofs_read_fragment: read pages of the file with the fragments."""
        if self.image.fragments < 0:
            raise ImageError("damaged image: it has no file with fragments")
        for page in range(at // PAGE, (at + length - 1) // PAGE + 1):
            if self._insert_fragment(page):
                self._read_page(self.image.fragments, page, self._insert_fragment, call)

    def _insert_fragment(self, page: int) -> bool:
        new = page not in self._fragments
        self._fragments.add(page)
        return new

    def _read_page(self, row: int, page: int, insert: Insert, call: Call) -> None:
        front = _Frontend(self, self._file(row), page * PAGE, call)
        if self.rules.reads_more:
            front.look((page + 1) * PAGE - 1, readmore=True)
            front.read_pages(front.map.end - 1, (page + 1) * PAGE, insert)
        front.scan(page)
        if self.rules.reads_more:
            front.read_before(insert)
        front.submit()

    def _file(self, row: int) -> CompressedFile:
        if row not in self._files:
            self._files[row] = CompressedFile(self.image, row)
        return self._files[row]


class _Frontend:
    """struct z_erofs_frontend: one call of the page cache."""

    def __init__(self, reader: ErofsReader, file: CompressedFile, first: int, call: Call) -> None:
        self.reader, self.file, self.first, self.call = reader, file, first, call
        self.map = Mapped(0, 0, Kind.HOLE)
        self.begun = False
        self.ended_one = False
        self.chain: dict[int, tuple[int, bool]] = {}  # by place: bytes stored, to be kept
        self.lengths: dict[int, int] = {}  # by place: bytes to unpack

    def look(self, offset: int, readmore: bool = False) -> None:
        """Map an offset, and read the metadata that this needs."""
        file, reader = self.file, self.reader
        self.map = file.map(offset, readmore)
        if self.map.kind == Kind.HOLE:
            return
        for at in file.metadata_of_first():
            reader.read_metadata(at, 1, self.call)
        for at in file.metadata_of(self.map, offset):
            reader.read_metadata(at, 1, self.call)

    def scan(self, page: int) -> None:
        """z_erofs_scan_folio: collect the clusters of a page, from its end on."""
        end = (page + 1) * PAGE
        while end > page * PAGE:
            if not self.map.at <= end - 1 < self.map.end:
                self.ended_one |= self.begun
                self.begun = False
                self.look(end - 1)
            begin = max(self.map.at, page * PAGE)
            if self.map.kind == Kind.FRAGMENT:
                at = self.map.place + begin - self.map.at
                self.reader.read_fragment(at, min(end, self.file.size) - begin, self.call)
            elif self.map.kind != Kind.HOLE:
                self.take(end)
            self.map.end, self.map.full = begin, False
            end = begin

    def take(self, end: int) -> None:
        """z_erofs_pcluster_begin, z_erofs_bind_cache: link a cluster, unless it is linked."""
        mapped, begun = self.map, self.begun
        self.begun = True
        if mapped.packed:
            self.lengths[mapped.place] = max(self.lengths.get(mapped.place, 0), end - mapped.at)
        if begun or mapped.place in self.chain:
            return
        if mapped.kind == Kind.INLINE:
            self.reader.read_metadata(mapped.place, mapped.stored, self.call)
            return
        whole = mapped.full if self.reader.rules.keeps_partial else self.ended_one
        self.chain[mapped.place] = mapped.stored, not whole or mapped.at < self.first

    def read_before(self, insert: Insert) -> None:
        """z_erofs_pcluster_readmore: read the pages before the first one in its cluster."""
        if self.map.end > self.map.at:
            self.read_pages(self.map.end - 1, -(-self.map.at // PAGE) * PAGE, insert)

    def read_pages(self, last: int, until: int, insert: Insert) -> None:
        """Read absent pages from the page with byte ``last`` down to byte ``until``."""
        if last >= self.file.size:
            return
        for page in range(last // PAGE, -(-until // PAGE) - 1, -1):
            if insert(page):
                self.scan(page)

    def submit(self) -> None:
        """z_erofs_submit_queue: read the blocks that are not kept, adjacent blocks in one bio."""
        kept, reads = self.reader.kept, self.call.reads
        bio: Read | None = None
        for block, keep in self._blocks():
            if block in kept:
                continue
            if keep:
                kept.add(block)
            goes_on = bio is not None and bio.at + bio.length == block * PAGE
            if bio is None or not goes_on or bio.length == MOST_PAGES_OF_A_BIO * PAGE:
                bio = Read(block * PAGE, 0)
                reads.append(bio)
            bio.length += PAGE
        self.call.unpacked += sum(self.lengths.values())

    def _blocks(self) -> Iterator[tuple[int, bool]]:
        """Yield the blocks of the clusters, the last linked first, and whether to keep each."""
        for place, (stored, keep) in reversed(self.chain.items()):
            for block in range(place // PAGE, -(-(place + stored) // PAGE)):
                yield block, keep
