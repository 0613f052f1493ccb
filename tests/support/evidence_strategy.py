"""Evidence for those who follow threads: a few files, pages and threads, and hostile numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from foreread.analyzer.program.evidence import INSERTED, PIECE, Evidence, Shown
from foreread.analyzer.program.timeline import MOMENT, What

PAGE = 4096
FILES = 4
PAGES = 24
BASE = 1 << 30  # where things are mapped
HUGE = (1 << 63) - 1
_PAGE_EVENTS = (What.INSERT, What.FAULT, What.GET_PAGES, What.MAP_PAGES, What.RA_UNBOUNDED)
_WILD = st.sampled_from([0, 1, -1, -PAGE, 1 << 49, 1 << 50, 1 << 62, HUGE, -(1 << 63)])

_file = st.integers(-1, FILES - 1)
_page = st.integers(0, PAGES)
_pid = st.integers(1, 5)
_fd = st.integers(0, 5)
_bytes = st.one_of(st.integers(0, PAGES).map(lambda n: n * PAGE), st.integers(0, PAGES * PAGE))
_address = st.integers(0, 40).map(lambda n: BASE + n * PAGE)
_flags = st.sampled_from([0, 1, 2, 4, 0x20, 0x22, 0o2000000, 1030])
_advice = st.sampled_from([0, 1, 2, 3, 14, 15])

# What each kind of moment says where it is not hostile.
_VALUES = {
    What.INSERT: (_file, _page, st.integers(0, 3), st.booleans().map(int)),
    What.FAULT: (_file, _page),
    What.GET_PAGES: (_file, _page, _page),
    What.MAP_PAGES: (_file, _page, _page),
    What.RA_UNBOUNDED: (_file, _page, st.integers(0, 6)),
    What.FORK: (_pid,),
    What.EXEC: (),
    What.READ: (_fd, _bytes),
    What.PREAD: (_fd, _bytes, _bytes),
    What.READV: (_fd,),
    What.PREADV: (_fd, _bytes),
    What.SENDFILE: (_fd, st.integers(0, 1), _bytes),
    What.OPEN: (_flags,),
    What.OPENED: (_fd,),
    What.DUP: (_fd,),
    What.DUPED: (_fd,),
    What.DUP_TO: (_fd, _fd, _flags),
    What.FCNTL: (_fd, _flags, _flags),
    What.FCNTLED: (_fd,),
    What.CLOSE: (_fd,),
    What.CLOSE_RANGE: (_fd, _fd, _flags),
    What.LSEEK: (_fd,),
    What.LSEEKED: (_bytes,),
    What.MMAP: (_bytes, _flags, _flags, _fd, _bytes),
    What.MAPPED: (_address,),
    What.MUNMAP: (_address, _bytes),
    What.MREMAP: (_address, _bytes, _bytes),
    What.MREMAPPED: (_address,),
    What.MPROTECT: (_address, _bytes, _flags),
    What.MADVISE: (_address, _bytes, _advice),
    What.FADVISE: (_fd, _bytes, _bytes, _advice),
    What.READAHEAD: (_fd, _bytes, _bytes),
    What.CLONED: (_pid, st.sampled_from([0, 0x100, 0x400, 0x500])),
    What.OTHER: (),
}
# Calls that belong together come one after the other, or nothing would be open or mapped.
_PAIRS = {What.OPEN: What.OPENED, What.MMAP: What.MAPPED, What.MREMAP: What.MREMAPPED}
_PAIRS |= {What.DUP: What.DUPED, What.FCNTL: What.FCNTLED, What.LSEEK: What.LSEEKED}


@st.composite
def _moments_of_one(draw):
    what = draw(st.sampled_from(list(_VALUES)))
    pid = draw(_pid)
    found = [(pid, what, draw(_values(what)))]
    if what in _PAIRS and draw(st.integers(0, 5)):
        found.append((pid, _PAIRS[what], draw(_values(_PAIRS[what]))))
    if what == What.FAULT and draw(st.booleans()):
        file, page = found[0][2][:2]
        found.append((pid, What.INSERT, (file, page, 0, 1)))
    return found


def _values(what):
    usual = st.tuples(*_VALUES[what])
    if what in _PAGE_EVENTS:  # evidence has these in range
        return usual
    return st.one_of(usual, usual, usual, st.tuples(*[_WILD] * len(_VALUES[what])))


@st.composite
def evidences(draw, most=60):
    """Evidence that is in range, whatever it means."""
    groups = draw(st.lists(_moments_of_one(), max_size=most))
    listed = [moment for group in groups for moment in group]
    moments = np.zeros(len(listed), MOMENT)
    for row, (pid, what, values) in enumerate(listed):
        filled = [*values, *[0] * (5 - len(values))]
        moments[row] = (1000 * (row + 1), filled, pid, what)
    places = st.tuples(st.integers(0, PAGES), st.integers(0, FILES - 1))
    known = st.tuples(st.booleans(), st.booleans(), st.integers(-1, 4))
    inserted = draw(st.lists(st.tuples(places, known), max_size=40))
    return Evidence(
        moments,
        np.array([(*place, *rest) for place, rest in inserted], INSERTED),
        draw(_pieces(st.booleans())),
        draw(_pieces(st.just(False))),
        np.array(draw(st.lists(_size(), min_size=FILES, max_size=FILES)), np.int64),
        np.array(draw(st.lists(st.integers(0, 7), min_size=FILES, max_size=FILES)), np.uint8),
        PAGE,
        Shown(draw(st.integers(0, 7))),
    )


def _size():
    return st.one_of(st.just(-1), st.just(0), st.integers(1, PAGES * PAGE), st.just(1 << 40))


@st.composite
def _pieces(draw, executable):
    piece = st.tuples(
        st.integers(0, PAGES), st.integers(1, 6), st.integers(0, FILES - 1), executable
    )
    found = sorted(draw(st.lists(piece, max_size=5)), key=lambda one: one[2])
    return np.array([(first, first + n, file, flag) for first, n, file, flag in found], PIECE)
