"""ext4's readahead in inode tables (__ext4_get_inode_loc in fs/ext4/inode.c, Linux 6.18).

To read an inode whose block is not in memory, ext4 first asks for the other blocks of the aligned
group of ``inode_readahead_blks`` blocks with it, within the table, each in a bio of its own, and
then waits for the inode's block alone. A plug merges neighbours into one request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Run = tuple[int, int]  # first block, number of blocks


@dataclass(frozen=True)
class InodeTable:
    """The inode table of a block group: its ``first`` block, and the ``last`` that is read ahead.

    That is the block with the first inode that was never used (bg_itable_unused).
    """

    first: int
    last: int

    def around(self, block: int, ahead: int) -> range:
        """Return the blocks that are read with ``block``, itself included.

        ``ahead`` is inode_readahead_blks: a power of two, or 0. There is one block more than that,
        except at the end of the table.
        """
        if not ahead:
            return range(block, block + 1)
        begin = max(block & ~(ahead - 1), self.first)
        return range(begin, min(begin + ahead, self.last) + 1)


def reads_ahead(
    blocks: Iterable[tuple[int, InodeTable]], ahead: int, in_memory: Iterable[int] = ()
) -> Iterator[list[Run] | None]:
    """Yield what is read ahead for each block that is needed, in order of the needs.

    ``blocks`` come with their tables. None: the block is in memory, or on its way there; nothing is
    read. ``in_memory`` are blocks that were there before.
    """
    cached = set(in_memory)
    for block, table in blocks:
        if block in cached:
            yield None
            continue
        cached.add(block)
        read_together = [other for other in table.around(block, ahead) if other not in cached]
        cached.update(read_together)
        yield _runs(read_together)


def _runs(blocks: Sequence[int]) -> list[Run]:
    runs: list[Run] = []
    for block in blocks:
        if runs and sum(runs[-1]) == block:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((block, 1))
    return runs
