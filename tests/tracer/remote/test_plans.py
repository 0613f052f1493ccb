"""Which plan a watcher's shell has in force, by made-up figures of each period."""

from __future__ import annotations

import subprocess
from importlib import resources

import pytest
from shells import BUSYBOX, DASH, each_shell

SHELLS = pytest.mark.parametrize("shell", each_shell())
BOTH_SHELLS = pytest.mark.parametrize("shell", each_shell(DASH, BUSYBOX))
WORK, OTHER, LARGER = "read-random-small", "write-sequential-large", "read-random-large"
WATCHER = """
set -u
nl='
'
tab='\t' job=$1 plans=$2 patience=$3 recheck=$4 busy_ms=$5 worse_percent=10 least_ios=20
put_all_back() { :; }
set_knob() { :; }
say() { echo "$elapsed $1"; }
begin_plans
while read -r fingerprint found with; do
    IFS=,
    if [ -n "$in_force" ]; then set -- $with; else set -- $found; fi
    unset IFS
    period_bytes=$1 period_ms=$2 latency=${3-} drag=${4-}
    busy_ms=$((busy_ms + period_ms))
    decide
done
"""


class Watcher:
    """What a watcher does: (period, action) by what each period has with and without a plan."""

    def __init__(self, shell, folder, patience=3, recheck=0, busy_ms=0, of=(WORK,)):
        plans = "\n".join(f"{name}\t/sys/block/sda/queue/read_ahead_kb\t16" for name in of)
        text = (resources.files("foreread.tracer.remote") / "plans.sh").read_text()
        words = [str(folder), plans, str(patience), str(recheck), str(busy_ms)]
        self._words = [*shell, "-c", f"{text}{WATCHER}", "sh", *words]

    def does(self, *periods):
        """Periods are (fingerprint, figures under the defaults, under a plan)."""
        lines = [f"{name} {_text(found)} {_text(plan)}\n" for name, found, plan in periods]
        done = subprocess.run(
            self._words, input="".join(lines), check=True, capture_output=True, text=True
        )
        assert done.stderr == ""
        said = [line.split(" ", 1) for line in done.stdout.splitlines()]
        return [(int(period), what) for period, what in said]


def _text(figures):
    return ",".join(map(str, figures))


def steady(periods, found, plan, name=WORK):
    return [(name, found, plan)] * periods


def rate(number, *more):
    return (number, 1, *more)


APPLIED, MEASURING = f"applied {WORK}", f"measuring {WORK}"
SAME, LESS, LOST, SEEN_TWICE = (1000, 1), (500, 1), (-(10**10), 1), (10**10, 1)
UNDONE = f"undone {WORK} throughput 1000 - 500 -"


@SHELLS
@pytest.mark.parametrize(
    ("periods", "expected"),
    [
        ([SAME] * 9, [APPLIED]),
        ([SAME] * 3 + [LESS] * 2, [APPLIED]),
        ([SAME] * 3 + [LESS] * 3, [APPLIED, UNDONE]),
        ([SAME] * 3 + [LESS] * 3 + [SAME] * 9, [APPLIED, UNDONE]),
        ([SAME] * 2, []),
        ([SAME, LOST, SAME], []),
        ([SAME, LOST, SAME, SAME] + [LESS] * 3, [APPLIED, UNDONE]),
        ([SAME] * 3 + [LOST, LESS, LOST, LESS, LESS], [APPLIED, UNDONE]),
        ([SAME] * 3 + [LOST] * 9, [APPLIED]),
        ([SAME, SEEN_TWICE, SAME] + [SAME] * 9, [APPLIED]),
        ([SAME, (0, 1), SAME] + [LESS] * 3, [APPLIED, UNDONE]),
        ([SAME] * 3 + [LESS, SEEN_TWICE, LOST, LESS, LESS], [APPLIED, UNDONE]),
        ([SAME] * 3 + [(0, 1), SAME, SAME], [APPLIED]),
        # A disk that does not count its busy time; one that was idle for a while.
        ([(1000, 0)] * 3 + [LESS] * 9, [APPLIED]),
        ([SAME] * 3 + [(0, 0)] * 3 + [LESS] * 3, [APPLIED, UNDONE]),
    ],
)
def test_a_plan_is_judged_by_what_is_done_in_most_periods(shell, tmp_path, periods, expected):
    said = Watcher(shell, tmp_path).does(*((WORK, one, one) for one in periods))
    assert [what for _, what in said] == expected


