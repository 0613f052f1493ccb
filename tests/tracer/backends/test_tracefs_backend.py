from __future__ import annotations

import struct

import pytest

from foreread.boards.base.owner import is_alive, owner_tag
from foreread.tracer.backends.tracefs import is_partial, lost_events, missed_marks

# per_cpu/cpu0/stats of Linux 6.18, numbers changed
STATS = """\
entries: 7
overrun: 20
commit overrun: 3
bytes: 480
oldest event ts:  1757.512030
now ts:  1757.581533
dropped events: 100
read events: 391
"""


def page(commit):
    return struct.pack("=QQ", 1, commit) + bytes(4080)


def test_lost_events_are_overwritten_dropped_and_overrun_ones():
    assert lost_events(STATS) == 123


def test_statistics_of_kernels_without_dropped_events():
    assert lost_events("entries: 7\noverrun: 2\ncommit overrun: 0\n") == 2


@pytest.mark.parametrize(
    ("commits", "marks"), [([], 0), ([4080], 0), ([4080 | 1 << 31, 8, 16 | 3 << 30], 2)]
)
def test_pages_say_that_events_before_them_are_missing(commits, marks):
    assert missed_marks([page(commit) for commit in commits]) == marks


@pytest.mark.parametrize(
    ("commit", "partial"),
    [(60, True), (60 | 1 << 31, True), (4000, False), (4000 | 3 << 30, False)],
)
def test_a_page_with_few_events_is_still_written_to(commit, partial):
    assert is_partial(page(commit)) == partial


def test_an_owner_is_alive_only_under_its_start_time():
    pid, started = owner_tag().split("-")
    assert is_alive(f"{pid}-{started}")
    assert not is_alive(f"{pid}-{int(started) + 1}")
    assert not is_alive("-1-None")
    assert not is_alive("lead")
    assert not is_alive(f"{2**22 + 1}-None")
