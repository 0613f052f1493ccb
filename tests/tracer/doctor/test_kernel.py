from __future__ import annotations

import pytest

from foreread.tracer.backends.base import INDISPENSABLE, WANTED_EVENTS
from foreread.tracer.doctor.kernel import GENERATIONS, cost_of_missing, generation_of


# The first and the last release of each generation.
@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("2.6.9", "before A"),
        ("2.6.11", "A"),
        ("2.6.22.19", "A"),
        ("2.6.23.17", "B"),
        ("2.6.39.4", "B"),
        ("3.0.101", "B"),
        ("5.17", "B"),
        ("5.18.0-rc1", "C1"),
        ("6.10.14", "C1"),
        ("6.11", "C2"),
        ("6.12.117+deb13-amd64", "C2"),
        ("6.16.12", "C2"),
        ("6.17.0", "C3"),
        ("6.18.44-fc-v595", "C3"),
        ("10.0", "C3"),
    ],
)
def test_each_release_has_its_generation(release: str, name: str) -> None:
    generation = generation_of(release)
    assert generation and generation.name == name


@pytest.mark.parametrize("release", ["", "linux", "6", "v6.1"])
def test_an_invalid_release_has_no_generation(release: str) -> None:
    assert generation_of(release) is None


def test_generations_are_in_order() -> None:
    assert [one.since for one in GENERATIONS] == sorted(one.since for one in GENERATIONS)


def test_the_most_exact_cost_is_reported() -> None:
    assert cost_of_missing(INDISPENSABLE) == "nothing can be recorded"
    assert cost_of_missing("filemap:mm_filemap_fault") != cost_of_missing(INDISPENSABLE)
    assert "nothing" not in " ".join(cost_of_missing(e) for e in WANTED_EVENTS[1:])
