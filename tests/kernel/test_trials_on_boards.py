"""Trials on an emulated board: swap, schedulers and their tunables, a board that is reset."""

from __future__ import annotations

import os

import pytest

from foreread.analyzer.apply import ApplyPlan, Disk, Setting, write_scripts
from foreread.analyzer.tuner.evaluation import TargetGone
from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.tracer.remote.trials import trials_on
from foreread.tracer.runs.options import RunOptions, Streams
from foreread.tracer.trials.trial import Scenario, Trial, TrialOptions
from foreread.tuning.evaluator import TrialEvaluator

pytestmark = pytest.mark.boards

QUEUE = "/sys/block/slow0/queue"
SWAPPINESS = "/proc/sys/vm/swappiness"
ATIME, COMMIT = "mount:relatime,noatime,strictatime:/", "mount:commit=:/"
PLAY = ["madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"]


@pytest.fixture(scope="module")
def board():
    with EmulatedTarget(LiveOptions("x86_64", kernel="6.12")) as target:
        yield target


@pytest.fixture
def trials(board):
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        streams = Streams(stdout=nowhere.fileno(), stderr=nowhere.fileno())

        def trials(*words, limit_s=300.0):
            run = RunOptions(list(words or PLAY), streams=streams)
            return trials_on(board, TrialOptions(run, limit_s=limit_s))

        yield trials


def test_genes_are_found_tried_and_put_back(board, trials):
    with trials() as bench:
        assert bench.mounted == "/"
        found = bench.probe([f"{QUEUE}/scheduler", f"{QUEUE}/iosched/*", SWAPPINESS, ATIME, COMMIT])
        settings = (
            (f"{QUEUE}/scheduler", "bfq"),
            (f"{QUEUE}/iosched/slice_idle", "0"),
            (SWAPPINESS, "10"),
            (ATIME, "relatime"),
            (COMMIT, "60"),
        )
        outcome = bench.run(Trial(settings))
    assert f"{QUEUE}/iosched/slice_idle" in found
    assert found[SWAPPINESS] == "60"
    assert found[ATIME] == "relatime [noatime] strictatime"
    assert outcome.in_force == dict(settings)
    assert outcome.status in ("ok", "contended")
    assert outcome.cold
    assert board.read_knob(SWAPPINESS) == "60"
    assert board.read_knob(f"{QUEUE}/scheduler") == found[f"{QUEUE}/scheduler"]
    with trials() as bench:
        assert bench.probe([ATIME, COMMIT]) == {knob: found[knob] for knob in (ATIME, COMMIT)}


def test_fewer_requests_than_can_be_written_come_back_with_the_tunables(board, trials):
    board.write_knob(f"{QUEUE}/scheduler", "mq-deadline")
    board.write_knob(f"{QUEUE}/iosched/fifo_batch", "7")
    with trials() as bench:
        settings = ((f"{QUEUE}/scheduler", "mq-deadline"), (f"{QUEUE}/nr_requests", "64"))
        outcome = bench.run(Trial(settings))
        same = bench.run(Trial(((f"{QUEUE}/nr_requests", "2"),)))
    assert outcome.in_force == dict(settings)
    assert same.in_force == {f"{QUEUE}/nr_requests": "2"}
    assert not [note for note in (*outcome.notes, *same.notes) if "restored" in note]
    assert board.read_knob(f"{QUEUE}/nr_requests") == "2"
    assert board.read_knob(f"{QUEUE}/iosched/fifo_batch") == "7"


def test_a_boot_script_restores_reset_knobs(board, tmp_path):
    depth = board.read_knob(f"{QUEUE}/iosched/async_depth")
    plan = ApplyPlan((Setting("queue/nr_requests", "64", "tested", Disk("slow0")),))
    board.push(write_scripts(plan, tmp_path)[0], "/run/apply", 0o700)
    started, stopped = (board.run(["/run/apply", verb]).stderr for verb in ("start", "stop"))
    assert b"nr_requests: 2 -> 64\n" in started
    assert b"nr_requests: 64 -> 2\n" in stopped
    assert board.read_knob(f"{QUEUE}/nr_requests") == "2"
    assert board.read_knob(f"{QUEUE}/iosched/async_depth") == depth


def test_memory_is_held_while_the_command_starts(trials):
    with trials() as bench:
        outcome = bench.run(Trial(scenario=Scenario.parse("memory:4")))
    assert outcome.seconds > 0, outcome


def test_a_board_that_restarts_costs_one_trial_and_is_waited_for(trials):
    # What is written stays at such a restart.
    restart_once = "[ -e /restarted ] || { : >/restarted; reboot; sleep 100; }"
    with TrialEvaluator(lambda: trials("sh", "-c", restart_once)) as evaluator:
        evaluator.scenarios = {"idle": Scenario()}
        with pytest.raises(TargetGone):
            evaluator.evaluate({}, "idle")
        assert evaluator.evaluate({}, "idle").status in ("ok", "contended")