@BOTH_SHELLS
def test_a_plan_waits_until_the_defaults_have_enough_periods_with_a_rate(shell, tmp_path):
    """The clock of busy time ticks every few ms: a plan without a rate could not be judged."""
    watcher = Watcher(shell, tmp_path, busy_ms=5)
    none = steady(4, (1000, 0), LESS)
    assert watcher.does(*none) == []
    assert watcher.does(*none, *steady(2, SAME, LESS)) == []
    assert watcher.does(*none, *steady(6, SAME, LESS)) == [(7, APPLIED), (10, UNDONE)]


@SHELLS
@pytest.mark.parametrize(
    "periods", [[SAME, SEEN_TWICE, SAME, SAME], [SAME, SAME, (0, 1), SAME, SAME]]
)
def test_a_single_bad_period_does_not_undo_a_plan(shell, tmp_path, periods):
    watcher = Watcher(shell, tmp_path, patience=2)
    assert [what for _, what in watcher.does(*((WORK, x, x) for x in periods))] == [APPLIED]


@BOTH_SHELLS
def test_a_plan_that_becomes_bad_is_undone_after_a_comparison(shell, tmp_path):
    """The plan is good for 40 periods. A judgement made once would keep it."""
    watcher = Watcher(shell, tmp_path)
    good, bad = steady(43, rate(1000), rate(1500)), steady(30, rate(1000), rate(500))
    said = watcher.does(*good, *bad)
    assert [what for _, what in said] == [APPLIED, MEASURING, UNDONE]
    assert said[0][0] == 3
    assert 43 < said[1][0] < said[2][0] <= 43 + 9 + 3


@BOTH_SHELLS
def test_a_workload_that_becomes_slower_with_any_settings_keeps_its_plan(shell, tmp_path):
    watcher = Watcher(shell, tmp_path)
    before, after = steady(43, rate(1000), rate(1500)), steady(30, rate(100), rate(150))
    said = watcher.does(*before, *after)
    kept = f"kept {WORK} - 100 - 150 -"
    assert [what for _, what in said] == [APPLIED, MEASURING, kept, APPLIED]


@BOTH_SHELLS
def test_the_defaults_become_better_and_a_periodic_comparison_finds_it(shell, tmp_path):
    """The plan is as fast as ever; only measuring the defaults again shows that they are faster."""
    before, after = steady(8, rate(1000), rate(1500)), steady(30, rate(4000), rate(1500))
    said = Watcher(shell, tmp_path, recheck=20).does(*before, *after)
    undone = f"undone {WORK} throughput 4000 - 1500 -"
    assert said[:3] == [(3, APPLIED), (23, MEASURING), (26, undone)]
    assert Watcher(shell, tmp_path, recheck=0).does(*before, *after) == [(3, APPLIED)]


@BOTH_SHELLS
def test_the_gap_between_comparisons_doubles_while_the_plan_is_kept(shell, tmp_path):
    said = Watcher(shell, tmp_path, recheck=10).does(*steady(200, rate(1000), rate(1500)))
    measured = [period for period, what in said if what == MEASURING]
    applied = [period for period, what in said if what == APPLIED]
    gaps = [m - a for a, m in zip(applied, measured, strict=False)]
    assert gaps == [10, 10, 20, 40, 80]
    assert not any(what.startswith("undone") for _, what in said)


@BOTH_SHELLS
def test_a_refused_plan_is_tried_again_after_growing_gaps(shell, tmp_path):
    said = Watcher(shell, tmp_path, recheck=10).does(*steady(200, rate(1000), rate(500)))
    applied = [period for period, what in said if what == APPLIED]
    undone = [period for period, what in said if what == UNDONE]
    assert applied[0] == 3
    assert [u - a for a, u in zip(applied, undone, strict=True)] == [3] * len(applied)
    assert [a - u for u, a in zip(undone, applied[1:], strict=False)] == [10, 20, 40, 80]


