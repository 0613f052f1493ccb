"""The learnt pattern that a watcher's shell finds is the one that Python finds."""

from __future__ import annotations

import random
import subprocess
from importlib import resources

import pytest
from shells import each_shell

from foreread.analyzer.tuner.engines.patterns import Pattern, nearest, pattern_of
from foreread.tracer.error import RecordError
from foreread.tracer.remote.job import Fact
from foreread.tracer.remote.watch import BY_PROCESS, WatchOptions, parse_period, resident_script

SHELLS = pytest.mark.parametrize("shell", each_shell())
# The functions alone: what follows them in watch.sh is not reached.
_FIND = """
[ "$1" != busybox ] || awk() { busybox awk "$@"; }
patterns=$2 in_force=$3
while read -r fingerprint reads writes sectors processes own_followers own_jumps; do
    find_pattern
    echo "$fingerprint"
done
"""
CLASS = "read-random-large"


def found(shell, known, periods, in_force=""):
    """Return the names that are found for periods of (reads, writes, sectors, by process…)."""
    text = (resources.files("foreread.tracer.remote") / "watch.sh").read_text()
    lines = [f"{name} {' '.join(map(str, numbers))}" for name, numbers in known.items()]
    done = subprocess.run(
        [*shell, "-c", f"{text}{_FIND}", "sh", shell[0], "\n".join(lines), in_force],
        input="".join(f"{CLASS} {' '.join(map(str, one))}\n" for one in periods),
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def as_numbers(one):
    return (one.processes, one.read_share, one.random_share, one.request_kib)


def sums_of(period):
    return dict(zip(("reads", "writes", "sectors", *BY_PROCESS), period, strict=True))


@SHELLS
def test_shell_and_python_find_the_same(shell):
    rng = random.Random(1)
    share = lambda: rng.choice((0, 4, 5, 34, 35, 50, 64, 65, 94, 95, 100))  # noqa: E731
    learnt = [
        Pattern(rng.randint(1, 8), share(), share(), rng.choice((4, 128, 700, 2047)))
        for _ in range(40)
    ]
    periods = []
    for _ in range(60):
        bios, followers = rng.randint(1, 400), rng.randint(0, 300)
        reads, jumps = round(bios * share() / 100), round(followers * share() / 100)
        sectors = bios * rng.choice((8, 256, 1400, 9000)) + rng.randint(0, 7)
        periods.append((reads, bios - reads, sectors, rng.randint(0, 12), followers, jumps))
    names = {f"{CLASS}_{number}": one for number, one in enumerate(learnt, 1)}
    by_pattern = {one: name for name, one in reversed(names.items())}
    expected = [by_pattern.get(nearest(learnt, pattern_of(sums_of(p))), CLASS) for p in periods]
    known = {name: as_numbers(one) for name, one in names.items()}
    assert found(shell, known, periods) == expected
    assert CLASS in expected and len(set(expected)) > 5


@SHELLS
def test_the_pattern_in_force_stays_though_its_bios_have_another_size(shell):
    """Bios of 1024 KiB are nearer to the second one, which the first one's window makes of them."""
    known = {f"{CLASS}_1": (1, 100, 100, 4), f"{CLASS}_2": (1, 100, 100, 1024)}
    period = (100, 0, 100 * 2048, 1, 99, 99)
    assert found(shell, known, [period]) == [f"{CLASS}_2"]
    assert found(shell, known, [period], f"{CLASS}_1") == [f"{CLASS}_1"]
    sequential = (100, 0, 100 * 2048, 1, 99, 0)
    assert found(shell, known, [sequential], f"{CLASS}_1") == [CLASS]


@SHELLS
def test_without_patterns_a_period_has_its_class(shell):
    assert found(shell, {}, [(1, 0, 8, 1, 0, 0)]) == [CLASS]


def test_a_period_has_its_sums_by_process():
    period = parse_period(Fact("period", f"{CLASS}_7 1 2 3 4 5 6 7 8 9"))
    assert period.fingerprint == f"{CLASS}_7"
    assert period.own == dict(zip(BY_PROCESS, (7, 8, 9), strict=True))
    assert not parse_period(Fact("period", "- 1 2 3 4 5 6")).own


@pytest.mark.parametrize("more", ["7", "7 8", "7 8 9 10", "7 8 x", "7 8 -9"])
def test_no_sums_by_process(more):
    with pytest.raises(RecordError):
        parse_period(Fact("period", f"- 1 2 3 4 5 6 {more}"))


@pytest.mark.parametrize("name", ["read-random-large", "read-random-large_$(reboot)", "pattern_1"])
def test_invalid_patterns_never_reach_a_shell(name):
    with pytest.raises(RecordError):
        resident_script(WatchOptions(patterns={name: (1, 2, 3, 4)}))
