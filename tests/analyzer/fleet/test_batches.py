"""The captures of a run in batches."""

from types import SimpleNamespace

import pytest

from foreread.analyzer.fleet.analyse import _batches
from foreread.analyzer.fleet.listing import Found
from foreread.analyzer.fleet.question import FleetQuestion

QUESTION = FleetQuestion("1.0")


def sizes(captures, workers):
    """Return how many captures each batch of at most 64 has; no capture is lost or repeated."""
    found = [Found(f"{number}.capture", False, "1") for number in range(captures)]
    batches = list(_batches(iter(found), SimpleNamespace(workers=workers), 64, QUESTION))
    assert [one for batch in batches for one in batch.captures] == found
    return [len(batch.captures) for batch in batches]


def test_batches_grow_and_the_last_are_as_long_as_one_another():
    assert sizes(2000, 2) == [4, 4, 8, 8, 16, 16, 32, 32, *[64] * 28, 44, 44]


@pytest.mark.parametrize(
    ("captures", "workers", "expected"),
    [(0, 2, []), (1, 2, [1]), (5, 4, [2, 2, 1]), (3, 0, [3]), (12, 1, [4, 8])],
)
def test_a_few_captures_are_shared(captures, workers, expected):
    assert sizes(captures, workers) == expected
