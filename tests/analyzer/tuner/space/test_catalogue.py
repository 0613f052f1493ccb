import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreread.analyzer.tuner import GeneError
from foreread.analyzer.tuner.space.catalogue import (
    CATALOGUE,
    LESS_DURABLE,
    entries,
    knobs,
    space_of,
    usual_names,
)
from foreread.analyzer.tuner.space.losses import loss_of

QUEUE = "/sys/block/sda/queue"
DEADLINE = {
    "read_expire": 500,
    "write_expire": 5000,
    "writes_starved": 2,
    "fifo_batch": 16,
    "front_merges": 1,
    "async_depth": 48,
    "prio_aging_expire": 10000,
}
PROBE = {
    f"{QUEUE}/scheduler": "none [mq-deadline] kyber bfq\n",
    f"{QUEUE}/read_ahead_kb": "128\n",
    f"{QUEUE}/nr_requests": "64\n",
    f"{QUEUE}/max_sectors_kb": "1280",
    f"{QUEUE}/max_hw_sectors_kb": "1280",
    f"{QUEUE}/rotational": "0",
    **{f"{QUEUE}/iosched/{name}": str(value) for name, value in DEADLINE.items()},
    f"{QUEUE}/iosched/slice_idle": "8",
    f"{QUEUE}/iosched/timeout_sync": "124",
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/dirty_ratio": "20",
    "/proc/sys/vm/dirty_background_ratio": "10",
    "/proc/sys/vm/min_free_kbytes": "67584",
    "mount:relatime,noatime,strictatime:/": "relatime [noatime] strictatime",
    "mount:nolazytime,lazytime:/": "[nolazytime] lazytime",
    "mount:commit=:/": "5",
}


def found(space):
    return {gene.name: gene for gene in space.genes}


def test_the_catalogue_has_the_genes_of_start_up_tuning():
    names = {entry.name for entry in entries()}
    assert len(names) == len(tomllib.loads(CATALOGUE.read_text())["gene"])
    assert names >= {
        *("read_ahead_kb", "scheduler", "nr_requests", "max_sectors_kb", "rq_affinity"),
        *("rotational", "swappiness", "page-cluster", "vfs_cache_pressure", "dirty_ratio"),
        *("dirty_background_ratio", "dirty_writeback_centisecs", "dirty_expire_centisecs"),
        *("min_free_kbytes", "watermark_scale_factor"),
        *("atime", "lazytime", "commit", "inode_readahead_blks", "barrier"),
        *(f"mq-deadline.{name}" for name in DEADLINE),
    }
    assert all(entry.source for entry in entries())


@pytest.mark.parametrize(
    ("text", "tuned", "schedulers"),
    [
        ("none [mq-deadline] bfq", ["scheduler", "nr_requests"], ("mq-deadline", "bfq")),
        ("[none] mq-deadline", ["scheduler", "nr_requests"], ("mq-deadline",)),
        ("noop deadline [cfq]", ["scheduler", "nr_requests"], ("noop", "deadline", "cfq")),
        ("[none] mq-deadline", ["nr_requests"], None),
        ("[none]", ["scheduler", "nr_requests"], None),
    ],
)
def test_without_a_scheduler_requests_are_the_disks_own_number(text, tuned, schedulers):
    genes = found(space_of({**PROBE, f"{QUEUE}/scheduler": text}, ["sda"], tuned))
    assert genes["nr_requests"].requires == ({"scheduler": schedulers} if schedulers else {})


def test_only_knobs_of_the_board_become_genes_with_found_values_as_defaults():
    space = space_of(PROBE, ["sda"], mounted="/", risked=["lazytime"])
    genes = found(space)
    assert space.default() == {
        "scheduler": "mq-deadline",
        "read_ahead_kb": 128,
        "nr_requests": 64,
        "max_sectors_kb": 1280,
        "rotational": 0,
        **{f"mq-deadline.{name}": value for name, value in DEADLINE.items()},
        "bfq.slice_idle": "none",
        "bfq.timeout_sync": "none",
        "swappiness": 60,
        "dirty_ratio": 20,
        "dirty_background_ratio": 10,
        "min_free_kbytes": 67584,
        "atime": "noatime",
        "lazytime": "nolazytime",
        "commit": 5,
    }
    assert genes["atime"].choices == ("relatime", "noatime", "strictatime")
    assert genes["scheduler"].choices == ("none", "mq-deadline", "kyber", "bfq")
    assert genes["max_sectors_kb"].choices == (16, 32, 64, 128, 256, 512, 1024, 1280)
    assert genes["bfq.timeout_sync"].choices == (15, 31, 62, 124, 248, 496, 992)
    assert genes["dirty_background_ratio"].below == "dirty_ratio"
    assert "no /proc/sys/vm/page-cluster" in space.left_out["page-cluster"]


