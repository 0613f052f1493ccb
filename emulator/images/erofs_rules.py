"""The rules of a kernel for reads of compressed EROFS, by version (fs/erofs/zdata.c)."""

from __future__ import annotations

from dataclasses import dataclass

from foreread.emulator.linux.rules import Version

PAGE = 4096  # bytes: blocks and pages of the images that are emulated
MOST_PAGES_OF_A_BIO = 256  # BIO_MAX_VECS
# max_sync_decompress_pages of super.c: readahead of at most so many pages waits for its reads.
# Since 5.16 only after a first read that ended in an interrupt, as the reads of the boot do.
MOST_PAGES_WAITED_FOR = 3
# z_erofs_pcluster_readmore, 38629291a5f5 "erofs: introduce readmore decompression strategy".
_READS_MORE_SINCE: Version = (5, 16)
# z_erofs_should_alloc_cache looks at EROFS_MAP_FULL_MAPPED in 6.6, and at ``backmost`` in 6.1.
_KEEPS_PARTIAL_SINCE: Version = (6, 2)
# Traces of boards with one processor: after a completion 5.10 and 6.1 run the worker that unpacks
# and then kblockd, which gives the disk its next request; 6.12 and 7.2 run kblockd first. The
# scheduler changed in between (147f3efaa241 "sched/fair: Implement an EEVDF-like scheduling
# policy"); releases from 6.2 to 6.11 were not traced.
_UNPACKS_LAST_SINCE: Version = (6, 6)


@dataclass(frozen=True)
class ErofsRules:
    """``reads_more``: the rest of a cluster, before and after the pages read, is read, too.

    ``keeps_partial``: the cache of compressed blocks keeps clusters that are not unpacked whole;
    earlier kernels kept the last one of each call. Clusters that begin before the first page are
    kept. ``unpacks_first``: a single processor unpacks before it gives the disk a waiting request.
    """

    reads_more: bool = True
    keeps_partial: bool = True
    unpacks_first: bool = False


def erofs_rules(version: Version) -> ErofsRules:
    """Return the rules of a kernel."""
    return ErofsRules(
        reads_more=version >= _READS_MORE_SINCE,
        keeps_partial=version >= _KEEPS_PARTIAL_SINCE,
        unpacks_first=version < _UNPACKS_LAST_SINCE,
    )
