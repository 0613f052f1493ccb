"""Reading compressed EROFS, plain and slow, with the kernel's functions by their names.

This module works with the indexes of an image, one after the other, where images/erofs_maps.py
works with extents. Images with fragments are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foreread.emulator.images.erofs_clusters import HEAD, NEXT, PLAIN, Index, Indexes, indexes_of
from foreread.emulator.images.erofs_format import (
    ErofsInode,
    ErofsSuperblock,
    read_erofs_inode,
    read_erofs_superblock,
)
from foreread.emulator.images.erofs_rules import ErofsRules
from foreread.emulator.images.source import ImageError, Octets, Source

PAGE_SIZE = 4096
LZ4 = 0


@dataclass
class MapBlocks:
    """struct erofs_map_blocks."""

    m_la: int = 0
    m_llen: int = 0
    m_pa: int = 0
    m_plen: int = 0
    mapped: bool = False
    full_mapped: bool = False
    meta: bool = False


@dataclass
class Pcluster:
    """struct z_erofs_pcluster, of one chain."""

    m_pa: int
    m_plen: int
    alloc_cache: bool


@dataclass
class Inode:
    """An inode with its own page cache."""

    inode: ErofsInode
    indexes: Indexes
    header: bytes
    pages: set[int] = field(default_factory=set)

    @property
    def idata_size(self) -> int:
        """z_idata_size: bytes of a cluster among the metadata."""
        inline = int.from_bytes(self.header[4:6], "little") & 8
        return int.from_bytes(self.header[2:4], "little") if inline else 0


@dataclass
class Frontend:
    """struct z_erofs_frontend."""

    inode: Inode
    headoffset: int
    map: MapBlocks = field(default_factory=MapBlocks)
    pcl: bool = False
    backmost: bool = True
    chain: list[Pcluster] = field(default_factory=list)  # the last one was begun last


class Mount:
    """A mounted image: inodes, the managed cache, the pages of metadata, and the reads."""

    def __init__(self, octets: Octets, rules: ErofsRules) -> None:
        self.source, self.rules = Source(octets), rules
        self.superblock: ErofsSuperblock = read_erofs_superblock(self.source)
        self.inodes: dict[int, Inode] = {}
        self.managed: set[int] = set()
        self.bdev: set[int] = set()
        self.reads: list[tuple[int, int]] = []

    def iget(self, number: int) -> Inode:
        """erofs_iget."""
        if number not in self.inodes:
            inode = read_erofs_inode(self.source, self.superblock, number)
            indexes, header = indexes_of(self.source, self.superblock, inode)
            if indexes is None:
                raise ImageError("fragments are not read by the reference")
            self.inodes[number] = Inode(inode, indexes, header)
        return self.inodes[number]

    def bread(self, at: int) -> None:
        """erofs_bread: a page of the block device."""
        if at // PAGE_SIZE not in self.bdev:
            self.bdev.add(at // PAGE_SIZE)
            self.reads.append((at // PAGE_SIZE * PAGE_SIZE, PAGE_SIZE))

    def load(self, inode: Inode, lcn: int) -> Index:
        """z_erofs_load_lcluster_from_disk."""
        indexes = inode.indexes
        if indexes.full:
            self.bread(indexes.at + lcn * 8)
        else:
            self.bread(indexes.at + self.pack_of(indexes, lcn))
        return indexes.load(lcn)

    def pack_of(self, indexes: Indexes, lcn: int) -> int:
        """z_erofs_load_compact_lcluster: count the packs before an index's pack."""
        at = number = 0
        while True:
            short = indexes.before <= number < indexes.before + indexes.short
            rows, size = (16, 32) if short else (2, 8)
            if lcn < number + rows:
                return at
            at, number = at + size, number + rows

    def fill_inode_lazy(self, inode: Inode) -> None:
        """z_erofs_fill_inode_lazy."""
        self.bread(-(-inode.inode.end // 8) * 8)
        if inode.idata_size:
            self.lookback(inode, inode.indexes.count - 1)

    def lookback(self, inode: Inode, lcn: int) -> tuple[int, Index]:
        """z_erofs_extent_lookback: go to the head of a logical cluster without one."""
        index = self.load(inode, lcn)
        while index.kind == NEXT:
            lcn -= 1
            index = inode.indexes.load(lcn)
        self.load(inode, lcn)
        return lcn, index

    def map_blocks_iter(self, fe: Frontend, offset: int, readmore: bool) -> None:
        """z_erofs_map_blocks_iter, z_erofs_do_map_blocks."""
        inode, size = fe.inode, fe.inode.inode.size
        if offset >= size:
            fe.map = MapBlocks(size, offset + 1 - size)
            return
        self.fill_inode_lazy(inode)
        lcn, endoff = divmod(offset, PAGE_SIZE)
        first = self.load(inode, lcn)
        end, full = (lcn + 1) * PAGE_SIZE, False
        if first.kind != NEXT and endoff >= first.offset:
            head, index = lcn, first
            if inode.idata_size and end > size:
                end = size
        else:
            if first.kind != NEXT:
                end, full = lcn * PAGE_SIZE + first.offset, True
                lcn -= 1
            head, index = self.lookback(inode, lcn)
        la = head * PAGE_SIZE + index.offset
        fe.map = MapBlocks(la, end - la, mapped=True, full_mapped=full)
        if inode.idata_size and head == self.tail_headlcn(inode):
            fe.map.meta, fe.map.m_pa, fe.map.m_plen = True, inode.indexes.end, inode.idata_size
        else:
            fe.map.m_pa = index.block * PAGE_SIZE
            fe.map.m_plen = self.extent_compressedlen(inode, head, index)
        if readmore and self.expands(inode, index) and fe.map.m_llen >= PAGE_SIZE:
            fe.map.m_llen, fe.map.full_mapped = self.extent_end(inode, head) - la, True

    def tail_headlcn(self, inode: Inode) -> int:
        """z_tailextent_headlcn: the head of the last byte."""
        lcn, endoff = divmod(inode.inode.size - 1, PAGE_SIZE)
        index = inode.indexes.load(lcn)
        if index.kind != NEXT and index.offset > endoff:
            lcn -= 1
        while inode.indexes.load(lcn).kind == NEXT:
            lcn -= 1
        return lcn

    def extent_compressedlen(self, inode: Inode, head: int, index: Index) -> int:
        """z_erofs_get_extent_compressedlen: the index after a head counts the blocks."""
        del index
        if head + 1 < inode.indexes.count:
            after = inode.indexes.load(head + 1)
            if after.kind == NEXT and after.count > 1:
                self.load(inode, head + 1)
                return after.count * PAGE_SIZE
        return PAGE_SIZE

    def expands(self, inode: Inode, index: Index) -> bool:
        """Return whether EROFS_GET_BLOCKS_READMORE searches the end of the extent."""
        if index.kind == PLAIN:
            return False
        algorithms = inode.header[6]
        return (algorithms & 15 if index.kind == HEAD else algorithms >> 4) != LZ4

    def extent_end(self, inode: Inode, head: int) -> int:
        """z_erofs_get_extent_decompressedlen."""
        for lcn in range(head + 1, inode.indexes.count):
            index = self.load_quietly(inode, lcn)
            if index.kind != NEXT:
                self.load(inode, lcn)
                return lcn * PAGE_SIZE + index.offset
        self.load(inode, inode.indexes.count - 1)
        return inode.inode.size

    def load_quietly(self, inode: Inode, lcn: int) -> Index:
        """Return an index on a page that another index has brought."""
        return inode.indexes.load(lcn)

    def pcluster_begin(self, fe: Frontend) -> None:
        """z_erofs_pcluster_begin, z_erofs_bind_cache, z_erofs_should_alloc_cache."""
        fe.pcl = True
        if fe.map.meta:
            self.bread(fe.map.m_pa)
            return
        if any(cluster.m_pa == fe.map.m_pa for cluster in fe.chain):
            return
        partial = not fe.map.full_mapped if self.rules.keeps_partial else fe.backmost
        alloc = partial or fe.map.m_la < fe.headoffset
        fe.chain.append(Pcluster(fe.map.m_pa, fe.map.m_plen, alloc))

    def scan_folio(self, fe: Frontend, index: int) -> None:
        """z_erofs_scan_folio, z_erofs_do_read_page."""
        offset, end = index * PAGE_SIZE, PAGE_SIZE
        while end > 0:
            last = offset + end - 1
            if last < fe.map.m_la or last >= fe.map.m_la + fe.map.m_llen:
                if fe.pcl:
                    fe.backmost = False
                fe.pcl = False
                self.map_blocks_iter(fe, last, False)
            cur = 0 if offset > fe.map.m_la else fe.map.m_la - offset
            if fe.map.mapped and not fe.pcl:
                self.pcluster_begin(fe)
            fe.map.m_llen = offset + cur - fe.map.m_la
            fe.map.full_mapped = False
            end = cur

    def grab_folios(self, fe: Frontend, cur: int, end: int) -> None:
        """The loop of z_erofs_pcluster_readmore."""
        while end <= cur < fe.inode.inode.size:
            index = cur // PAGE_SIZE
            if index not in fe.inode.pages:
                fe.inode.pages.add(index)
                self.scan_folio(fe, index)
            if cur < PAGE_SIZE:
                break
            cur = index * PAGE_SIZE - 1

    def readmore_front(self, fe: Frontend) -> None:
        """z_erofs_pcluster_readmore without ``backmost``."""
        if self.rules.reads_more and fe.map.m_llen:
            end = -(-fe.map.m_la // PAGE_SIZE) * PAGE_SIZE
            self.grab_folios(fe, fe.map.m_la + fe.map.m_llen - 1, end)

    def read_folio(self, number: int, index: int) -> None:
        """z_erofs_read_folio."""
        inode = self.iget(number)
        if index in inode.pages:
            return
        inode.pages.add(index)
        fe = Frontend(inode, index * PAGE_SIZE)
        if self.rules.reads_more:
            end = (index + 1) * PAGE_SIZE
            self.map_blocks_iter(fe, end - 1, True)
            self.grab_folios(fe, fe.map.m_la + fe.map.m_llen - 1, end)
        self.scan_folio(fe, index)
        self.readmore_front(fe)
        self.submit_queue(fe)

    def readahead(self, number: int, start: int, nr: int) -> None:
        """z_erofs_readahead, of absent pages."""
        inode = self.iget(number)
        inode.pages |= set(range(start, start + nr))
        fe = Frontend(inode, start * PAGE_SIZE)
        if self.rules.reads_more:
            self.map_blocks_iter(fe, (start + nr) * PAGE_SIZE - 1, True)
            until = -(-(fe.map.m_la + fe.map.m_llen) // PAGE_SIZE)
            while start + nr < until and start + nr not in inode.pages:
                inode.pages.add(start + nr)
                nr += 1
        for index in reversed(range(start, start + nr)):
            self.scan_folio(fe, index)
        self.readmore_front(fe)
        self.submit_queue(fe)

    def submit_queue(self, fe: Frontend) -> None:
        """z_erofs_submit_queue."""
        bio: list[int] = []
        for pcl in reversed(fe.chain):
            for cur in range(pcl.m_pa, pcl.m_pa + pcl.m_plen, PAGE_SIZE):
                if cur in self.managed:
                    continue
                if pcl.alloc_cache:
                    self.managed.add(cur)
                if bio and (bio[-1] + PAGE_SIZE != cur or len(bio) == 256):
                    self.reads.append((bio[0], len(bio) * PAGE_SIZE))
                    bio = []
                bio.append(cur)
        if bio:
            self.reads.append((bio[0], len(bio) * PAGE_SIZE))