def test_settings_are_written_so_that_none_undoes_another():
    space = space_of(PROBE, ["sda"])
    paths = [path for path, _ in space.settings(space.default(), ["sda"])]
    assert paths[0] == f"{QUEUE}/scheduler"
    assert paths.index(f"{QUEUE}/nr_requests") < paths.index(f"{QUEUE}/iosched/async_depth")
    assert f"{QUEUE}/iosched/slice_idle" not in paths


def test_a_board_with_an_invalid_reply_lacks_the_gene():
    strange = {
        f"{QUEUE}/scheduler": "none $(reboot)",
        f"{QUEUE}/read_ahead_kb": "١٢٨",
        "/proc/sys/vm/swappiness": "60 60",
        "/proc/sys/vm/dirty_ratio": "0",
        "/proc/sys/vm/dirty_background_ratio": "10",
    }
    space = space_of(strange, ["sda"])
    assert space.names == ("dirty_background_ratio",)
    assert "nothing selected" in space.left_out["scheduler"]
    assert "another setting replaces it" in space.left_out["dirty_ratio"]
    assert space.left_out["bfq.slice_idle"]


CPUS = "/sys/devices/system/cpu/cpufreq"
SCHED = "/proc/sys/kernel/sched_latency_ns"


def cpus(*governors, offered="powersave performance ondemand"):
    """Return the probe of CPUs with such governors, and with lists of the offered ones."""
    lists = offered if isinstance(offered, tuple) else (offered,) * len(governors)
    named = {f"{CPUS}/policy{4 * n}/scaling_governor": one for n, one in enumerate(governors)}
    offers = {
        f"{CPUS}/policy{4 * n}/scaling_available_governors": one for n, one in enumerate(lists)
    }
    return {**named, **offers}


def test_cpu_genes_are_tuned_on_request_only():
    asked = {entry.name for entry in entries() if entry.asked}
    assert {"governor", "sched_latency_ns", "sched.base_slice_ns"} <= asked
    assert not asked & set(usual_names())


def test_one_governor_is_that_of_all_cpus():
    space = space_of(cpus("ondemand\n", "ondemand\n"), [], ["governor"])
    (gene,) = space.genes
    assert gene.choices == ("powersave", "performance", "ondemand") and gene.default == "ondemand"
    assert space.settings({"governor": "performance"}, []) == [
        (f"{CPUS}/policy{n}/scaling_governor", "performance") for n in (0, 4)
    ]
    assert knobs([], ["governor"]) == [
        f"{CPUS}/policy*/scaling_governor",
        f"{CPUS}/policy*/scaling_available_governors",
    ]


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ({}, "the board has no /sys/devices/system/cpu/cpufreq/policy0/scaling_governor"),
        (cpus("ondemand", "performance"), "not the same for all CPUs"),
        (cpus("ondemand", offered="ondemand"), "the only choice"),
        (cpus("ondemand", "ondemand", offered=("ondemand a", "ondemand b")), "the only choice"),
        (cpus("on demand"), "not a word"),
        ({f"{CPUS}/policy0/scaling_governor": "ondemand"}, "scaling_available_governors"),
        ({f"{CPUS}/policy0x/scaling_governor": "ondemand"}, "the board has no"),
    ],
)
def test_governors_that_could_not_be_put_back_are_left_out(probe, why):
    space = space_of(probe, [], ["governor"])
    assert not space.genes and why in space.left_out["governor"]


