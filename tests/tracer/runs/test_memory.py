"""The memory of a run, from the texts of the kernel's files."""

from __future__ import annotations

import signal

import msgspec
import pytest

from foreread.boards.base.units import parse_kib, size_word
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.formats.memory import MOST_SAMPLES, Swap, Watermarks, within
from foreread.tracer.runs.memory import (
    SIZES_MIB,
    MemoryFacts,
    killed_error,
    memory_of,
    next_kib,
    parse_facts,
    was_killed,
)
from foreread.tracer.runs.options import Ended

MEMINFO = ["before meminfo MemFree:  100 kB", "before meminfo MemAvailable:   2048 kB"]
V1 = [
    "after group 1 /boards/foreread-0123456789abcdef",
    "before stat workingset_refault_file 5",
    "after stat workingset_refault_file 25",
    "after stat pgmajfault 3",
    "limit memory.limit_in_bytes 25165824",
    "limit memory.memsw.limit_in_bytes 25165824",
    "limit memory.limit_in_bytes 9223372036854771712",
    "after peak 25165824",
    "after kills 0",
    "used 0 12",
    "used 110 4096",
]
V2 = [
    "after group 2 /user.slice/a b",
    "limit memory.max max",
    "limit memory.high 67108864",
    "limit memory.swap.max 1048576",
    "limit memory.max 134217728",
    "limit memory.high 33554432",
]


def test_what_the_machine_has():
    lines = [
        *MEMINFO,
        "before swaps Filename\tType\tSize\tUsed\tPriority",
        "before swaps /dev/zram0                      partition\t65536\t0\t100",
        "before swaps /dev/sda2                       partition\t1024\t0\t-2",
        "before swaps /swap\\040file                   file\t2048\t0\t-3",
        "before zoneinfo         min      68",
        "before zoneinfo         low      85",
        "before zoneinfo         high     102",
        "before zoneinfo         min      10",
        "before min_free 4096",
        "before lru_gen 0x0007",
        "before vmstat pgscan_direct 7",
        "after vmstat pgscan_direct 10",
    ]
    memory = memory_of(parse_facts(lines))
    assert (memory.available_kib, memory.min_free_kib, memory.multi_gen_lru) == (2048, 4096, True)
    assert memory.swaps == [
        Swap(kind="zram", size_kib=65536),
        Swap(kind="partition", size_kib=1024),
        Swap(kind="file", size_kib=2048),
    ]
    assert memory.watermarks == Watermarks(min=78, low=85, high=102)
    assert memory.counters == {"pgscan_direct": 3}
    assert (memory.group, memory.own, memory.own_peak_kib) == (None, [], None)


def test_the_group_of_the_run():
    memory = memory_of(parse_facts([*MEMINFO, *V1, "own 0 56", "own 110 3000", "own 250 2000"]))
    group = memory.group
    assert (group.version, group.made, group.limit_kib, group.swap_kib) == (1, True, 24576, 0)
    assert (group.peak_kib, group.own) == (24576, [(0, 12), (110, 4096)])
    assert group.counters == {"workingset_refault_file": 20}
    assert memory.own_peak_kib == 3000


def test_the_tightest_limit_above_a_group_of_version_2():
    group = memory_of(parse_facts([*MEMINFO, *V2])).group
    assert (group.path, group.version, group.made) == ("/user.slice/a b", 2, False)
    assert (group.limit_kib, group.high_kib, group.swap_kib) == (131072, 32768, 1024)


def test_a_kernel_without_these_files():
    memory = memory_of(parse_facts(["before meminfo MemFree:  100 kB"]))
    assert (memory.available_kib, memory.watermarks, memory.min_free_kib) == (100, None, None)
    assert (memory.multi_gen_lru, memory.counters) == (False, {})
    assert memory_of(MemoryFacts()) is None


@pytest.mark.parametrize("line", ["x", "own a 1", "used 1", "after", "later meminfo 1"])
def test_lines_that_no_shell_prints_are_refused(line):
    with pytest.raises((ValueError, LookupError)):
        parse_facts([line])


def test_files_that_no_kernel_writes_are_not_read():
    lines = [
        *MEMINFO,
        "before zoneinfo min 99999999999999999999",
        "before min_free -1",
        "before lru_gen \x1b[31m",
        "before vmstat pgscan_direct many",
        "before vmstat " + "pgscan" + "x" * 100 + " 1",
        "after group 1 /a",
        "limit memory.limit_in_bytes -5",
    ]
    memory = memory_of(parse_facts(lines))
    assert (memory.watermarks, memory.min_free_kib, memory.multi_gen_lru) == (None, None, False)
    assert (memory.counters, memory.group.limit_kib) == ({}, None)


def test_a_long_run_has_a_bounded_number_of_samples_with_its_peak():
    facts = MemoryFacts(before={"meminfo": "MemAvailable: 1 kB"})
    facts.own = [(250 * at, at % 977) for at in range(3 * MOST_SAMPLES)]
    memory = memory_of(facts)
    assert len(memory.own) <= MOST_SAMPLES
    assert memory.own_peak_kib == max(kib for _, kib in facts.own)


def test_a_capture_keeps_its_memory_and_older_ones_have_none():
    memory = memory_of(parse_facts([*MEMINFO, *V1]))
    written = msgspec.json.encode(Metadata(memory=memory))
    assert msgspec.json.decode(written, type=Metadata).memory == memory
    assert msgspec.json.decode(b"{}", type=Metadata).memory is None


def test_which_start_a_limit_has_killed():
    assert was_killed(Ended(0, None), 1)
    assert not was_killed(Ended(None, signal.SIGKILL), 0)  # somebody else did
    assert was_killed(Ended(None, signal.SIGKILL), None)  # a kernel that does not count
    assert not was_killed(Ended(1, None), None)


def test_the_error_of_a_killed_start_names_the_next_size():
    assert killed_error(6 << 10).remedy.endswith("--memory 8M")
    assert killed_error((6 << 10) + 1).remedy.endswith("--memory 8M")
    largest = SIZES_MIB[-1] << 10
    assert next_kib(largest) == 2 * largest


@pytest.mark.parametrize("text", ["24M", "24MiB", "24m", "24576K", "24MB"])
def test_a_size_in_units(text):
    assert parse_kib(text) == 24576
    assert within(parse_kib(text)) == " in 24M of memory"


@pytest.mark.parametrize("kib", [1, 1023, 24576, 1 << 30])
def test_a_size_is_printed_as_it_is_read(kib):
    assert parse_kib(size_word(kib)) == kib


@pytest.mark.parametrize("text", ["", "24", "M", "-1M", "1.5M", "24 M", "24T", "1M\n", "٣M"])
def test_other_texts_are_no_sizes(text):
    with pytest.raises(ValueError, match="write for example 32M"):
        parse_kib(text)
