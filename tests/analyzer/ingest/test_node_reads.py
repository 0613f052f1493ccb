"""Reads of f2fs's nodes are not file data, though nothing flags them."""

import numpy as np
import pytest
from event_table import DISK, insert, read, table
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.inserts import find_inserts
from foreread.analyzer.ingest.node_reads import f2fs_devices, node_reads
from foreread.analyzer.ingest.tables import Kind

PAGE = 4096
NODE = 1


def found(*events, fstype="f2fs"):
    return find_inserts(table(*events), PAGE, {DISK: fstype})


def test_a_node_read_between_a_page_and_its_read_is_its_own():
    events = (insert(5, 0), insert(NODE, 9), read(8000, 1), read(100, 1))
    on_f2fs = found(*events)
    assert (on_f2fs.data.rows, on_f2fs.pages.tolist(), on_f2fs.group.tolist()) == (1, [1], [1])
    assert on_f2fs.nodes["index"].tolist() == [8000]
    assert found(*events, fstype="ext4").nodes.rows == 0


def test_several_nodes_may_come_in_one_read_or_in_several():
    nodes = (insert(NODE, 9), insert(NODE, 10))
    for reads in ((read(8000, 2),), (read(8000, 1), read(9000, 1))):
        events = (*nodes, *reads, insert(5, 0), read(100, 1))
        assert found(*events).nodes["index"].tolist() == [one[6] for one in reads]


def test_another_threads_read_is_not_that_of_a_node():
    events = (insert(NODE, 9, pid=1), insert(5, 0, pid=2), read(100, 1, pid=2), read(9, 1, pid=1))
    assert found(*events).nodes["index"].tolist() == [9]


@given(
    st.lists(
        st.one_of(
            st.builds(insert, st.integers(0, 3), st.integers(0, 9), pid=st.integers(1, 2)),
            st.builds(read, st.integers(0, 99), st.integers(1, 9), pid=st.integers(1, 2)),
        ),
        max_size=20,
    )
)
def test_no_more_reads_than_nodes_and_none_before_them(events):
    made = table(*events)
    nodes = np.flatnonzero((made["kind"] == Kind.INSERT) & (made["ino"] == NODE))
    queued = np.flatnonzero(made["kind"] == Kind.BIO_QUEUE)
    reads = node_reads(made, nodes, queued, PAGE)
    assert len(reads) <= len(nodes)
    assert (made["kind"][reads] == Kind.BIO_QUEUE).all()
    assert not len(reads) or reads[0] > nodes[0]


def opened(files, node_of, dev=DISK):
    """Each file's node, then two of its pages."""
    rows = [
        (insert(NODE, node_of(ino), dev=dev), insert(ino, 0, dev=dev), insert(ino, 1, dev=dev))
        for ino in files
    ]
    return table(*(one for row in rows for one in row))


def test_a_file_system_whose_nodes_are_those_of_the_next_inodes_is_f2fs():
    inserts = opened(range(700, 720, 3), lambda ino: ino)
    assert f2fs_devices(inserts, set()) == (DISK,)
    assert f2fs_devices(inserts, {DISK}) == ()


def test_scattered_far_pages_before_each_file_are_nodes_of_f2fs():
    """Nodes of deep folders and of files whose own node was cached."""
    assert f2fs_devices(opened(range(700, 720, 3), lambda ino: 40_000 + 977 * ino), set())


@pytest.mark.parametrize(
    "inserts",
    [
        table(*(insert(NODE, page) for page in range(64))),  # squashfs: a file, read in order
        table(*(insert(NODE, page) for page in (0, 900, 17, 400)), insert(9, 0), insert(9, 1)),
        opened(range(700, 720, 3), lambda ino: ino - 700),  # a small library, then its user
        opened(range(700, 720, 3), lambda ino: ino, dev=44),  # no disk: NFS, btrfs
        table(insert(NODE, 700), insert(700, 0)),  # chance
    ],
)
def test_the_number_of_the_inode_alone_is_not_f2fs(inserts):
    assert f2fs_devices(inserts, set()) == ()
