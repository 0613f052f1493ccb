"""Recorded loads show what their programs did (data/README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from foreread.analyzer.ingest.load import load_any
from foreread.analyzer.ingest.recording import TraceError
from foreread.analyzer.load.client import Client
from foreread.analyzer.load.error import LoadError
from foreread.analyzer.load.recorded import load_in, load_of, seen_load

DATA = Path(__file__).parent / "data"
EXAMPLE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
KIB, MIB = 1 << 10, 1 << 20
MOST_THINK_NS = 100_000  # of a loop without computing, on a busy machine


def path_of(name):
    return DATA / f"{name}.capture.tar.xz"


def the_client(name, program):
    """Return the client that a program is, and what was counted of it."""
    (seen,) = [each for each in seen_load(load_any(path_of(name))).clients if each.name == program]
    return seen


def kind(client):
    return client.write, client.in_order, client.cached, client.sequential


def test_a_direct_reader():
    seen = the_client("direct", "dd")
    assert kind(seen.client) == (False, True, False, False)
    assert (seen.client.size, seen.client.outstanding) == (128 * KIB, 1)
    assert 0 < seen.client.think_ns < MOST_THINK_NS
    assert seen.nbytes == pytest.approx(seen.requests * 128 * KIB, rel=0.01)


def test_a_reader_through_the_cache():
    seen = the_client("cached", "cat")
    assert kind(seen.client) == (False, True, True, True)
    assert seen.client.size == 128 * KIB


def test_a_writer():
    seen = the_client("writer", "dd")
    assert kind(seen.client) == (True, True, True, False)
    # Its first and its last burst were recorded in part.
    assert 3 * MIB < seen.client.burst_bytes <= 4 * MIB
    assert seen.client.think_ns > MOST_THINK_NS  # dd writes 4 MiB into the cache


def test_a_reader_at_random():
    seen = the_client("random", "python")
    assert kind(seen.client) == (False, False, False, False)
    assert (seen.client.size, seen.client.outstanding) == (4 * KIB, 1)
    assert 0 < seen.client.think_ns < MOST_THINK_NS


def test_a_load_is_read_from_its_capture():
    load = load_in(path_of("direct"))
    assert load.name == "direct.capture.tar.xz"
    assert load.clients == load_of(load_any(path_of("direct"))).clients
    assert [type(client) for client in load.clients] == [Client]


def test_a_capture_without_a_load_is_refused():
    with pytest.raises(LoadError, match="holds no load"):
        load_in(EXAMPLE)
    with pytest.raises(TraceError, match="does not exist"):
        load_in(DATA / "nowhere.capture")
