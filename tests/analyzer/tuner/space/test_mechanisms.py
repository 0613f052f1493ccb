"""Which mechanisms of the kernel occurred in runs, and which genes cannot act without them."""

import pytest

from foreread.analyzer.tuner.space.catalogue import entries
from foreread.analyzer.tuner.space.genes import Gene, Space
from foreread.analyzer.tuner.space.mechanisms import SIGNS, absent, acts_on, idle_genes, without

QUIET = {
    "vmstat.pgscan_kswapd": 0.0,
    "vmstat.pgscan_direct": 0.0,
    "disk.written_sectors": 16.0,
    "disk.waited_ms": 90.0,
    "disk.busy_ms": 100.0,
}
SWAPPINESS = Gene(name="swappiness", kind="integer", choices=(0, 60, 100), default=60)
WINDOW = Gene(name="read_ahead_kb:sda", kind="integer", choices=(0, 128), default=128)
COMMIT = Gene(name="commit", kind="integer", choices=(1, 5), default=5)
SPACE = Space((WINDOW, SWAPPINESS, COMMIT), {"barrier": "not asked"}, {"commit": "short"})


def runs(count=3, scenario="idle", **changes):
    return [(scenario, {**QUIET, **{k.replace("__", "."): v for k, v in changes.items()}})] * count


def test_nothing_occurs_in_quiet_runs():
    assert absent(runs()) == set(SIGNS) == {"reclaim", "writes", "queue"}


@pytest.mark.parametrize(
    ("counter", "figure", "mechanism"),
    [
        ("vmstat.pgscan_kswapd", 1.0, "reclaim"),
        ("vmstat.pgscan_direct", 1.0, "reclaim"),
        ("vmstat.pgscan_kswapd_normal", 1.0, "reclaim"),  # before Linux 4.8
        ("disk.written_sectors", 257.0, "writes"),
        ("disk.waited_ms", 101.0, "queue"),
    ],
)
def test_a_counter_of_two_runs_in_one_scenario_shows_a_mechanism(counter, figure, mechanism):
    shown = ("idle", {**QUIET, counter: figure})
    assert absent([*runs(), shown]) == set(SIGNS)
    assert absent([*runs(), shown, ("reader", shown[1])]) == set(SIGNS)
    assert absent([*runs(), shown, shown]) == set(SIGNS) - {mechanism}


def test_a_mechanism_without_counters_may_have_occurred():
    without_disk = {name: QUIET[name] for name in QUIET if not name.startswith("disk")}
    assert absent([("idle", without_disk)] * 3) == {"reclaim"}
    assert absent([]) == set()


def test_genes_act_as_the_catalogue_says():
    by_name = {entry.name: entry.acts_on for entry in entries()}
    assert by_name["swappiness"] == by_name["watermark_scale_factor"] == "reclaim"
    assert by_name["dirty_ratio"] == by_name["commit"] == "writes"
    assert by_name["nr_requests"] == by_name["bfq.slice_idle"] == "queue"
    assert by_name["scheduler"] is by_name["read_ahead_kb"] is by_name["atime"] is None
    tunables = [entry for entry in entries() if "scheduler" in entry.requires]
    assert len(tunables) > 15 and {entry.acts_on for entry in tunables} == {"queue"}
    assert acts_on(WINDOW) is None and acts_on(SWAPPINESS) == "reclaim"


def test_genes_that_cannot_act_have_their_default_only():
    left = without(SPACE, {"reclaim"})
    assert [gene.alleles for gene in left.genes] == [(0, 128), (60,), (1, 5)]
    assert (left.left_out, left.limited) == (SPACE.left_out, SPACE.limited)
    assert without(SPACE, set()) == SPACE
    assert idle_genes(SPACE, {"reclaim", "queue"}) == {
        "swappiness": "it cannot act: no run reclaimed memory"
    }
