"""Pieces of computing right after others, and after reads that wait."""

from __future__ import annotations

import gc
import os
import random

import msgspec
import pytest

from foreread.tracer.formats.disk_probe import Computing, ComputingRound, DiskProbe, ProbeTrial
from foreread.tracer.local.disk import computing
from foreread.tracer.local.disk.computing import FEWEST_ROUNDS, _Used, compute_after_waits
from foreread.tracer.local.disk.spans import Places, Span

MIB = 1 << 20


def reads(each_ns: int, number: int = 10) -> list[ProbeTrial]:
    issue = [each_ns * row for row in range(number)]
    done = [at + each_ns for at in issue]
    return [
        ProbeTrial(
            request_bytes=4096,
            sequential=False,
            depth=1,
            offset=[0] * number,
            issue_ns=issue,
            complete_ns=done,
        )
    ]


@pytest.fixture
def places(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(MIB))
    descriptor = os.open(path, os.O_RDONLY)
    yield Places([Span(descriptor, 0, MIB)], random.Random(1))
    os.close(descriptor)


def test_each_round_executes_all_pieces_before_and_after_a_wait(places, monkeypatch):
    monkeypatch.setattr(computing, "_LONGEST_NS", 10**15)
    monkeypatch.setattr(computing, "_MOST_OTHERS", 1.0)
    found = compute_after_waits(places, reads(1000))
    assert found is not None
    assert len(found.kinds) == 32
    assert {found.kinds.count(kind) for kind in found.kinds} == {8}
    assert len(found.rounds) == 60
    assert {each.first for each in found.rounds} == set(range(32))
    assert all(min(each.warm_ns + each.cold_ns) > 0 for each in found.rounds)
    assert gc.isenabled()


def test_a_disk_that_is_too_slow_for_the_rounds_is_not_read(places, monkeypatch):
    assert compute_after_waits(places, reads(40_000_000)) is None
    monkeypatch.setattr(computing, "_LONGEST_NS", 100_000)  # over after the first round
    assert compute_after_waits(places, reads(1000)) is None
    assert FEWEST_ROUNDS > 1


def test_rounds_while_others_use_the_processors_are_discarded(places, monkeypatch):
    monkeypatch.setattr(computing, "_LONGEST_NS", 10**15)
    monkeypatch.setattr(computing, "_MOST_OTHERS", -1.0)
    assert compute_after_waits(places, reads(1000)) is None


def test_the_share_of_others_is_that_of_all_processors_without_this_process():
    """Of two seconds of all processors 1.3 were used, 0.3 of them by this process."""
    before, after = _Used(10.0, 4.0, 0.5), _Used(12.0, 5.3, 0.8)
    assert after.by_others(before) == pytest.approx(0.5)
    assert before.by_others(before) == 0.0
    assert 0 < _Used.now().used_s <= _Used.now().total_s


def test_no_place_for_a_page_is_no_round():
    assert compute_after_waits(Places([Span(0, 0, 1024)], random.Random(1)), reads(1000)) is None


def test_columns_of_rounds_that_differ_in_length_are_refused():
    whole = {"kinds": ["a", "b"], "rounds": [{"first": 1, "warm_ns": [1, 2], "cold_ns": [3, 4]}]}
    probe = {"dev": "7:0", "name": "loop0", "computing": whole}
    found = msgspec.convert(probe, DiskProbe).computing
    assert found == Computing(
        kinds=["a", "b"], rounds=[ComputingRound(first=1, warm_ns=[1, 2], cold_ns=[3, 4])]
    )
    for changed in ({"first": 2}, {"warm_ns": [1]}, {"cold_ns": [1, 2, 3]}):
        rows = [{**whole["rounds"][0], **changed}]
        with pytest.raises(msgspec.ValidationError, match="differ in length"):
            msgspec.convert({**probe, "computing": {**whole, "rounds": rows}}, DiskProbe)


def test_a_probe_of_an_older_foreread_has_no_computing():
    assert msgspec.convert({"dev": "7:0", "name": "loop0"}, DiskProbe).computing is None
