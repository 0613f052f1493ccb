"""Multi-generational lists: which pages of files the kernel reclaims, by its version."""

from __future__ import annotations

import random

import numpy as np
import pytest
from logged_inserts import expected_log, logged
from programs import MapFlag, Script
from rings import further

from foreread.emulator.linux.operations import Machine
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import Replay

LITTLE = 400  # pages
FIRST, REWORKED, OLD_FAULTS = (6, 12), (6, 18), (7, 2)
TWO_LISTS = (6, 0)  # the last kernel that has no others
NO_FLAGS = MapFlag(0)


def replay(script, version, window=0, pages=LITTLE, **machine):
    """Return the replay of a program on a machine that has the lists in use."""
    machine = {"fault_around": 1, "generations": True} | machine
    done = Replay(
        script.program(), rules_for(version), window, Machine(cache_pages=pages, **machine)
    )
    done.run()
    return done


def kept(done, file, pages) -> int:
    """Return how many pages of a file are in memory."""
    return sum(done.inodes[file].cache.get(page) is not None for page in range(pages))


def mapped_then_read(flags=NO_FLAGS):
    """64 pages are read ahead for one fault; then a long file is read in order."""
    script = Script()
    mapped, film = script.open(script.file(64)), script.open(script.file(9 * LITTLE))
    script.touch(script.map(mapped, 0, 64, flags), 32)
    for page in range(9 * LITTLE):
        script.read(film, page)
    return script


@pytest.mark.parametrize("version", [FIRST, REWORKED, OLD_FAULTS])
def test_what_is_read_ahead_for_a_fault_outlives_a_long_read(version):
    assert kept(replay(mapped_then_read(), version, window=64), 0, 64) == 64


@pytest.mark.parametrize("version", [TWO_LISTS, FIRST])
def test_with_two_lists_it_does_not(version):
    done = replay(mapped_then_read(), version, window=64, generations=version == TWO_LISTS)
    assert kept(done, 0, 64) == 0


def test_what_is_read_ahead_for_a_mapping_with_advice_does_not():
    done = replay(mapped_then_read(MapFlag.SEQUENTIAL), FIRST, window=64)
    assert kept(done, 0, 64) == 1  # the page that was touched


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("version", [FIRST, REWORKED, OLD_FAULTS])
def test_code_stays_and_data_goes_as_code_does_of_which_all_uses_are_known(version, stays):
    script = Script()
    kinds = (MapFlag(0), MapFlag.EXEC)
    maps = [script.map(script.open(script.file(40)), 0, 40, flags) for flags in kinds]
    for mapping in maps:
        script.touch(mapping, 7)
    for _ in range(20):
        other = script.map(script.open(script.file(100)), 0, 100)
        for page in range(100):
            script.touch(other, page)
    done = replay(script, version, code_stays=stays)
    assert (done.inodes[1].cache.get(7) is not None) == stays
    assert done.inodes[0].cache.get(7) is None


@pytest.mark.parametrize("version", [FIRST, REWORKED, OLD_FAULTS])
def test_memory_is_above_its_limit_by_what_is_being_read_at_most(version):
    script = Script()
    for _ in range(40):
        script.touch(script.map(script.open(script.file(64)), 0, 64), 32)
    done = replay(script, version, window=64)
    assert done.kernel.memory is not None
    assert done.kernel.memory.lists.pages <= LITTLE + 64


def long_program(seed):
    """Return a program of random faults and reads, of some pages much more often than of others."""
    draw = random.Random(seed)
    script = Script()
    sizes = [draw.choice([40, 300, 900, 3000]) for _ in range(draw.randint(2, 6))]
    handles = [script.open(script.file(size)) for size in sizes]
    flags = [MapFlag(0), MapFlag(0), MapFlag.EXEC, MapFlag.RANDOM]
    maps = [
        script.map(handle, 0, size, draw.choice(flags))
        for handle, size in zip(handles, sizes, strict=True)
    ]
    for _ in range(draw.choice([500, 2000])):
        row = draw.randrange(len(sizes))
        often = min(int(5 * draw.paretovariate(0.3)), sizes[row] - 1)
        page = often if draw.random() < 0.5 else draw.randrange(sizes[row])
        if draw.random() < 0.5:
            script.touch(maps[row], page)
        else:
            script.read(handles[row], page, draw.choice([1, 1, 20]))
    return script.program()


@pytest.mark.parametrize("version", [FIRST, REWORKED, OLD_FAULTS])
@pytest.mark.parametrize("seed", further(range(20), now=2))
def test_the_core_agrees_with_the_plain_python_on_long_programs(seed, version):
    program, draw = long_program(seed), random.Random(seed)
    machine = Machine(
        fault_around=draw.choice([1, 16]),
        cache_pages=draw.choice([100, 300, 500, 1500]),
        generations=True,
    )
    window, rules = draw.choice([0, 4, 32, 64]), rules_for(version)
    plain = Replay(program, rules, window, machine)
    plain.run()
    group = np.zeros(len(program.files), np.uint32)
    core = Emulation(program, rules, machine, Limits(1280), np.zeros(0, EXTENT), group)
    assert logged(core, window) == expected_log(plain.kernel.outcome)
