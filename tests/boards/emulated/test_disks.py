"""The kinds of slow disk: the module's arithmetic is that of the emulator's model."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from disk_kinds import model_of
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import examples

from foreread.analyzer.predict.disk.device_model import device_of
from foreread.boards import disks
from foreread.boards.emulated.launch import LiveOptions
from foreread.boards.emulated.live import LiveBoard
from foreread.boards.emulated.slowdisk_build import SOURCES
from foreread.emulator.devices.stateful import Stateful

HERE = Path(__file__).parent
NAMED = [name for name in disks.kinds() if name != disks.FIXED]
# struct disk_costs, in order.
MEMBERS = (
    *("latency_ns", "ns_per_kib", "parallel", "unit_kib", "kept_units", "hit_ns"),
    *("hit_ns_per_kib", "fast_kib", "slow_ns_per_kib", "rest_ms", "seek_ns"),
    *("seek_ns_per_root", "jitter_ns", "seed"),
)
costs = st.fixed_dictionaries(
    {
        "latency_ns": st.integers(0, 4_000_000),
        "ns_per_kib": st.integers(0, 200_000),
        "parallel": st.integers(1, 32),
        "unit_kib": st.sampled_from([0, 4, 16, 128, 1000]),
        "kept_units": st.integers(1, 5),
        "hit_ns": st.integers(0, 100_000),
        "hit_ns_per_kib": st.integers(0, 10_000),
        "fast_kib": st.sampled_from([0, 1, 64, 512]),
        "slow_ns_per_kib": st.integers(0, 300_000),
        "rest_ms": st.integers(0, 20),
        "seek_ns": st.sampled_from([0, 5_000_000]),
        "seek_ns_per_root": st.sampled_from([0, 15_000]),
        "jitter_ns": st.sampled_from([0, 500_000]),
        "seed": st.integers(1, 2**32 - 1),
    }
)
requests = st.lists(
    st.tuples(
        st.integers(0, 3 * 10**7),
        st.one_of(st.integers(0, 4000), st.integers(0, 10**6)),
        st.sampled_from([8, 8, 16, 64, 256, 1024]),
    ),
    min_size=1,
    max_size=60,
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """Return the arithmetic of the module, compiled for this machine."""
    library = tmp_path_factory.mktemp("slowdisk") / "cost.so"
    words = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", SOURCES[0].parent]
    subprocess.run(["cc", *words, "-o", library, HERE / "slow_disk.c"], check=True)
    return ctypes.CDLL(str(library)).serve


def served(driver, disk, rows):
    """Return when the module completes requests (now, sector, sectors)."""
    now, sector, sectors = (np.array(column) for column in zip(*rows, strict=True))
    done = np.zeros(len(rows), np.uint64)
    columns = [np.array([disk.get(name, 0) for name in MEMBERS], np.uint32), len(rows)]
    columns += [now.astype(np.uint64), sector.astype(np.uint64), sectors.astype(np.uint32), done]
    driver(*(one if isinstance(one, int) else one.ctypes for one in columns))
    return done


@given(disk=costs, rows=requests)
@settings(max_examples=examples(300), deadline=None)
def test_the_module_and_the_model_serve_requests_at_the_same_times(driver, disk, rows):
    rows = sorted(rows, key=lambda row: row[0])
    queue = model_of(disk).queue()
    expected = [queue.submit(*row) for row in rows]
    # The module rounds each time down.
    assert served(driver, disk, rows) == pytest.approx(expected, abs=2 * len(rows))


@pytest.mark.parametrize("name", NAMED)
def test_the_known_cost_of_a_kind_is_that_of_its_driver(name):
    kind = disks.kind(name)
    known = device_of(kind.cost(0, 0))
    assert known == model_of({**kind.costs, "seed": 0})
    assert set(kind.costs) <= set(MEMBERS)


def test_a_fixed_disk_has_the_cost_that_it_is_given():
    known = device_of(disks.kind("fixed").cost(1000, 70))
    assert (known.latency_ns, known.ns_per_kib) == (1000, 70)


def test_the_jitter_of_a_seed_has_the_mean_of_the_model():
    """Each latency is another one; the mean of many is that of a disk without seed."""
    seeded, mean = (Stateful(0, 0, jitter_ns=5e5, seed=seed) for seed in (7, 0))
    queue = seeded.queue()
    each = [queue.submit(1e9 * at, 0, 8) - 1e9 * at for at in range(4000)]
    assert np.mean(each) == pytest.approx(mean.queue().submit(0, 0, 8), rel=0.05)
    assert np.median(each) < 0.85 * np.mean(each)


def test_an_unknown_kind_is_refused_with_those_there_are():
    with pytest.raises(disks.DiskError, match="no board has a disk 'floppy'") as refused:
        disks.kind("floppy")
    assert "rotating" in refused.value.remedy


def test_a_board_that_ended_is_started_again_with_its_disk(tmp_path):
    (tmp_path / "options").write_text(
        f'{{"board": "x86_64", "disk": "{NAMED[0]}", "latency_ns": {LiveOptions("").latency_ns}}}'
    )
    assert "--disk nvme" in " ".join(LiveBoard(tmp_path).start_words())