@BOTH_SHELLS
def test_a_refused_plan_that_suits_again_stays(shell, tmp_path):
    bad, good = steady(9, rate(1000), rate(500)), steady(30, rate(1000), rate(1500))
    said = Watcher(shell, tmp_path, recheck=20).does(*bad, *good)
    assert said == [(3, APPLIED), (6, UNDONE), (26, APPLIED)]


@BOTH_SHELLS
def test_the_next_workload_s_plan_is_compared_with_the_defaults(shell, tmp_path):
    """Under the first plan the second workload crawls: its own plan looks good beside that."""
    watcher = Watcher(shell, tmp_path, of=(WORK, OTHER))
    first, under_first = steady(6, SAME, SAME), steady(3, SAME, rate(10), OTHER)
    said = watcher.does(*first, *under_first, *steady(9, SAME, LESS, OTHER))
    assert said == [
        (3, APPLIED),
        (9, f"measuring {OTHER}"),
        (12, f"applied {OTHER}"),
        (15, f"undone {OTHER} throughput 1000 - 500 -"),
    ]


@BOTH_SHELLS
def test_recent_figures_of_the_defaults_are_used_again(shell, tmp_path):
    watcher = Watcher(shell, tmp_path, of=(WORK, OTHER), recheck=30)
    there, away = steady(6, SAME, SAME), steady(6, SAME, SAME, OTHER)
    said = watcher.does(*there, *away, *there, *away)
    assert said == [
        (3, APPLIED),
        (9, f"measuring {OTHER}"),
        (12, f"applied {OTHER}"),
        (15, APPLIED),
        (21, f"applied {OTHER}"),
    ]
    old = watcher.does(*there, *away, *steady(40, SAME, SAME, OTHER), *there)
    assert old[-2:] == [(55, MEASURING), (58, APPLIED)]


@BOTH_SHELLS
def test_a_workload_without_a_plan_has_the_defaults(shell, tmp_path):
    said = Watcher(shell, tmp_path).does(*steady(6, SAME, SAME), *steady(9, SAME, SAME, OTHER))
    assert said == [(3, APPLIED), (9, f"defaults {OTHER}")]


@BOTH_SHELLS
def test_requests_that_a_plan_makes_larger_are_the_same_workload(shell, tmp_path):
    watcher = Watcher(shell, tmp_path, of=(WORK, LARGER))
    said = watcher.does(*steady(3, SAME, SAME), *steady(9, SAME, LESS, LARGER))
    assert said == [
        (3, APPLIED),
        (6, UNDONE),
        (9, f"applied {LARGER}"),
        (12, UNDONE.replace(WORK, LARGER)),
    ]


SLOW = f"undone {WORK} latency 1000 2000 1500 4000"


@BOTH_SHELLS
@pytest.mark.parametrize(
    ("found", "plan", "expected"),
    [
        # Latency in us a request, and in ns a sector.
        (rate(1000, 2000, 250), rate(1500, 4000, 500), [(3, APPLIED), (6, SLOW)]),
        (rate(1000, 2000, 250), rate(1500, 2100, 260), [(3, APPLIED)]),
        # Larger requests take longer, and less a sector; smaller ones the other way round.
        (rate(1000, 2000, 250), rate(1500, 8000, 125), [(3, APPLIED)]),
        (rate(1000, 8000, 125), rate(1500, 2000, 250), [(3, APPLIED)]),
        (rate(1000), rate(1500, 4000, 500), [(3, APPLIED)]),
    ],
)
def test_a_plan_with_more_throughput_is_undone_if_requests_wait(
    shell, tmp_path, found, plan, expected
):
    assert Watcher(shell, tmp_path).does(*steady(8, found, plan)) == expected


COUNTERS = """
least_ios=20 fingerprint=$1 requests=$2 last_requests=$3
find_latency
echo "$latency,$drag"
"""


