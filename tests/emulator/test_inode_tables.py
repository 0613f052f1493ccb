"""Readahead in inode tables: cases worked out by hand, and the plain reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.emulator.linux.inode_tables import InodeTable, reads_ahead
from foreread.emulator.reference.inode_tables import Buffers

TABLE = InodeTable(40, 363)  # as in the image that the cases were recorded from


def ahead_of(blocks, ahead, in_memory=()):
    return list(reads_ahead([(block, TABLE) for block in blocks], ahead, in_memory))


@pytest.mark.parametrize(
    ("block", "ahead", "expected"),
    [
        (72, 32, [(64, 8), (73, 24)]),  # recorded: 64 to 71, 73 to 96, and 72 waited for
        (41, 32, [(40, 1), (42, 31)]),  # from the begin of the table
        (360, 32, [(352, 8), (361, 3)]),  # to its end
        (72, 0, []),
        (72, 1, [(73, 1)]),
        (72, 8, [(73, 8)]),
        (79, 8, [(72, 7), (80, 1)]),
    ],
)
def test_the_aligned_blocks_around_one_are_read_ahead(block, ahead, expected):
    assert ahead_of([block], ahead) == [expected]


def test_what_is_in_memory_is_not_read_again():
    """Block 96 comes with 72, and 104 reads on from 97."""
    found = ahead_of([72, 80, 104, 73], 32)
    assert found == [[(64, 8), (73, 24)], None, [(97, 7), (105, 24)], None]
    assert ahead_of([72, 72, 80], 0) == [[], None, []]
    assert ahead_of([72], 8, in_memory=[75, 80]) == [[(73, 2), (76, 4)]]


@given(
    blocks=st.lists(st.integers(40, 363), max_size=20),
    ahead=st.sampled_from([0, 1, 2, 8, 32, 128, 512]),
    in_memory=st.sets(st.integers(40, 363), max_size=5),
)
def test_the_reads_are_those_of_the_kernel_s_loop(blocks, ahead, in_memory):
    buffers = Buffers(set(in_memory))
    expected = []
    for block in blocks:
        before = len(buffers.reads)
        buffers.get_inode_loc(block, TABLE.first, TABLE.last, ahead)
        expected.append([one for one, is_ahead in buffers.reads[before:] if is_ahead])
        if len(buffers.reads) == before:
            expected[-1] = None
    found = ahead_of(blocks, ahead, in_memory)
    flat = [
        runs if runs is None else [first + at for first, number in runs for at in range(number)]
        for runs in found
    ]
    assert flat == expected
