"""Probes of devices whose cost is known: the real plan of trials against a model of the device."""

from __future__ import annotations

import numpy as np

from foreread.analyzer.predict.disk.calibration import Trial, simulate
from foreread.tracer.formats.disk_probe import DiskProbe, ProbeTrial
from foreread.tracer.local.disk.plan import probe


def trial_on(device, pattern, seconds, rng=None):
    """Return what the reader would see in one trial; ``rng`` adds noise of 3 %."""
    blank = Trial(
        pattern.kib, pattern.sequential, pattern.depth, np.array([seconds * 1e9]), np.zeros(1)
    )
    seen = simulate(device, blank)
    latency = seen.latency_ns
    if rng is not None:
        latency = latency * np.maximum(1 + 0.03 * rng.standard_normal(len(latency)), 0.1)
    issue = np.maximum(seen.done_ns - latency, 0)
    return ProbeTrial(
        request_bytes=pattern.kib * 1024,
        sequential=pattern.sequential,
        depth=pattern.depth,
        offset=[0] * len(issue),
        issue_ns=[int(at) for at in issue],
        complete_ns=[int(at) for at in seen.done_ns],
    )


def no_pause(_seconds):
    """Do not wait: each trial of a model begins with an idle device."""


def probe_on(device, seed=None):
    """Return the probe of a device."""
    rng = None if seed is None else np.random.default_rng(seed)
    trials = probe(lambda pattern, seconds: trial_on(device, pattern, seconds, rng), no_pause)
    return DiskProbe(dev="7:0", name="loop0", seconds=1.0, trials=trials)
