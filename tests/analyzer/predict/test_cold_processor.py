"""Starts of several file systems, on a processor that a probe found slow after waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.start import prepare
from foreread.emulator.linux.rules import version_of
from foreread.tracer.formats.disk_probe import Computing, ComputingRound

DATA = Path(__file__).parents[2] / "foreread/data"
CAPTURES = (
    "suite/x86_64-python-1.capture.tar.xz",
    "btrfs-madplay/btrfs-madplay.capture.tar.xz",
    "squashfs-madplay/squashfs-madplay.capture.tar.xz",
)
WARM_NS, COLD_NS = [10_000] * 16, [*[15_000] * 4, *[10_000] * 12]
WINDOWS = [0, 32]


def started(name, computing=None):
    recording = load(DATA / name)
    if computing is not None:
        probe = structs.replace(recording.probe, computing=computing)
        recording = replace(recording, probe=probe)
    version = version_of(recording.kernel)
    return prepare(inputs(recording, version), version)


@pytest.mark.parametrize("name", CAPTURES)
def test_a_larger_window_spares_what_waits_cost_a_start(name):
    """The first 40 µs after a wait take half as long again; the recorded run is unchanged."""
    rounds = [ComputingRound(first=0, warm_ns=WARM_NS, cold_ns=COLD_NS)] * 12
    computing = Computing(kinds=["any"] * 16, rounds=rounds)
    plain, cold = started(name), started(name, computing)
    assert plain.cpu.cold_share == 0
    assert (cold.cpu.cold_ns, cold.cpu.cold_share) == pytest.approx((40_000, 0.5), rel=0.1)
    assert "of computing take" in next(note for note in cold.notes if note.startswith("CPU time"))
    before, after = plain.timed(WINDOWS), cold.timed(WINDOWS)
    assert after[0].total_ns == pytest.approx(before[0].total_ns, rel=1e-9)
    spared_ns = before[1].compute_ns - after[1].compute_ns
    most_ns = 20_000 * before[0].work[:, 3].sum()
    requests_ns = (plain.cpu.request_ns - cold.cpu.request_ns) * before[0].work[:, 0].sum()
    assert 0 < spared_ns + requests_ns < most_ns


@pytest.mark.parametrize(("of_source", "spread"), [(15_000, 0.0), (20_000, 1.0)])
def test_draws_vary_the_share_by_kind(of_source, spread):
    """Compiling takes 5 or 10 µs longer, parsing 5 or nothing: 50 % of all in either case."""
    cold_ns = [of_source, 30_000 - of_source] * 8
    rounds = [ComputingRound(first=0, warm_ns=WARM_NS, cold_ns=cold_ns)] * 12
    start = started(CAPTURES[0], Computing(kinds=["source", "text"] * 8, rounds=rounds))
    shares = [start.drawn(np.random.default_rng(seed)).cpu.cold_share for seed in range(8)]
    assert np.mean([min(shares), max(shares)]) == pytest.approx(0.5, rel=0.1)
    assert (max(shares) - min(shares)) == pytest.approx(spread, abs=0.1)
