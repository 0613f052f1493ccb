"""Other ways to replay a list: each reads the same, and its table has the changes."""

from pathlib import Path

import numpy as np
import pytest

from foreread.analyzer.ingest.load import load
from foreread.emulator.linux.operations import Op
from foreread.emulator.linux.steps import AHEAD
from studies.prefetch import readers

CAPTURE = Path(__file__).parents[2] / "foreread/data/suite/arm64-madplay-1.capture.tar.xz"
DISK = readers.DEPTH_8["UFS, depth 8"]


@pytest.fixture(scope="module")
def listed():
    return readers.listed_on(load(CAPTURE), DISK)


def asked(listed, run):
    """Return the parts that each reader asks for, as file, first page and pages."""
    own = len(run.steps) - len(listed.start.run.steps)
    steps = run.steps[:own][run.steps[:own]["operation"] >= 0]
    operations = run.program.operations[steps["operation"]]
    files = run.program.handles[operations["handle"]]
    return [
        {
            (int(file), int(one["at"]), int(one["length"]))
            for file, one in zip(files[of], operations[of], strict=True)
        }
        for thread in np.unique(steps["thread"])
        for of in [(operations["op"] == Op.WILLNEED) & (steps["thread"] == thread)]
    ]


@pytest.mark.parametrize("number", [2, 4, 8])
def test_each_reader_has_files_of_its_own(listed, number):
    parts = asked(listed, readers.readers(listed, number))
    (whole,) = asked(listed, listed.beside(listed.start.run, listed.rows))
    assert len(parts) == number
    assert set.union(*parts) == whole
    files = [{file for file, *_ in part} for part in parts]
    assert sum(map(len, files)) == len(set.union(*files))


def test_readers_begin_together_after_the_exec_of_the_first(listed):
    run = readers.readers(listed, 4)
    own = run.steps[: len(run.steps) - len(listed.start.run.steps)]
    _, first = np.unique(own["thread"], return_index=True)
    assert sorted(own["waits_for"][first]) == [-1, 0, 0, 0]


def test_blocks_of_no_file_are_asked_for_once_and_not_waited_for(listed):
    run = readers.with_blocks(listed)
    ahead = run.steps[(run.steps["meta"] & AHEAD) > 0]
    known = listed.start.run.steps
    added = ahead[~np.isin(ahead["thread"], known["thread"])]
    assert len(added)
    begins, ends = added["sector"], added["sector"] + added["sectors"]
    reads = known[readers._of_no_file(listed.start)]
    assert len(reads) >= len(added)
    for read in reads:
        within = (begins <= read["sector"]) & (read["sector"] + read["sectors"] <= ends)
        assert within.sum() == 1
    extents = listed.start.run.layout.extents
    for read in reads:
        in_file = (extents["sector"] <= read["sector"]) & (
            read["sector"] < extents["sector"] + extents["sectors"]
        )
        assert not in_file.any()


def test_near_reads_are_merged_in_the_order_of_their_first_use():
    assert readers.together([(1000, 8), (8, 8), (24, 8), (1000, 8)]) == [(1000, 8), (8, 24)]
    assert readers.together([(0, 200), (200, 200)]) == [(0, 200), (200, 200)]
    assert readers.together([(0, 64), (8, 8)]) == [(0, 64)]


def test_the_start_waits_for_the_first_part(listed):
    run = readers.first_part(listed, 0.5)
    own = len(run.steps) - len(listed.start.run.steps)
    waits_for = int(run.steps["waits_for"][own])
    first = set(readers.head(listed.rows, 0.5))
    assert 0 < waits_for < own
    assert len(first) < len(listed.rows)
    assert len(asked(listed, run)) == 2


def test_the_head_of_a_list_has_a_share_of_its_pages():
    rows = [(0, 0, 10), (1, 0, 20), (2, 0, 70)]
    assert readers.head(rows, 0.3) == tuple(rows[:2])
    assert readers.head(rows, 0.05) == tuple(rows[:1])
    assert readers.head(rows, 1.0) == tuple(rows)


def test_the_table_has_the_changes_against_the_present_replayer(listed):
    seconds = readers.seconds(listed, 1)
    assert seconds["only computing"] < seconds[readers.PRESENT] < seconds["no list"]
    found = {"a": {"x": {"present": 2.0, "other": 1.0}, "y": {"present": 1.0, "other": 1.2}}}
    assert readers.table(found)[2:] == ["| a | -15.0 (-50…+20) |"]
