"""Published storage parts: their cost gives back the throughput that was published."""

import msgspec
import pytest

from foreread.boards.disks import kinds
from foreread.boards.parts import PublishedPart, published_parts
from foreread.boards.profile import builtin_names


@pytest.mark.parametrize(("name", "part"), published_parts().items())
def test_each_published_part_has_times_of_plausible_reads(name, part):
    points = part.cost().points
    assert [point.request_kib for point in points] == part.request_kib * 2
    published = part.random + part.sequential
    assert [point.request_kib / point.latency_us * 1e6 for point in points] == pytest.approx(
        published
    )
    for sequential in (False, True):
        times = [point.latency_us for point in points if point.sequential == sequential]
        assert times == sorted(times)
        assert 30 < times[0] < 1000  # µs for 4 KiB
    assert part.source.startswith("github.com/")
    assert name not in builtin_names() + list(kinds())


def test_a_part_with_a_rate_missing_has_no_cost():
    part = PublishedPart("a", "b", [4, 16], random=[1000, 2000], sequential=[1000])
    with pytest.raises(ValueError, match="zip"):
        part.cost()


def test_a_part_with_an_unknown_key_is_refused():
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"title": "a", "depth": 2}, PublishedPart)
