"""The places of squashfs's compressed blocks, and the cost of unpacking them, from a recording.

At read_ahead_kb=0 a thread inserts the pages of a block and reads it (squashfs_readpage_block), so
that the first read of data after its last insert reads the block. Places and lengths of blocks
that were not read are interpolated from those around them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.ingest.tables import Array, Kind, Rwbs, Table, of_kinds, order_by
from foreread.analyzer.program.schedule import stays
from foreread.emulator.linux.requests import SECTOR
from foreread.emulator.linux.steps import CpuCost

_NEAR_SECTORS = 8  # a page: pieces of one block are at most this far apart
_SOON_SHARE = 25  # percentile: the shortest times after a read are pure unpacking
_MANY_PAGES = 8  # of a block that is used to estimate the cost of unpacking
_LENGTH_SECTORS = 8  # to read the length of a metadata block: at most a disk block of 4 KiB
_FEWEST_PAIRS = 4  # of blocks whose compressed sizes differ

Block = tuple[int, int]  # file row, number
Row = tuple[int, int, int, int, int]  # EXTENT


@dataclass
class _Read:
    """A block that is being read by a thread, in one piece or several: sectors [from, until)."""

    thread: int
    block: Block
    since_ns: int
    queued_ns: int = 0
    pieces: list[tuple[int, int]] = field(default_factory=list)

    def take(self, first: int, until: int, time_ns: int) -> None:
        """Take in a read of the thread if it goes on with the block."""
        if not self.pieces or 0 <= first - self.pieces[-1][1] <= _NEAR_SECTORS:
            self.queued_ns = time_ns
            self.pieces.append((first, until))


@dataclass
class _Call:
    """A thread's inserts, of a block or of several in a row, and the bios that it queued then.

    squashfs_readahead extends a window that ends at the border of a block by the next block, and
    reads one after the other (6.18). A bio is its first sector, the one after it, and the time.
    """

    reads: list[_Read]
    bios: list[tuple[int, int, int]] = field(default_factory=list)

    def goes_on(self, block: Block | None, time_ns: int) -> bool:
        """Take in an insert into one of the blocks, or into the next; return whether it is."""
        file, number = self.reads[-1].block
        if block == (file, number + 1):
            self.reads.append(_Read(self.reads[-1].thread, block, time_ns))
            return True
        first = self.reads[0].block[1]
        return block is not None and block[0] == file and first <= block[1] <= number

    def ended(self, next_ns: int, done: Mapping[int, int]) -> Iterator[tuple[_Read, int, int]]:
        """Yield the blocks that were read, the next event, and the completion of the read.

        Of several blocks the last ones were read, if there are fewer bios: the others were in the
        cache of fragments. Those of several show no cost of unpacking.
        """
        read = self.reads[-len(self.bios) :] if self.bios else []
        for row, bio in enumerate(self.bios):
            read[min(row, len(read) - 1)].take(*bio)
        for each in read:
            yield each, next_ns, done.get(each.pieces[-1][0], 0) if len(self.reads) == 1 else 0


@dataclass(frozen=True, eq=False)
class Blocks:
    """``rows`` (EXTENT) are the blocks; ``bios`` those that read them: first sectors and ends.

    ``cpu`` is the cost of unpacking: per page and per compressed sector; ``insert_ns`` is the part
    of a page's cost that is its way into the page cache. Blocks that were filled without a read are
    marked as unread: fragments that squashfs had in its cache.
    """

    rows: list[Row]
    bios: Array
    cpu: CpuCost
    insert_ns: float = 0.0

    def reads(self, sector: Array) -> Array:
        """Return a mask of the requests that read blocks, by their first sectors.

        A long bio is split into several. Metadata may begin in the last page of a block.
        """
        if not len(self.bios):
            return np.zeros(len(sector), bool)
        begins, ends = self.bios[np.argsort(self.bios[:, 0])].T
        row = np.searchsorted(begins, sector, "right") - 1
        goes_on = (row >= 0) & (sector + _NEAR_SECTORS < ends[np.maximum(row, 0)])
        return np.asarray(goes_on | np.isin(sector, begins))


def blocks_of(recording: Recording, block_pages: Array) -> Blocks:
    """Return the blocks of all files in compressed blocks; ``block_pages`` is by file, else 0."""
    places: dict[Block, tuple[int, int]] = {}
    bios: dict[Block, list[tuple[int, int]]] = {}
    costs = []
    reads = list(_reads(recording, block_pages.tolist()))
    ran = _RanOnCpu(recording.trace.events, {read.thread for read, _, _ in reads})
    for read, next_ns, done_ns in reads:
        first, until = read.pieces[0][0], read.pieces[-1][1]
        places[read.block] = first, until - first
        bios[read.block] = read.pieces
        pages = _pages(recording, read.block, block_pages)
        if pages >= _MANY_PAGES and next_ns > done_ns > 0:
            unpack_ns = ran.between(read.thread, done_ns, next_ns)
            insert_ns = ran.between(read.thread, read.since_ns, read.queued_ns)
            costs.append((until - first, unpack_ns, insert_ns, pages))
    filled = _came_in(recording, block_pages) - set(places)
    rows = [
        (*row[:4], int((row[0], row[1] * SECTOR // recording.page_size // each) not in filled))
        for row in _placed(recording, places, block_pages)
        if (each := int(block_pages[row[0]]))
    ]
    placed = {row[0] for row in rows}
    unit = recording.page_size // SECTOR
    rows += [
        (file, number * int(block_pages[file]) * unit, 0, 1, 0)
        for file, number in sorted(filled)
        if file not in placed
    ]
    own = np.array([bio for some in bios.values() for bio in some], np.uint64).reshape(-1, 2)
    by_block = np.array(costs, np.float64).reshape(-1, 4)
    return Blocks(rows, own, _cost(by_block), _insert_ns(by_block))


class _RanOnCpu:
    """How long threads were on a processor: while others are, a thread does not unpack."""

    def __init__(self, events: Table, threads: Collection[int]) -> None:
        end_ns = int(events["time_ns"].max(initial=0))
        self._stays = {
            thread: [rows[name].astype(np.int64) for name in ("begin_ns", "end_ns")]
            for thread, rows in stays(events, threads, end_ns).items()
        }

    def between(self, thread: int, since_ns: int, until_ns: int) -> int:
        """Return how long a thread ran in a time (ns); all of it without scheduler events."""
        if thread not in self._stays:
            return until_ns - since_ns
        begin, end = self._stays[thread]
        parts = np.minimum(end, until_ns) - np.maximum(begin, since_ns)
        return int(parts[parts > 0].sum())


def _cost(blocks: Array) -> CpuCost:
    """Return the cost of unpacking; ``blocks`` has sectors, times to unpack and insert (ns), pages.

    Decompressors take time for what they write and for what they read: the cost of a page grows
    with its compressed sectors. Other work may follow a read, so that short times count.
    """
    if not len(blocks):
        return CpuCost()
    sectors, unpack, _ = (blocks[:, :3] / blocks[:, 3:]).T
    each = _slope(sectors, unpack)
    page = max(float(np.percentile(unpack - each * sectors, _SOON_SHARE)), 0.0)
    return CpuCost(0.0, page + _insert_ns(blocks), each)


def _insert_ns(blocks: Array) -> float:
    """Return the time to insert a page; ``blocks`` as in ``_cost``."""
    each = blocks[:, 2] / blocks[:, 3]
    return float(np.percentile(each, _SOON_SHARE)) if len(blocks) else 0.0


def _slope(x: Array, y: Array) -> float:
    """Return the median slope (at least 0) of pairs of points, half of all apart (Theil 1950)."""
    order = np.argsort(x, kind="stable")
    half = len(order) // 2
    low, high = order[:half], order[len(order) - half :]
    apart = x[high] - x[low]
    differ = apart > 0
    if np.count_nonzero(differ) < _FEWEST_PAIRS:
        return 0.0
    return max(float(np.median((y[high] - y[low])[differ] / apart[differ])), 0.0)


def _came_in(recording: Recording, block_pages: Array) -> set[Block]:
    """Return the blocks with pages that came in; none if reads were not recorded."""
    inserts = recording.inserts
    if inserts is None or not inserts.reads_recorded:
        return set()
    inodes = zip(recording.files["dev"].tolist(), recording.files["ino"].tolist(), strict=True)
    rows = {inode: row for row, inode in enumerate(inodes) if block_pages[row]}
    columns = (inserts.data[name].tolist() for name in ("dev", "ino", "index"))
    of = ((rows.get((dev, ino)), index) for dev, ino, index in zip(*columns, strict=True))
    return {(row, index // int(block_pages[row])) for row, index in of if row is not None}


def _pages(recording: Recording, block: Block, block_pages: Array) -> int:
    """Return how many pages of a file a block holds."""
    file, number = block
    pages = -(-int(recording.files["size_bytes"][file]) // recording.page_size)
    each = int(block_pages[file])
    return min(each, pages - number * each)


def _reads(recording: Recording, block_pages: list[int]) -> Iterator[tuple[_Read, int, int]]:
    """Yield each block's read, the next event of its thread, and the completion of the read."""
    inodes = zip(recording.files["dev"].tolist(), recording.files["ino"].tolist(), strict=True)
    rows = {inode: row for row, inode in enumerate(inodes) if block_pages[row]}
    events = recording.trace.events
    wanted = of_kinds(events, (Kind.INSERT, Kind.BIO_QUEUE))
    wanted &= ~_of_metadata(events)
    columns = ("kind", "time_ns", "pid", "dev", "ino", "index", "value", "flags")
    chosen = (events[name][wanted].tolist() for name in columns)
    done = _completions(recording)
    under_way: dict[int, _Call] = {}
    for kind, time, pid, dev, ino, index, value, flags in zip(*chosen, strict=True):
        call = under_way.get(pid)
        if kind == Kind.BIO_QUEUE:
            if call is not None and flags & Rwbs.READ:
                call.bios.append((index, index + value, time))
            continue
        row = rows.get((dev, ino))
        block = None if row is None else (row, index // block_pages[row])
        if call is not None and call.bios:  # it has ended: a thread waits for its blocks
            yield from call.ended(time, done)
        elif call is not None and call.goes_on(block, time):
            continue
        under_way.pop(pid, None)
        if block is not None:
            under_way[pid] = _Call([_Read(pid, block, time)])
    for call in under_way.values():
        yield from call.ended(0, {})


def _of_metadata(events: Table) -> Array:
    """Return a mask of the queued reads of squashfs's metadata, all of which follows its data.

    The length of a metadata block is read first, and then the block (squashfs_read_data,
    fs/squashfs/block.c): a read that begins where the thread's one before it did shows one.
    """
    rows = np.flatnonzero((events["kind"] == Kind.BIO_QUEUE) & ((events["flags"] & Rwbs.READ) > 0))
    rows = rows[order_by(events["pid"][rows])]
    again = np.logical_and.reduce(
        [np.diff(events[name][rows].astype(np.int64)) == 0 for name in ("pid", "dev", "index")]
    )
    of_tables = np.zeros(events.rows, bool)
    pairs = rows[1:][again & (events["value"][rows[:-1]] <= _LENGTH_SECTORS)]
    for dev in np.unique(events["dev"][pairs]).tolist():
        first = events["index"][pairs[events["dev"][pairs] == dev]].min()
        of_tables |= (events["dev"] == dev) & (events["index"] >= first)
    return np.asarray(of_tables & (events["kind"] == Kind.BIO_QUEUE))


def _completions(recording: Recording) -> dict[int, int]:
    """Return when the last read of each sector was done."""
    requests = recording.requests
    done = requests["complete_ns"] > requests["issue_ns"]
    columns = (requests[name][done].tolist() for name in ("sector", "complete_ns"))
    return dict(zip(*columns, strict=True))


def _placed(
    recording: Recording, places: dict[Block, tuple[int, int]], block_pages: Array
) -> Iterator[Row]:
    """Yield all blocks of the files with some known blocks."""
    by_file: defaultdict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (file, number), place in places.items():
        by_file[file][number] = place
    for file, of_file in by_file.items():
        each = int(block_pages[file])
        pages = max(-(-int(recording.files["size_bytes"][file]) // recording.page_size), 1)
        count = max(-(-pages // each), max(of_file) + 1)
        held = [max(min(each, pages - number * each), 1) for number in range(count)]
        for number, (sector, sectors) in _all_blocks(of_file, held):
            at = number * each * (recording.page_size // SECTOR)
            yield file, at, sector, sectors, 1


def _all_blocks(
    places: dict[int, tuple[int, int]], held: list[int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield number and place of each block of a file; ``held`` are the pages in each.

    Between two known places the other blocks share the room by their pages; elsewhere they are
    packed as the known ones are.
    """
    density = sum(places[n][1] for n in places) / sum(held[n] for n in places)
    numbers = sorted(places)
    for left, right in zip([-1, *numbers], [*numbers, len(held)], strict=True):
        between = range(left + 1, right)
        pages = sum(held[number] for number in between)
        begin = sum(places[left]) if left >= 0 else None
        end = places[right][0] if right < len(held) else None
        room = density * pages
        if begin is not None and end is not None and end > begin:
            room = end - begin
        at = float(begin if begin is not None else max((end or 0) - room, 0.0))
        for number in between:
            stop = at + room * held[number] / pages
            yield number, (round(at), max(round(stop) - round(at), 1))
            at = stop
        if right < len(held):
            yield right, places[right]
