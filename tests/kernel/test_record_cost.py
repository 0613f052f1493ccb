"""The cost of recording a start on an emulated board, in guest time: recorded and not, in turn."""

from __future__ import annotations

import os
from contextlib import closing
from statistics import median

import pytest

from foreread.boards.emulated.image import SAMPLE
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.tracer.remote.record import record_on
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.runs.recording import RecordOptions
from foreread.tracer.trials.trial import Trial, TrialOptions

pytestmark = pytest.mark.boards
MOST = 0.05
PAIRS = 3  # after one that reads what no later one does


def test_recording_loses_nothing_and_costs_little(tmp_path, capsys):
    nowhere = os.open(os.devnull, os.O_WRONLY)
    run = RunOptions(
        ["madplay", "-Q", "-o", "null:", "-t", "1", f"/{SAMPLE}"], streams=Streams(nowhere, nowhere)
    )
    costs = []
    with closing(EmulatedTarget(LiveOptions("arm64"))) as target:
        for number in range(1 + PAIRS):
            with trials_on(target, TrialOptions(run)) as bench:
                bare_s = bench.run(Trial(((bench.windows[0], "0"),))).seconds
            capture = record_on(target, RecordOptions(run), tmp_path / str(number))
            assert sum(capture.lost.values()) == 0
            costs.append(capture.wall_seconds / bare_s - 1)
        left = target.run(["sh", "-c", "ls -d /run/foreread*; mount -t tracefs"]).stdout
    os.close(nowhere)
    with capsys.disabled():
        print(
            f"\n  arm64: recording costs {', '.join(f'{cost:.2%}' for cost in costs[1:])}", end=""
        )
    assert median(costs[1:]) <= MOST
    assert left == b""
