"""The bios of a trace added up by a target's shell and awk."""

from __future__ import annotations

import subprocess
from importlib import resources
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shells import BUSYBOX, DASH, each_shell

from foreread.tracer.remote.bios import SUMS, parse_sums

SHELLS = pytest.mark.parametrize("shell", each_shell())
DISKS = "8,0=0 8,1=0 259,3=1"
_SCRIPT = """
[ "$1" != busybox ] || awk() { busybox awk "$@"; }
disks=$2 by_process=$4
sum_bios "$3"
"""


def bio(sector, sectors, flags="R", dev="8,0"):
    return f" block_bio_queue: {dev} {flags} {sector} + {sectors} [dd]\n"


def summed(shell, *lines, by_process=""):
    """Return the sums of a trace's lines; by process too, as numbers."""
    text = (resources.files("foreread.tracer.remote") / "bios.sh").read_text()
    with TemporaryDirectory(dir="/dev/shm") as folder:
        with open(f"{folder}/trace", "w") as trace:  # noqa: PTH123
            trace.writelines(["# tracer: nop\n", "#\n", *lines])
        done = subprocess.run(
            [*shell, "-c", f"{text}{_SCRIPT}", "sh", shell[0], DISKS, folder, by_process],
            check=True,
            capture_output=True,
            text=True,
        )
    assert done.stderr == ""
    return [*map(int, done.stdout.split())] if by_process else parse_sums(done.stdout)


def sums(*numbers):
    return dict(zip(SUMS, numbers, strict=True))


@SHELLS
def test_nothing(shell):
    assert summed(shell) == sums(0, 0, 0, 0, 0, 0)


@SHELLS
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(("gap", "jumps"), [(0, 0), (25, 0), (26, 1)])
def test_a_jump_is_more_than_25_sectors_from_the_end(shell, gap, jumps, back):
    begin = 1008 - gap if back else 1008 + gap
    found = summed(shell, bio(1000, 8), bio(begin, 8, "WS"))
    assert found == sums(1, 1, 16, 1, begin - 1000 if begin > 1000 else 1000 - begin, jumps)


@SHELLS
def test_requests_without_data_do_not_count(shell):
    found = summed(
        shell, bio(0, 8), bio(0, 0, "FWS"), bio(500, 64, "DS"), bio(9, 8, dev="7,7"), bio(8, 8)
    )
    assert found == sums(2, 0, 16, 1, 8, 0)


@pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
def test_a_partition_is_part_of_its_disk_and_heads_of_two_are_kept_apart(shell):
    lines = [bio(0, 8, dev="8,1"), bio(10**9, 8, dev="259,3"), bio(8, 8), bio(10**9 + 8, 8, "R")]
    found = summed(shell, *lines[:3], bio(10**9 + 8, 8, dev="259,3"))
    assert found == sums(4, 0, 32, 2, 16, 0)


IOS = st.tuples(
    st.sampled_from(["8,0", "8,1", "259,3"]),
    st.integers(0, 1 << 40),
    st.integers(1, 2048),
    st.booleans(),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(IOS, max_size=30))
def test_any_trace_is_summed_as_its_bios_one_by_one(ios):
    found, last = dict.fromkeys(SUMS, 0), {}
    for dev, sector, sectors, write in ios:
        disk = dev.split(",")[0]
        found["writes" if write else "reads"] += 1
        found["sectors"] += sectors
        if disk in last:
            start, end = last[disk]
            found["followers"] += 1
            found["distances"] += abs(sector - start)
            found["jumps"] += abs(sector - end) > 25
        last[disk] = sector, sector + sectors
    lines = [bio(sector, n, "W" if write else "R", dev) for dev, sector, n, write in ios]
    assert summed(["busybox", "sh"], *lines) == found


@pytest.mark.parametrize("text", ["", "1 2 3 4 5", "1 2 3 4 5 x", "1 2 3 4 5 -6"])
def test_no_sums(text):
    with pytest.raises(ValueError):
        parse_sums(text)


def bio_of(pid, sector, sectors, flags="R", name="fio", tgid="", dev="8,0"):
    head = f"{name:>16}-{pid:<7} {tgid}[001] .....   123.456789"
    return f"{head}: block_bio_queue: {dev} {flags} {sector} + {sectors} [{name}]\n"


def by_process(shell, *lines):
    return summed(shell, *lines, by_process="1")


@SHELLS
def test_accesses_of_two_processes_are_followed_apart(shell):
    """Two streams in turn: every bio is a jump of the disk, and none of its process."""
    lines = [bio_of(*one, 8) for at in range(0, 80, 8) for one in ((7, at), (1234567, 10**6 + at))]
    assert by_process(shell, *lines) == [20, 0, 160, 19, 10 * 10**6 + 9 * (10**6 - 8), 19, 2, 18, 0]


@SHELLS
@pytest.mark.parametrize("name", ["a-1 [9] b", "dd-12", "[000]", "x", "-", ": "])
@pytest.mark.parametrize("tgid", ["", "(  12) ", "(-----) "])
def test_a_process_may_have_any_name(shell, name, tgid):
    lines = [bio_of(55, at, 8, name=name, tgid=tgid) for at in (0, 8, 100)]
    assert by_process(shell, *lines)[6:] == [1, 2, 1]


@SHELLS
def test_who_has_hardly_any_of_the_bios_is_no_process(shell):
    many = [bio_of(1, 8 * at, 8) for at in range(57)]
    assert by_process(shell, *many, *[bio_of(2, 0, 8)] * 3)[6] == 2
    assert by_process(shell, *many, *[bio_of(2, 0, 8)] * 2)[6] == 1
