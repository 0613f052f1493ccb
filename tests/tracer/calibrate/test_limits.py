"""Limits of other cgroups on the measured disk: found, and reported with the way to join."""

from __future__ import annotations

from foreread.tracer.calibrate.limits import Limit, parse

GROUP = "/sys/fs/cgroup/blkio/slow"


def test_a_limit_of_another_cgroup_is_found():
    answer = f"own /\nown /other\nlimit {GROUP} /slow/ 7:0 5000000\n"
    assert parse(answer) == [Limit(GROUP, "7:0 5000000")]


def test_a_limit_of_our_own_cgroup_or_of_one_above_it_holds_for_us():
    assert parse(f"own /slow\nlimit {GROUP} /slow/ 7:0 5000000\n") == []
    assert parse(f"own /slow/below\nlimit {GROUP} /slow/ 7:0 5000000\n") == []


def test_a_cgroup_whose_name_begins_alike_is_another_one():
    assert len(parse(f"own /slower\nlimit {GROUP} /slow/ 7:0 5000000\n")) == 1


def test_each_limit_is_reported_once_and_damaged_lines_are_left_out():
    line = f"limit {GROUP} /slow/ 7:0 rbps=1000 riops=max\n"
    assert len(parse(line + line + "limit\nlimit x\nown\n\n")) == 1


def test_the_warning_names_the_cgroup_and_the_command():
    text = Limit(GROUP, "7:0 5000000").warning(["foreread", "calibrate", "/dev/loop0"])
    assert GROUP in text
    assert "cgroup.procs" in text
    assert text.endswith("sh foreread calibrate /dev/loop0")
