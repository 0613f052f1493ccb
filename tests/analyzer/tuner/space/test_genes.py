import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples
from tuner_spaces import BACKGROUND, BOARD, RATIO, SCHEDULER, SLICE_IDLE, chromosomes, spaces

from foreread.analyzer.tuner.engines.operators import random_child
from foreread.analyzer.tuner.space.genes import NONE, Gene, GeneError, Space

QUEUE = "/sys/block/{disk}/queue"


@pytest.mark.parametrize(
    ("kind", "lowest", "highest", "alleles"),
    [
        ("integer", -1, 3, [-1, 0, 1, 2, 3]),
        ("bits", 1, 4, [1, 2, 3, 4]),
        ("power2", 3, 33, [4, 8, 16, 32]),
        ("boolean", 0, 1, [0, 1]),
    ],
)
def test_a_range_holds_what_its_kind_says(kind, lowest, highest, alleles):
    gene = Gene(name="g", kind=kind, lowest=lowest, highest=highest, default=alleles[0])
    assert list(gene.alleles) == alleles


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "integer", "lowest": 5, "highest": 4, "default": 5},
        {"kind": "integer", "highest": 4, "default": 5},
        {"kind": "integer", "choices": (2, 1), "default": 1},
        {"kind": "integer", "choices": (1, "x"), "default": 1},
        {"kind": "categorical", "choices": ("x", "x"), "default": "x"},
        {"kind": "categorical", "choices": ("x",), "default": "x", "below": "other"},
        {"kind": "categorical", "choices": ("none",), "default": "none", "requires": {"o": (1,)}},
    ],
)
def test_an_invalid_gene_is_refused(wrong):
    with pytest.raises(GeneError, match="gene g ") as caught:
        Gene(name="g", **wrong)
    assert caught.value.remedy


@given(spaces(), st.randoms(use_true_random=False))
@settings(max_examples=examples(30))
def test_neighbours_are_valid_and_differ_by_a_gene_and_what_depends_on_it(space, random):
    here = random_child(space, random)
    near = list(space.neighbours(here))
    assert len({space.key(one) for one in near}) == len(near)
    for one in near:
        assert space.valid(one)
        changed = [name for name in space.names if one[name] != here[name]]
        assert changed and (len(changed) == 1 or changed[0] in space.gates)


def test_a_gene_from_outside_is_checked():
    good = {
        "name": "g",
        "kind": "integer",
        "highest": 4,
        "default": 2,
        "knob": "/proc/sys/vm/swappiness",
    }
    assert msgspec.convert(good, Gene).highest == 4
    for bad in (
        {"knob": "/proc/$(reboot)"},
        {"knob": "/proc/sys/kernel/sysrq"},
        {"name": "a b"},
        {"default": "x;y"},
        {"extra": 1},
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(good | bad, Gene)


def test_genes_stand_after_those_they_depend_on():
    with pytest.raises(GeneError, match="depends on scheduler"):
        Space((SLICE_IDLE, SCHEDULER))
    with pytest.raises(GeneError, match="twice"):
        Space((RATIO, RATIO))


def test_settings_come_in_the_order_to_be_written_and_only_where_they_apply():
    chosen = BOARD.default() | {"scheduler": "bfq", "slice_idle": 0}
    assert BOARD.settings(chosen, ["sda", "sdb"])[:6] == [
        ("/sys/block/sda/queue/read_ahead_kb", "128"),
        ("/sys/block/sdb/queue/read_ahead_kb", "128"),
        ("/sys/block/sda/queue/scheduler", "bfq"),
        ("/sys/block/sdb/queue/scheduler", "bfq"),
        ("/sys/block/sda/queue/iosched/slice_idle", "0"),
        ("/sys/block/sdb/queue/iosched/slice_idle", "0"),
    ]
    paths = [path for path, _ in BOARD.settings(BOARD.default(), ["sda"])]
    assert [path.rpartition("/")[2] for path in paths] == [
        *("read_ahead_kb", "scheduler", "dirty_ratio", "dirty_background_ratio", "swappiness"),
    ]


def test_a_gene_of_one_disk_is_written_to_it_alone():
    gene = Gene(name="w:b", kind="boolean", default=0, knob=f"{QUEUE}/rotational", disk="b")
    assert Space((gene,)).settings({"w:b": 1}, ["a", "b"]) == [
        ("/sys/block/b/queue/rotational", "1")
    ]


def test_mount_options_are_settings():
    words, knob = ("relatime", "noatime"), "mount:relatime,noatime,strictatime:/"
    gene = Gene(name="atime", kind="categorical", choices=words, default="relatime", knob=knob)
    space = Space((gene, RATIO))
    settings = space.settings({"atime": "noatime", "ratio": 9}, [])
    assert settings == [(knob, "noatime"), ("/proc/sys/vm/dirty_ratio", "9")]


def test_repair_keeps_what_it_can():
    repaired = BOARD.repair({"scheduler": "kyber", "slice_idle": 3, "window": 40, "stranger": 1})
    assert repaired == BOARD.default() | {"scheduler": "kyber", "window": 32}
    assert BOARD.repair({"scheduler": "bfq", "slice_idle": NONE})["slice_idle"] == 8
    assert BOARD.repair({"ratio": 7, "background": 10})["background"] == 6


def test_a_limit_that_leaves_nothing_leaves_the_lowest():
    tight = Space(
        (msgspec.structs.replace(RATIO, lowest=1), msgspec.structs.replace(BACKGROUND, lowest=1))
    )
    assert tight.repair({"ratio": 1})["background"] == 1


@given(spaces().flatmap(lambda space: st.tuples(st.just(space), chromosomes(space))))
def test_repair_is_valid_and_idempotent(given_pair):
    space, chromosome = given_pair
    repaired = space.repair(chromosome)
    assert space.valid(repaired)
    assert space.repair(repaired) == repaired
    if space.valid(chromosome):
        assert repaired == chromosome


@given(spaces())
def test_enumerate_yields_each_valid_chromosome_once(space):
    every = list(space.enumerate())
    assert len(every) == space.size == len({space.key(one) for one in every})
    assert all(space.valid(one) for one in every)
    assert space.default() in every


def test_size_needs_no_enumeration():
    many = [
        msgspec.structs.replace(RATIO, name=f"r{number}", highest=1 << 40, knob="")
        for number in range(9)
    ]
    assert Space((SCHEDULER, SLICE_IDLE, *many)).size == (2 + 9) * ((1 << 40) - 4) ** 9
