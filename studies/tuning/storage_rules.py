"""Which file systems can be made and mounted: the rules of mkfs and mount, as data.

There are two sets of rules: today's, each with its source, compared with mkfs and mount themselves
in tests/kernel; and a reconstruction of the rules of Zadok et al., *Parametric Optimization of
Storage Systems* (HotStorage 2015), which publishes their counts (section 3, table 1) and not the
rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from foreread.analyzer.tuner.space.genes import NONE, Allele, Chromosome

FILE_SYSTEMS = ("ext2", "ext3", "ext4", "xfs", "nilfs2", "btrfs", "reiserfs")
MOUNTS = ("relatime", "noatime")
MODES = ("ordered", "writeback", "journal")
PUBLISHED = {
    "ext2": 184,
    "ext3": 736,
    "ext4": 736,
    "xfs": 216,
    "nilfs2": 162,
    "btrfs": 24,
    "reiserfs": 16,
}
_MIB = 1 << 20
# xfsprogs 6.1: the log takes at least 64 MiB and lies within one group, beside its headers.
_XFS_LOG_GROUP = 65 * _MIB
_NILFS_SEGMENTS = 16
_NILFS_LAST_SUPERBLOCK = 4096
_BTRFS_LEAST = 109 * _MIB
_XFS_LEAST = 300 * _MIB

Sizes = Sequence[Allele]


@dataclass(frozen=True)
class Geometry:
    """What goes with one block size: the inode sizes (bytes) and the blocks per group."""

    inode_sizes: Sizes
    blocks_per_group: Sizes


@dataclass(frozen=True)
class Rules:
    """What one file system can be made and mounted with; ``geometries`` by block size (bytes)."""

    geometries: Mapping[Allele, Geometry]
    journals: Sizes = (NONE,)
    specials: Sizes = (NONE,)
    mounts: Sizes = MOUNTS

    def allow(self, chromosome: Chromosome) -> bool:
        """Return whether a file system of these alleles can be made and mounted."""
        geometry = self.geometries.get(chromosome["block_size"])
        return (
            geometry is not None
            and chromosome["inode_size"] in geometry.inode_sizes
            and chromosome["blocks_per_group"] in geometry.blocks_per_group
            and chromosome["mount"] in self.mounts
            and chromosome["journal"] in self.journals
            and chromosome["special"] in self.specials
        )

    def only(self, kept: Mapping[str, Sizes]) -> Rules:
        """Return these rules with the alleles in ``kept`` alone, by gene; ``none`` stays.

        Genes that are not in it keep theirs.
        """
        blocks = _kept(self.geometries, kept, "block_size")
        geometries = {
            block: Geometry(
                _kept(self.geometries[block].inode_sizes, kept, "inode_size"),
                _kept(self.geometries[block].blocks_per_group, kept, "blocks_per_group"),
            )
            for block in blocks
        }
        return Rules(
            geometries,
            journals=_kept(self.journals, kept, "journal"),
            specials=_kept(self.specials, kept, "special"),
            mounts=_kept(self.mounts, kept, "mount"),
        )

    @property
    def count(self) -> int:
        """How many there are: mounts × journals × specials × Σ over blocks (inodes × groups)."""
        geometries = sum(
            len(geometry.inode_sizes) * len(geometry.blocks_per_group)
            for geometry in self.geometries.values()
        )
        return math.prod(map(len, (self.mounts, self.journals, self.specials))) * geometries


RuleSet = Mapping[str, Rules]


def today(device_bytes: int, page_bytes: int = 4096) -> RuleSet:
    """Return the rules of a device of that size, under a kernel with pages of that size.

    e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, nilfs-utils 2.2.9, reiserfsprogs 3.6.27. A
    file system that does not fit on the device is left out. Where a size that mkfs chooses by
    itself has no allele, ``none`` leaves the choice to it.
    """
    ext = _geometries(powers(1024, page_bytes), _ext_inodes, _ext_groups)
    rules = {
        "ext2": Rules(ext),
        "ext3": Rules(ext, journals=MODES),
        # Without a journal (mke2fs -O ^has_journal) ext3 is ext2, and ext4 is yet another one.
        "ext4": Rules(ext, journals=(NONE, *MODES)),
    }
    if device_bytes >= _XFS_LEAST:
        groups = lambda block: _xfs_groups(block, device_bytes)  # noqa: E731
        rules["xfs"] = Rules(_geometries(powers(1024, page_bytes), _xfs_inodes, groups))
    segments = lambda block: _nilfs_segments(block, device_bytes)  # noqa: E731
    nilfs = _geometries(powers(1024, page_bytes), _inapplicable, segments)
    # Documentation/filesystems/nilfs2.rst: relaxed is what a mount without the option gets.
    rules["nilfs2"] = Rules(nilfs, journals=("relaxed", "strict"))
    if device_bytes >= _BTRFS_LEAST:
        # mkfs.btrfs(8): the node size is a power of two from the sector size, a page, to 64 KiB.
        nodes = _geometries(powers(page_bytes, 65536), _inapplicable, _inapplicable)
        # btrfs(5): without copy-on-write there are neither checksums nor compression, and
        # without checksums no compression either: each option stands alone.
        rules["btrfs"] = Rules(nodes, specials=(NONE, "compress", "nodatacow", "nodatasum"))
    # mkreiserfs(8) offers 512 to 8192; the kernel mounts what the page holds.
    tree = _geometries(powers(512, page_bytes), _inapplicable, _inapplicable)
    rules["reiserfs"] = Rules(tree, journals=MODES, specials=(NONE, "notail"))
    return rules


def published() -> RuleSet:
    """Return rules that give every count of the paper (PUBLISHED): a reconstruction.

    Its values that can be seen (table 2) are among them. ``none`` of a journal gene counts as an
    allele of its own, though it makes what the default mode makes.
    """
    blocks = powers(1024, 4096)
    ext = _geometries(blocks, _ext_inodes, lambda block: powers(512, 8 * block))
    journals = (NONE, *MODES)
    xfs = _geometries(
        blocks,
        lambda block: powers(256, min(2048, block // 2)),  # version 4: no checksums
        # Powers of two from mkfs.xfs's least, 16 MiB, of which a disk of 73 GB holds two.
        lambda block: powers(16 * _MIB // block, (32 << 30) // block),
    )
    nilfs = _geometries(blocks, _inapplicable, lambda block: powers(16, 4096))
    return {
        "ext2": Rules(ext),
        "ext3": Rules(ext, journals=journals),
        "ext4": Rules(ext, journals=journals),
        "xfs": Rules(xfs),
        "nilfs2": Rules(nilfs, journals=(NONE, "relaxed", "strict")),
        # Which three sizes cannot be known: 4096, 8192 and 16384 are the smallest.
        "btrfs": Rules(
            _geometries(powers(4096, 16384), _inapplicable, _inapplicable),
            specials=(NONE, "compress", "nodatacow", "nodatasum"),
        ),
        "reiserfs": Rules(
            {NONE: Geometry((NONE,), (NONE,))}, journals=journals, specials=(NONE, "notail")
        ),
    }


def powers(lowest: int, highest: int) -> tuple[int, ...]:
    """Return the powers of two from ``lowest`` to ``highest``, both included."""
    exponents = range(max(highest, 0).bit_length())
    return tuple(1 << exponent for exponent in exponents if lowest <= 1 << exponent <= highest)


def _geometries(
    blocks: Iterable[int], inodes: Callable[[int], Sizes], groups: Callable[[int], Sizes]
) -> dict[Allele, Geometry]:
    candidates = {block: Geometry(inodes(block), groups(block)) for block in blocks}
    return {
        block: geometry
        for block, geometry in candidates.items()
        if geometry.inode_sizes and geometry.blocks_per_group
    }


def _kept(alleles: Iterable[Allele], kept: Mapping[str, Sizes], gene: str) -> Sizes:
    return tuple(allele for allele in alleles if allele in (NONE, *kept.get(gene, (allele,))))


def _inapplicable(_block: int) -> Sizes:
    return (NONE,)


def _ext_inodes(block: int) -> Sizes:
    """mke2fs(8) -I: a power of two of at least 128; "max" of its complaint is the block size."""
    return powers(128, block)


def _ext_groups(block: int) -> Sizes:
    """mke2fs.c: 256 blocks at least, and what one bitmap block has bits for at most."""
    return powers(256, 8 * block)


def _xfs_inodes(block: int) -> Sizes:
    """mkfs.xfs(8) -i size: at least 512 bytes with checksums, at most half a block and 2048."""
    return powers(512, min(2048, block // 2))


def _xfs_groups(block: int, device_bytes: int) -> Sizes:
    """mkfs.xfs(8) -d agsize: two groups or more, of which the one in the middle has the log.

    With two groups that is the last one, which has what the first has left.
    """
    sizes = [
        size
        for size in powers(_XFS_LOG_GROUP, device_bytes)
        if size < device_bytes
        and (2 * size < device_bytes or device_bytes - size >= _XFS_LOG_GROUP)
    ]
    return (NONE, *(size // block for size in sizes))


def _nilfs_segments(block: int, device_bytes: int) -> Sizes:
    """mkfs.nilfs2(8) -B: 16 blocks or more; 16 segments, and the second superblock, must fit."""
    room = device_bytes - _NILFS_LAST_SUPERBLOCK
    return powers(16, room // (_NILFS_SEGMENTS * block))
