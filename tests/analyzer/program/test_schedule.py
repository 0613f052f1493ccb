"""Stays on processors, and wake-ups, from events written by hand."""

import numpy as np
import pytest
from event_table import BLOCKS, RUNS, SLEEPS, SOFTIRQ, event, switch, table, wake
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.ingest.tables import Kind
from foreread.analyzer.program.schedule import NOBODY, Left, stays

A, B, IDLE = 7, 8, 0


def rows(found, *names):
    return [tuple(int(value) for value in row) for row in found[list(names)].tolist()]


def test_a_thread_sleeps_and_is_woken_by_another():
    events = table(
        switch(100, IDLE, A),
        switch(150, IDLE, B, cpu=1),
        switch(200, A, IDLE, SLEEPS),
        wake(250, B, A, cpu=1),
        switch(260, IDLE, A),
        switch(300, B, IDLE, BLOCKS, cpu=1),
        wake(350, A, B, SOFTIRQ),
        switch(352, IDLE, B, cpu=1),
    )
    found = stays(events, [A, B, 99], 1000)
    assert sorted(found) == [A, B]
    assert rows(found[A], "begin_ns", "end_ns", "left", "woken_ns", "waker", "follows") == [
        (100, 200, Left.ASLEEP, 0, NOBODY, IDLE),
        (260, 1000, Left.RUNNABLE, 250, B, IDLE),
    ]
    assert rows(found[B], "begin_ns", "end_ns", "left", "woken_ns", "waker") == [
        (150, 300, Left.BLOCKED, 0, NOBODY),
        (352, 1000, Left.RUNNABLE, 350, NOBODY),
    ]


def test_a_preempted_thread_has_no_wake_up():
    """A wake-up long before, of a sleep that was over, says nothing of it."""
    events = table(
        wake(90, B, A),
        switch(100, IDLE, A),
        wake(110, B, A),
        switch(200, A, B, RUNS),
        switch(300, B, A, SLEEPS),
    )
    found = stays(events, [A], 1000)[A]
    assert rows(found, "woken_ns", "waker", "follows") == [(90, B, IDLE), (0, NOBODY, B)]


def test_a_child_s_first_stay_is_its_parent_s_doing():
    events = table(
        switch(100, IDLE, A),
        event(Kind.FORK, pid=A, value=B, time_ns=150),
        switch(180, IDLE, B, cpu=1),
    )
    found = stays(events, [A, B], 1000)[B]
    assert rows(found, "begin_ns", "woken_ns", "waker") == [(180, 150, A)]


def test_unrecorded_switch_in_is_placed_after_last_idle_event():
    """No switch from the idle task on CPU 1: B was woken at 240, and does something at 300."""
    events = table(
        switch(100, B, IDLE, BLOCKS, cpu=1),
        event(Kind.RQ_COMPLETE, pid=IDLE, time_ns=230, cpu=1),
        wake(240, IDLE, B, SOFTIRQ, cpu=1),
        event(Kind.RQ_COMPLETE, pid=IDLE, time_ns=250, cpu=1),
        event(Kind.FAULT, pid=B, time_ns=300, cpu=1),
        switch(400, B, IDLE, SLEEPS, cpu=1),
    )
    found = stays(events, [B], 1000)[B]
    assert rows(found, "begin_ns", "end_ns", "woken_ns", "follows")[1:] == [(250, 400, 240, IDLE)]


def test_an_unrecorded_first_stay_of_a_child_begins_at_its_fork():
    """No switch from the idle task, idle on CPU 1 since 100, to B, which A forks at 500."""
    events = table(
        switch(90, IDLE, A),
        switch(100, B + 1, IDLE, SLEEPS, cpu=1),
        event(Kind.FORK, pid=A, value=B, time_ns=500),
        event(Kind.FAULT, pid=B, time_ns=520, cpu=1),
        switch(600, B, IDLE, SLEEPS, cpu=1),
    )
    found = stays(events, [A, B], 1000)[B]
    assert rows(found, "begin_ns", "end_ns", "woken_ns", "waker") == [(500, 600, 500, A)]


@pytest.mark.parametrize("shift", [0, 1])
def test_states_that_are_one_bit_further_up_are_determined_by_the_idle_task(shift):
    """4.15 to 4.19: R is 1, S is 2, D is 4; a preempted thread has 0x100 everywhere."""
    running, asleep, blocked = (1, 2, 4) if shift else (0, 1, 2)
    events = table(
        switch(100, IDLE, A, running),
        switch(200, A, IDLE, asleep),
        switch(300, IDLE, A, running),
        switch(400, A, IDLE, blocked),
        switch(500, IDLE, A, running),
        switch(600, A, B, 0x100),
        switch(700, B, A, running),
    )
    found = stays(events, [A], 1000)[A]
    expected = [Left.ASLEEP, Left.BLOCKED, Left.RUNNABLE, Left.RUNNABLE]
    assert found["left"].tolist() == expected


def test_without_switches_there_are_no_stays():
    assert stays(table(event(Kind.FAULT, pid=A, time_ns=5)), [A], 10) == {}


@given(
    st.lists(
        st.tuples(
            st.sampled_from((Kind.SWITCH, Kind.WAKING, Kind.FORK, Kind.EXIT)),
            st.integers(0, 3),
            st.integers(0, 3),
            st.integers(0, 300),
            st.integers(0, 1),
        ),
        max_size=40,
    )
)
def test_whatever_is_recorded_stays_follow_one_another(found):
    """Lost events, and hostile ones: no stay is negative, none begins before the last has ended."""
    events = [
        event(kind, pid=pid, value=value, index=index, time_ns=10 * (row // 2), cpu=cpu)
        for row, (kind, pid, value, index, cpu) in enumerate(found)
    ]
    for thread in stays(table(*events), range(4), 10_000).values():
        begin, end = thread["begin_ns"].astype(int), thread["end_ns"].astype(int)
        assert (begin <= end).all()
        assert (np.diff(begin) >= 0).all()
        assert (end[:-1] <= begin[1:]).all()