@BOTH_SHELLS
@pytest.mark.parametrize(
    ("fingerprint", "requests", "expected"),
    [
        # Of the period: 100 reads, 800 sectors, 200 ms; 300 writes, 2400 sectors, 1200 ms.
        ("read-random-small", "110 810 210 330 2430 1230", "2000,250000"),
        ("write-random-small", "110 810 210 330 2430 1230", "3500,437500"),
        ("read-random-small", "29 810 210 330 2430 1230", ","),  # too few
        ("read-random-small", "110 810 19 330 2430 1230", ","),  # less than the clock resolves
        ("read-random-small", "0 0 0 0 0 0", ","),  # the disk has been replaced
    ],
)
def test_latency_is_that_of_the_requests_that_the_workload_waits_for(
    shell, fingerprint, requests, expected
):
    text = (resources.files("foreread.tracer.remote") / "plans.sh").read_text()
    words = [*shell, "-c", f"set -u\n{text}{COUNTERS}", "sh", fingerprint, requests]
    done = subprocess.run([*words, "10 10 10 30 30 30"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == expected


COUNTED = """
watched=
before=$(cat /sys/block/*/stat | awk '{ reads += $1; writes += $5 } END { print reads + writes }')
count_done
set -- $requests
echo $(($1 + $4 - before)) $# "$busy_ms" "$done_bytes"
"""


@BOTH_SHELLS
def test_requests_are_those_of_all_disks(shell):
    text = (resources.files("foreread.tracer.remote") / "plans.sh").read_text()
    words = [*shell, "-c", f"set -u\n{text}{COUNTED}"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    more, fields, busy_ms, done_bytes = map(int, done.stdout.split())
    assert fields == 6
    assert 0 <= more < 10**6  # since the first count
    assert busy_ms > 0 and done_bytes > 0


IN_FORCE = """
set -u
nl='
'
tab='\t' job=$1 elapsed=0 gap=0 in_force='' staying=read-random-small patience=3
plans="read-random-small\ta\t1
read-random-small\tb\t2
write-random-small\tb\t7"
say() { echo "$1" >>"$job/said"; }
value_of() { read -r value <"$job/$1"; }
set_knob() {
    echo "$2" >"$job/$1"
    [ "$1" != b ] || echo 3 >"$job/a"
    echo "knob $1\t0\t$2"
}
restore() { sed 's/^/left /' "$job/others" 2>/dev/null; }
begin_plans
staying=read-random-small
apply
[ -z "$2" ] || echo 9 >"$job/$2"
put_all_back
"""


@BOTH_SHELLS
@pytest.mark.parametrize("other", ["", "a", "b"])
def test_a_knob_of_a_plan_that_another_program_sets_is_left_to_it(shell, tmp_path, other):
    """The plan's second knob changes its first one: that is not another program's doing."""
    for name in "ab":
        (tmp_path / name).write_text("0\n")
    parts = ("runs/knobs.sh", "remote/plans.sh")
    text = "".join((resources.files("foreread.tracer") / part).read_text() for part in parts)
    words = [*shell, "-c", f"{text}{IN_FORCE}", "sh", str(tmp_path), other]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    said = (tmp_path / "said").read_text().splitlines()
    moved = {"": [], "a": ["moved a\t3\t9", "left a"], "b": ["moved b\t2\t9", "left b"]}[other]
    assert said == ["applied read-random-small", "knob a\t0\t1", "knob b\t0\t2", *moved]
    assert not (tmp_path / "set").exists() and not (tmp_path / "others").exists()


ONE, TWO = f"{WORK}_1", f"{WORK}_2"


@BOTH_SHELLS
def test_a_learnt_pattern_is_a_workload_of_its_own(shell, tmp_path):
    """The class of a pattern is no other workload while its settings are in force; a pattern is."""
    watcher = Watcher(shell, tmp_path, patience=2, of=(ONE, TWO))
    fine = rate(1000), rate(1500)
    said = watcher.does(*steady(4, *fine, ONE), *steady(4, *fine, WORK), *steady(6, *fine, TWO))
    assert said == [
        (2, f"applied {ONE}"),
        (10, f"measuring {TWO}"),
        (12, f"applied {TWO}"),
    ]


@BOTH_SHELLS
def test_the_verdict_on_a_pattern_is_not_that_on_its_class(shell, tmp_path):
    watcher = Watcher(shell, tmp_path, patience=2, of=(ONE, WORK))
    bad, good = (rate(1000), rate(500)), (rate(1000), rate(1500))
    said = watcher.does(*steady(5, *bad, ONE), *steady(5, *good, WORK))
    assert [what.split(" ")[:2] for _, what in said] == [
        ["applied", ONE],
        ["undone", ONE],
        ["applied", WORK],
    ]