def test_slices_are_tried_around_the_one_found():
    (gene,) = space_of({SCHED: "6000000"}, [], ["sched_latency_ns"]).genes
    assert gene.choices == tuple(6_000_000 * 2**n // 8 for n in range(7))
    (least,) = space_of({SCHED: "200000"}, [], ["sched_latency_ns"]).genes
    assert min(least.choices) == 100_000


@given(
    st.dictionaries(
        st.sampled_from([*knobs(["sda"], mounted="/"), *cpus("", "")]),
        st.one_of(st.text(max_size=30), st.integers(0, 1 << 60).map(str)),
    )
)
def test_any_probe_of_a_board_makes_a_space(probe):
    space = space_of(probe, ["sda"], mounted="/")
    assert space.valid(space.default())
    space.settings(space.default(), ["sda"])


def test_mount_options_are_of_the_file_system_that_can_be_remounted():
    space = space_of(PROBE, ["sda"], ["atime", "commit", "swappiness"], mounted="/")
    chosen = {"atime": "relatime", "commit": 30, "swappiness": 60}
    assert space.settings(chosen, ["sda"]) == [
        ("/proc/sys/vm/swappiness", "60"),
        ("mount:relatime,noatime,strictatime:/", "relatime"),
        ("mount:commit=:/", "30"),
    ]
    none = space_of(PROBE, ["sda"], ["atime", "swappiness"])
    assert none.names == ("swappiness",)
    assert "no file system" in none.left_out["atime"]
    assert not [knob for knob in knobs(["sda"]) if knob.startswith("mount:")]


LOSING = {
    "/proc/sys/vm/dirty_ratio": "20",
    "/proc/sys/vm/dirty_background_ratio": "10",
    "/proc/sys/vm/dirty_writeback_centisecs": "500",
    "/proc/sys/vm/dirty_expire_centisecs": "3000",
    "mount:nolazytime,lazytime:/": "[nolazytime] lazytime",
    "mount:commit=:/": "5",
    "mount:barrier,nobarrier:/": "[barrier] nobarrier",
}
DURABLE = {
    "dirty_ratio": (2, 5, 10, 20),
    "dirty_background_ratio": (1, 2, 5, 10),
    "dirty_writeback_centisecs": (100, 250, 500),
    "dirty_expire_centisecs": (250, 500, 1000, 3000),
    "commit": (1, 5),
}


def test_settings_that_may_lose_data_are_tuned_only_on_request():
    assert "barrier" not in usual_names()
    assert {"atime", "commit", "scheduler"} <= set(usual_names())
    space = space_of(LOSING, ["sda"], mounted="/")
    assert {name: gene.choices for name, gene in found(space).items()} == DURABLE
    assert space.limited.keys() == DURABLE.keys()
    assert space.limited["commit"] == f"only up to 5: {LESS_DURABLE}"
    assert space.left_out["lazytime"] == space.left_out["barrier"] == LESS_DURABLE


def test_genes_that_are_asked_for_have_all_their_values():
    space = space_of(LOSING, ["sda"], mounted="/", risked=["commit", "lazytime", "barrier"])
    genes = found(space)
    assert genes["commit"].choices == (1, 5, 15, 30, 60)
    assert genes["lazytime"].choices == ("nolazytime", "lazytime")
    assert genes["barrier"].choices == ("barrier", "nobarrier")
    assert "commit" not in space.limited and genes["dirty_ratio"].choices == DURABLE["dirty_ratio"]


@pytest.mark.parametrize(
    ("knob", "value", "name", "choices"),
    [
        ("mount:commit=:/", "30", "commit", (1, 5, 15, 30)),
        ("mount:commit=:/", "1", "commit", None),
        ("mount:nolazytime,lazytime:/", "nolazytime [lazytime]", "lazytime", 2),
        ("/proc/sys/vm/dirty_writeback_centisecs", "0", "dirty_writeback_centisecs", 7),
        ("/proc/sys/vm/dirty_ratio", "100", "dirty_ratio", 8),
    ],
)
def test_the_value_found_is_the_limit_of_durability(knob, value, name, choices):
    space = space_of({**LOSING, knob: value}, ["sda"], mounted="/")
    if choices is None:
        assert space.left_out[name] == LESS_DURABLE
    elif isinstance(choices, int):  # nothing loses more than this
        assert len(found(space)[name].alleles) == choices and name not in space.limited
    else:
        assert found(space)[name].choices == choices


def test_a_value_loses_data_whatever_its_gene_is_called():
    for knob, value, sentence in (
        (
            "mount:commit=:/data",
            "60",
            "with commit=60 a power cut may lose the last 60 s of writes",
        ),
        ("/proc/sys/vm/dirty_expire_centisecs", "6000", "the last 60 s of writes"),
        ("/proc/sys/vm/./dirty_ratio", "80", "80 % of the available memory"),
        ("/proc/sys/vm/dirty_writeback_centisecs", "0", "not written back by age"),
        ("mount:x,nobarrier:/", "nobarrier", "may destroy the file system"),
        ("mount:lazytime,nolazytime:/", "lazytime", "time stamps"),
    ):
        loss = loss_of(knob, value)
        assert loss is not None and sentence in loss.sentence
    for knob, value in (
        ("mount:commit=:/", "5"),
        ("mount:nolazytime,lazytime:/", "nolazytime"),
        ("/proc/sys/vm/swappiness", "200"),
        ("/proc/sys/vm/dirty_writeback_centisecs", "500"),
    ):
        assert loss_of(knob, value) is None


def test_a_value_is_compared_with_the_one_found_and_with_the_kernels_own():
    knob = "mount:commit=:/"
    assert loss_of(knob, "5", replaced=1).value == 5  # less durable than the board
    assert loss_of(knob, "60", replaced=100).value == 60  # a file may name any value as found
    assert loss_of(knob, "60", replaced=100, usual=False) is None


def test_every_durability_says_what_is_lost():
    described = [entry for entry in entries() if entry.durability]
    assert {entry.name for entry in described} == {*DURABLE, "lazytime", "barrier"}
    for entry in described:
        for allele in (*entry.levels, *entry.durability.lossy):
            sentence = entry.durability.sentence(allele)
            assert str(allele) in sentence and "{" not in sentence and "power cut" in sentence


def test_genes_wanted_and_their_levels():
    levels = {"swappiness": [0, 100], "scheduler": ["none", "bfq", "cfq"]}
    space = space_of(PROBE, ["sda"], ["swappiness", "scheduler"], levels)
    genes = found(space)
    assert genes["swappiness"].choices == (0, 60, 100)
    assert genes["scheduler"].choices == ("none", "bfq", "mq-deadline")
    for wrong in ({"names": ["swapiness"]}, {"levels": {"swapiness": [1]}}):
        with pytest.raises(GeneError, match="swapiness") as caught:
            space_of(PROBE, ["sda"], **wrong)
        assert "swappiness" in caught.value.remedy


def test_tunables_of_schedulers_that_are_not_chosen_are_left_out():
    levels = {"scheduler": ["none"]}
    space = space_of(PROBE, ["sda"], ["scheduler", "bfq.slice_idle"], levels)
    assert space.names == ("scheduler",)
    assert "bfq" in space.left_out["bfq.slice_idle"]


def test_tunables_of_the_scheduler_in_force_need_no_gene_for_it():
    space = space_of(PROBE, ["sda"], ["mq-deadline.fifo_batch", "bfq.slice_idle"])
    assert space.default() == {"mq-deadline.fifo_batch": 16}


def test_each_of_several_disks_has_its_window():
    both = PROBE | {key.replace("sda", "sdb"): value for key, value in PROBE.items()}
    both["/sys/block/sdb/queue/read_ahead_kb"] = "512"
    space = space_of(both, ["sda", "sdb"], ["read_ahead_kb", "nr_requests"])
    default = space.default()
    assert default == {"read_ahead_kb:sda": 128, "read_ahead_kb:sdb": 512, "nr_requests": 64}
    assert space.settings(default, ["sda", "sdb"]) == [
        ("/sys/block/sda/queue/nr_requests", "64"),
        ("/sys/block/sdb/queue/nr_requests", "64"),
        ("/sys/block/sda/queue/read_ahead_kb", "128"),
        ("/sys/block/sdb/queue/read_ahead_kb", "512"),
    ]


def test_a_file_system_with_a_window_of_its_own_gets_the_same():
    own = "/sys/class/bdi/btrfs-1/read_ahead_kb"
    windows = [f"{QUEUE}/read_ahead_kb", own]
    space = space_of(PROBE, ["sda"], ["read_ahead_kb"], windows=windows)
    assert [path for path, _ in space.settings(space.default(), ["sda"])] == windows


def test_hostile_disk_names_are_refused():
    with pytest.raises(GeneError, match="not a disk's name"):
        knobs(["../../etc"])
