"""Waits with a timeout: what another thread wants ends them, however often the timeout passed."""

from dataclasses import replace

import numpy as np
import pytest
from event_table import SLEEPS, SOFTIRQ, event, switch, wake
from programs import Script
from recorded_threads import IDLE, A, B, ended, rows, steps
from timed_runs import run_of

from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program import thread_steps
from foreread.emulator.devices.device import FixedCost
from foreread.emulator.stepwise.timed import timed

TICK = 1000


@pytest.fixture(autouse=True)
def free_events(monkeypatch):
    """Let recording cost nothing, so that the figures are those of the events."""
    monkeypatch.setattr(thread_steps, "event_cost", lambda _: 0.0)


def timeouts(thread, since, number, cpu):
    """``number`` waits of a thread from ``since`` on, each ended by a timer after TICK."""
    found = []
    for at in range(since, since + number * TICK, TICK):
        found += [
            switch(at, thread, IDLE, SLEEPS, cpu=cpu),
            wake(at + TICK - 20, IDLE, thread, SOFTIRQ, cpu=cpu),
            switch(at + TICK - 10, IDLE, thread, cpu=cpu),
        ]
    return found


def start():
    return [
        switch(0, IDLE, A),
        event(Kind.FORK, pid=A, value=B, time_ns=100),
        switch(200, IDLE, B, cpu=1),
    ]


def asked_for(waker_ns):
    """B waits with timeouts until A wakes it; A then waits for B."""
    return [
        *start(),
        *timeouts(B, 300, 5, cpu=1),
        switch(5300, B, IDLE, SLEEPS, cpu=1),
        wake(waker_ns, A, B),
        switch(waker_ns + 10, IDLE, B, cpu=1),
        switch(waker_ns + 100, A, IDLE, SLEEPS),
        wake(waker_ns + 500, B, A, cpu=1),
        switch(waker_ns + 510, IDLE, A),
        *ended(waker_ns + 1000, B, cpu=1),
        *ended(waker_ns + 2000, A),
    ]


def test_a_thread_that_another_one_wakes_would_be_woken_in_each_of_its_timeouts():
    found, _ = steps(*asked_for(5800))
    slept = found.steps[found.steps["sleep_ns"] > 0]
    assert len(slept) == 5
    (asks,) = np.unique(slept["woken_by"]).tolist()
    assert asks >= 0 and found.steps["thread"][asks] == 0  # A's moment: it wakes B
    waits = np.flatnonzero((found.steps["thread"] == 1) & (found.steps["waits_for"] == asks))
    assert len(waits) == 1


def test_timeouts_do_not_keep_a_run_that_is_shorter():
    """A comes to its question sooner than recorded: B need not wait for its timeouts before."""

    found, _ = steps(*asked_for(5800))
    run = run_of(Script(), [{"operation": -1}], cpus=2)
    found.steps["cpu_ns"][found.steps["thread"] == 0] /= 10
    total = timed(_with(run, found), 0, FixedCost(1000, 0)).total_ns
    assert total < 2500
    found.steps["woken_by"] = -1
    assert timed(_with(run, found), 0, FixedCost(1000, 0)).total_ns > 5000


def _with(run, found):

    return replace(run, steps=found.steps, tail_ns=found.tail_ns, ends=found.ends)


def test_a_thread_that_waits_after_a_timeout_did_not_wait_for_the_timeout():
    """A comes to wait for B's work when B's timeout has passed: A would have found B awake."""
    found, _ = steps(
        *start(),
        *timeouts(B, 300, 2, cpu=1),
        switch(2400, A, IDLE, SLEEPS),
        wake(2600, B, A, cpu=1),
        switch(2610, IDLE, A),
        *ended(3000, B, cpu=1),
        *ended(4000, A),
    )
    slept = found.steps[found.steps["sleep_ns"] > 0]
    assert len(slept) == 2
    (begins,) = np.unique(slept["woken_by"]).tolist()
    assert rows(found, "thread", "cpu_ns")[begins] == (0, 2300)  # since A made B


def test_a_thread_that_waits_for_a_timeout_does_not_shorten_it():
    """A waits for B from before B's timeout on: that is what A waits for."""
    found, _ = steps(
        *start(),
        switch(250, A, IDLE, SLEEPS),
        *timeouts(B, 300, 1, cpu=1),
        wake(1500, B, A, cpu=1),
        switch(1510, IDLE, A),
        *ended(2000, B, cpu=1),
        *ended(4000, A),
    )
    slept = found.steps[found.steps["sleep_ns"] > 0]
    assert slept["woken_by"].tolist() == [-1]


def test_a_sleep_that_a_thread_asked_for_is_not_shortened(monkeypatch):
    """B calls nanosleep(2) at 1300, before its second sleep."""
    calls = {B: np.array([1295], np.uint64)}
    monkeypatch.setattr(thread_steps, "nanosleeps", lambda _: calls)
    found, _ = steps(*asked_for(5800))
    slept = found.steps[found.steps["sleep_ns"] > 0]
    assert (slept["woken_by"] < 0).tolist() == [False, True, False, False, False]


@pytest.mark.parametrize(("acts", "slept"), [(False, 0), (True, 3 * (TICK - 20))])
def test_timeouts_after_which_a_thread_only_ends_are_not_slept(acts, slept):
    """B wakes A after its timeouts, or only ends."""
    woken = [wake(3400, B, A, cpu=1)] if acts else []
    found, _ = steps(
        *start(),
        *timeouts(B, 300, 3, cpu=1),
        switch(3350, A, IDLE, SLEEPS),
        *woken,
        switch(3410, IDLE, A),
        *ended(3500, B, cpu=1),
        *ended(4000, A),
    )
    assert found.steps["sleep_ns"][found.steps["thread"] == 1].sum() == slept
