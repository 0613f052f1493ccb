"""studies/accuracy/applications.py: what counts as the same, and what the judge records."""

import os
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "studies/accuracy"


@pytest.fixture
def applications():
    """Return the module."""
    return import_module("studies.accuracy.applications")


def test_page_sets_are_compared_whatever_their_folios(applications):
    reads = applications.Reads
    one = reads([(7, 0, 2), (7, 4, 0)], [(7, 0, 4, 2)], 2)
    other = reads([(7, 0, 1), (7, 2, 1), (7, 4, 0), (7, 5, 0)], [], 1)
    row = applications.compare(16, "prediction", one, other)
    assert row.pages == (5, 6)
    assert row.jaccard == 5 / 6
    assert not row.identical
    assert row.requests == (2, 1)
    assert row.calls == (1, 0)


def test_the_same_folios_in_another_order_are_identical_but_not_in_order(applications):
    one = applications.Reads([(7, 0, 0), (8, 0, 0)], [], 2)
    other = applications.Reads([(8, 0, 0), (7, 0, 0)], [], 2)
    row = applications.compare(0, "run", one, other)
    assert row.identical
    assert not row.in_order
    assert row.jaccard == 1


def test_nothing_read_is_the_same_as_nothing(applications):
    nothing = applications.Reads([], [], 0)
    assert applications.compare(0, "run", nothing, nothing).jaccard == 1


@pytest.mark.kernel
@pytest.mark.thorough
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: no application was judged")
def test_a_program_is_judged_by_its_runs(applications, tmp_path):
    command = ["/usr/bin/perl", "-MPOSIX", "-e", "1"]
    rows = applications.judge(command, [64], on=Path(command[0]), directory=tmp_path, twice=True)
    assert [row.of for row in rows] == ["prediction", "run"]
    predicted, run = rows
    assert predicted.requests[1] > 0
    assert predicted.calls[1] > 0
    assert run.jaccard > 0.9
    assert predicted.jaccard > 0.9
    assert (tmp_path / "at64-again" / "capture.json").exists()
