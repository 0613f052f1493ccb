"""Little memory: which pages of files the kernel reclaims, and which it keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from programs import MapFlag, Script
from timed_runs import run_of

from foreread.emulator.devices.device import FixedCost
from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.timed_windows import timed_windows
from foreread.emulator.stepwise.replay import Replay
from foreread.emulator.stepwise.timed import timed
from foreread.emulator.stepwise.two_lists import ACTIVE

RULES = rules_for((6, 12))
LITTLE = 200  # pages
DISK = FixedCost(1e6, 5e4)


def replay(script, window=0, pages=LITTLE, **machine):
    """Return the replay of a program, with memory for so many pages."""
    done = Replay(script.program(), RULES, window, Machine(cache_pages=pages, **machine))
    done.run()
    return done


def inserts(script, **more) -> int:
    """Return how often pages were read."""
    return sum(1 << order for _, _, order, _ in replay(script, **more).kernel.outcome.inserts)


def in_order(pages):
    script = Script()
    handle = script.open(script.file(pages))
    for page in range(pages):
        script.read(handle, page)
    return script, handle


def test_without_a_limit_no_page_is_read_twice():
    script, handle = in_order(3 * LITTLE)
    script.read(handle, 0)
    assert inserts(script, pages=0) == 3 * LITTLE
    assert inserts(script, pages=3 * LITTLE) == 3 * LITTLE


def test_the_oldest_pages_of_a_long_read_are_reclaimed():
    script, handle = in_order(3 * LITTLE)
    done = replay(script)
    held = {page for page in range(3 * LITTLE) if done.inodes[0].cache.get(page)}
    assert len(held) <= LITTLE
    assert held == set(range(3 * LITTLE - len(held), 3 * LITTLE))
    script.read(handle, 0)
    assert inserts(script) == 3 * LITTLE + 1


def test_a_page_that_was_read_twice_outlives_a_long_read():
    script = Script()
    kept, film = (script.open(script.file(pages)) for pages in (9, 5 * LITTLE))
    for _ in range(2):
        script.read(kept, 8).read(kept, 0)
    for page in range(5 * LITTLE):
        script.read(film, page)
    assert replay(script).inodes[0].cache.get(0) is not None


def test_many_small_reads_of_a_page_count_as_one():
    script = Script()
    kept, film = (script.open(script.file(pages)) for pages in (9, 5 * LITTLE))
    for part in range(8):
        script.read_bytes(kept, 512 * part, 512)
    for page in range(5 * LITTLE):
        script.read(film, page)
    assert replay(script).inodes[0].cache.get(0) is None


@pytest.mark.parametrize(("flags", "rounds"), [(MapFlag(0), 1), (MapFlag.EXEC, 4)])
def test_mapped_pages_stay_for_a_round_and_code_for_longer(flags, rounds):
    """A data page that is not used again is kept once; code becomes active."""
    script = Script()
    mapped, film = (script.open(script.file(pages)) for pages in (9, 9 * LITTLE))
    mapping = script.map(mapped, 0, 9, flags)
    script.touch(mapping, 4)
    gone = None
    done = Replay(script.program(), RULES, 0, Machine(cache_pages=LITTLE, fault_around=1))
    done.run()
    for page in range(9 * LITTLE):
        if page % LITTLE == 0 and done.inodes[0].cache.get(4) is not None:
            gone = page // LITTLE
        for _ in done.do(1, film, 0, page * 4096, 4096):
            pass
    assert gone is not None
    assert gone >= rounds


def test_pages_read_ahead_are_gone_before_they_are_used():
    """The larger the window, the more is read for nothing and then again."""
    script = Script()
    handles = [script.open(script.file(640)) for _ in range(12)]
    maps = [script.map(handle, 0, 640) for handle in handles]
    for page in range(8, 600, 40):
        for near in (0, 5, 11):
            for mapping in maps:
                script.touch(mapping, page + near)
    read = {window: inserts(script, window=window, fault_around=1) for window in (0, 8, 32)}
    enough = {
        window: inserts(script, window=window, pages=0, fault_around=1) for window in (0, 8, 32)
    }
    assert read[0] == enough[0] < enough[8] < enough[32]
    assert read[32] - enough[32] > read[8] - enough[8] >= 0


def test_a_page_that_is_missed_soon_after_it_was_reclaimed_becomes_active():
    script = Script()
    handle = script.open(script.file(LITTLE + 40))
    for page in (*range(140), *range(140), *range(140, LITTLE + 40)):
        script.read(handle, page)  # 140 pages twice: they are active
    missed = replay(script, pages=LITTLE + 20)
    assert missed.inodes[0].cache.get(140) is None
    again = replay(script.read(handle, 140), pages=LITTLE + 20)
    assert again.kernel.memory is not None
    assert again.kernel.memory.held(again.inodes[0], 140).row == ACTIVE


def timed_run(own_pages=0, pages=LITTLE):
    """A film is read in order; then a page of the beginning, with more memory of the program."""
    script, handle = in_order(LITTLE - 50)
    script.read(handle, 0)
    count = len(script.operations)
    rows = [{"operation": row, "cpu_ns": 1e3} for row in range(count)]
    rows[-1]["own_pages"] = own_pages
    run = run_of(script, rows)
    return replace(run, machine=replace(run.machine, cache_pages=pages))


@pytest.mark.parametrize(("own", "read"), [(0, LITTLE - 50), (1, LITTLE - 50), (150, LITTLE - 49)])
def test_memory_of_the_program_itself_takes_that_of_its_files(own, read):
    run = timed_run(own)
    for result in (timed(run, 0, DISK), timed_windows(run, [0], DISK)[0]):
        assert result.work[:, 1].sum() == read


def test_a_page_that_is_being_read_is_not_reclaimed():
    """All of the window is on its way when the next pages come: memory is exceeded for a while."""
    script = Script()
    first, second = (script.open(script.file(64)) for _ in range(2))
    script.read(first, 0, 64).read(second, 0, 64)
    rows = [{"operation": row, "thread": row % 2, "cpu_ns": 1.0} for row in range(4)]
    run = run_of(script, rows, cpus=2)
    run = replace(run, machine=replace(run.machine, cache_pages=40))
    for result in (timed(run, 64, DISK), timed_windows(run, [64], DISK)[0]):
        assert np.isfinite(result.total_ns)
        assert result.work[:, 1].sum() >= 128
