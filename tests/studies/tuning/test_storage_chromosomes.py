"""Storage v1 and v2: counts by formula and by enumeration, the paper's, defaults, commands."""

from collections import Counter

import pytest

from studies.tuning.storage_chromosomes import (
    DISK_TYPE,
    SCHEDULER,
    configurations,
    connectivity,
    defaults,
    is_valid,
    make_words,
    mount_words,
    storage_space,
)
from studies.tuning.storage_rules import (
    FILE_SYSTEMS,
    PUBLISHED,
    Geometry,
    Rules,
    powers,
    published,
    today,
)

MIB = 1 << 20
SETS = {
    "384 MiB": today(384 * MIB),
    "64 MiB": today(64 * MIB),
    "published": published(),
}
TODAY = SETS["384 MiB"]


def default_of(file_system, **changes):
    found = next(one for one in defaults(TODAY) if one["file_system"] == file_system)
    return {**found, **changes}


@pytest.mark.thorough
@pytest.mark.parametrize("rules", SETS.values(), ids=SETS)
def test_formula_enumeration_and_every_combination_agree(rules):
    counts = {name: one.count for name, one in rules.items()}
    enumerated = Counter(one["file_system"] for one in configurations(rules))
    combined = Counter(
        one["file_system"] for one in storage_space(rules).enumerate() if is_valid(one, rules)
    )
    assert counts == enumerated == combined


def test_the_reconstruction_gives_every_count_of_the_paper():
    assert {name: one.count for name, one in published().items()} == PUBLISHED
    assert sum(PUBLISHED.values()) == 2074


def test_storage_v2_has_as_many_as_the_paper_with_three_schedulers_and_three_disks():
    schedulers, disks = ("deadline", "noop", "cfq"), ("SAS", "SATA", "SSD")
    space = storage_space(published(), schedulers, disks)
    v1 = storage_space(published())
    assert space.size == v1.size * 9
    assert sum(one.count for one in published().values()) * 9 == 18666
    assert space.default() == {**v1.default(), SCHEDULER: "deadline", DISK_TYPE: "SAS"}


@pytest.mark.parametrize(
    "file_system, block, group, inode, journal",
    [
        ("ext4", 2048, 4 << 10, 128, "writeback"),
        ("nilfs2", 2048, 256, "none", "relaxed"),
        ("ext2", 4096, 8 << 10, 512, "none"),
        ("ext4", 4096, 32 << 10, 256, "ordered"),
    ],
)
@pytest.mark.parametrize("rules", [published(), TODAY], ids=["published", "today"])
def test_the_papers_result_is_among_them(rules, file_system, block, group, inode, journal):
    found = {
        "file_system": file_system,
        "block_size": block,
        "inode_size": inode,
        "blocks_per_group": group,
        "mount": "noatime",
        "journal": journal,
        "special": "none",
    }
    assert is_valid(found, rules)


@pytest.mark.parametrize("rules", [published(), TODAY], ids=["published", "today"])
def test_every_default_is_valid_and_ext4_comes_first(rules):
    found = defaults(rules, {SCHEDULER: "bfq"})
    assert found[0]["file_system"] == "ext4"
    assert {one["file_system"] for one in found} == set(FILE_SYSTEMS)
    assert all(is_valid(one, rules) and one[SCHEDULER] == "bfq" for one in found)
    space = storage_space(rules, ("bfq",))
    assert all(space.valid(one) for one in found)
    assert space.default() == found[0]


@pytest.mark.parametrize(
    "changes",
    [
        {"file_system": "ext2", "journal": "ordered"},
        {"file_system": "ext3", "journal": "none"},
        {"file_system": "ext4", "inode_size": 8192},
        {"file_system": "ext4", "block_size": 1024, "blocks_per_group": 16384},
        {"file_system": "ext4", "special": "notail"},
        {"file_system": "xfs", "inode_size": 256},
        {"file_system": "xfs", "blocks_per_group": 16384},
        {"file_system": "nilfs2", "blocks_per_group": 8},
        {"file_system": "nilfs2", "journal": "ordered"},
        {"file_system": "btrfs", "inode_size": 256},
        {"file_system": "btrfs", "block_size": 2048},
        {"file_system": "reiserfs", "journal": "none"},
    ],
    ids=str,
)
def test_refusals_of_mkfs_and_mount_are_invalid(changes):
    assert not is_valid(default_of(**changes), TODAY)


def test_a_small_device_has_neither_xfs_nor_btrfs():
    assert set(SETS["64 MiB"]) == set(FILE_SYSTEMS) - {"xfs", "btrfs"}


def test_edges_are_pairs_that_differ_in_one_gene():
    two = Rules({1024: Geometry((128, 256), (512,))}, mounts=("relatime",))
    edges = connectivity(configurations({"ext2": two, "ext3": two}))
    # A square: two sizes of inodes of either, and each with its like of the other.
    assert edges == {("ext2", "ext2"): 1, ("ext3", "ext3"): 1, ("ext2", "ext3"): 2}


def test_edges_equal_a_count_of_all_pairs():
    some = [one for one in configurations(TODAY) if one["block_size"] == 4096][::2]
    counted = Counter()
    for at, one in enumerate(some):
        for other in some[:at]:
            if sum(one[name] != other[name] for name in one) == 1:
                pair = (one["file_system"], other["file_system"])
                first, second = sorted(pair, key=FILE_SYSTEMS.index)
                counted[first, second] += 1
    assert connectivity(some) == counted
    assert sum(counted.values()) > 100


def test_rules_with_some_alleles_only():
    ext4 = TODAY["ext4"].only(
        {"block_size": (4096,), "inode_size": (256,), "journal": ("journal",)}
    )
    # Groups of 256 to 32768 blocks, two mount options; without a journal, or with it.
    assert ext4.count == 8 * 2 * 2
    assert ext4.allow(default_of("ext4", journal="none"))
    assert not ext4.allow(default_of("ext4"))
    assert TODAY["ext4"].only({}) == TODAY["ext4"]
    assert TODAY["btrfs"].only({"special": ("compress",)}).count == 5 * 2 * 2


def test_powers_of_two_with_both_ends():
    assert powers(256, 1024) == (256, 512, 1024)
    assert powers(300, 1023) == (512,)
    assert powers(512, 256) == powers(1, 0) == ()


WORDS = {
    "ext4": ("-b 4096 -I 256 -g 32768 -i 16384", "relatime,data=ordered"),
    "xfs": ("-b size=4096 -i size=512", "relatime"),
    "nilfs2": ("-b 4096 -B 2048", "relatime,order=relaxed"),
    "btrfs": ("-n 16384", "relatime"),
    "reiserfs": ("-b 4096", "relatime,data=ordered"),
}


@pytest.mark.parametrize("file_system", WORDS)
def test_the_defaults_words(file_system):
    make, mount = WORDS[file_system]
    assert " ".join(make_words(default_of(file_system))).startswith(make)
    assert ",".join(mount_words(default_of(file_system))) == mount


def test_options_that_are_not_defaults():
    assert make_words(default_of("ext4", journal="none"))[-2:] == ("-O", "^has_journal")
    assert make_words(default_of("xfs", blocks_per_group=32768))[-2:] == ("-d", "agsize=32768b")
    assert mount_words(default_of("btrfs", mount="noatime", special="nodatacow")) == (
        "noatime",
        "nodatacow",
    )
