"""Hostile perf.data files end in a Trace or a TraceError with a remedy, and nothing else."""

import perf_samples
import pytest
from children import keep, outcome_in_child
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from property_tests import examples
from rings import further

from foreread.analyzer.ingest import perfdata

NAMES = ["file", "pipe", "zstd", "mixed"]
FINE = {"ok", "TraceError"}
damaged = settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def read_everything(path):
    trace = perfdata.read(path)
    perfdata.mappings(path)
    perfdata.tasks(path)
    for name in sorted(trace.event_names & {"sched:sched_process_exec", "block:block_rq_issue"}):
        trace.read_fields(name, ("filename",) if "exec" in name else ("rwbs", "comm"))


@pytest.mark.parametrize("name", further(NAMES))
@damaged
@given(part=st.floats(0, 1))
def test_cut_anywhere(name, part, tmp_path):
    data = perf_samples.golden(name)
    path = keep(tmp_path, data[: int(part * len(data))])
    assert outcome_in_child(lambda: read_everything(path)) in FINE


@pytest.mark.parametrize("name", further(NAMES, ["mixed"]))
@damaged
@given(flips=st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 255)), min_size=1, max_size=8))
def test_bytes_changed_anywhere(name, flips, tmp_path):
    data = bytearray(perf_samples.golden(name))
    for part, value in flips:
        data[int(part * len(data))] = value
    path = keep(tmp_path, bytes(data))
    assert outcome_in_child(lambda: read_everything(path)) in FINE


@pytest.mark.thorough
@damaged
@given(at=st.integers(0, 3000), value=st.sampled_from([0, 1, 0x7F, 0xFF]), width=st.integers(1, 8))
def test_header_and_attributes_changed(at, value, width, tmp_path):
    data = bytearray(perf_samples.golden("file"))
    data[at : at + width] = bytes([value]) * width
    path = keep(tmp_path, bytes(data))
    assert outcome_in_child(lambda: read_everything(path)) in FINE


@pytest.mark.thorough
@damaged
@given(data=st.binary(max_size=400), magic=st.sampled_from([b"PERFILE2", b"2ELIFREP", b""]))
def test_any_bytes_after_the_magic(data, magic, tmp_path):
    path = keep(tmp_path, magic + data)
    assert outcome_in_child(lambda: read_everything(path)) in FINE
