"""squashfs: windows extended to whole blocks, by hand from readahead_expand (6.1, 7.2)."""

from __future__ import annotations

import numpy as np
import pytest
from logged_inserts import expected_log, logged
from programs import Script

from foreread.emulator.linux.operations import Machine, Op
from foreread.emulator.linux.requests import EXTENT, Limits
from foreread.emulator.linux.rules import rules_for, version_of
from foreread.emulator.linux.windows import Emulation
from foreread.emulator.stepwise.replay import emulate

BLOCK = 32


def read_in(release, *cached):
    """Return what a fault on page 60 reads with a window of 8 pages: 56 to 63 and around them."""
    script = Script()
    handle = script.open(script.file(200, block=BLOCK))
    script.operations += [(Op.PRESENT, 0, 0, page, 1) for page in cached]
    script.touch(script.map(handle, 0, 200), 60)
    program, rules = script.program(), rules_for(version_of(release))
    plain = emulate(program, rules, 8)
    group = np.zeros(len(program.files), np.uint32)
    core = Emulation(program, rules, Machine(), Limits(512), np.zeros(0, EXTENT), group)
    assert logged(core, 8) == expected_log(plain)
    return sorted(index for _, index, _, _ in plain.inserts)


@pytest.mark.parametrize("release", ["6.1", "6.12", "7.2"])
def test_a_window_is_extended_to_its_block_and_at_a_border_by_the_next_one(release):
    assert read_in(release) == list(range(32, 96))
    assert read_in(release, 70) == list(range(32, 70))


@pytest.mark.parametrize("release", ["6.1", "6.12", "7.2"])
def test_a_cached_page_below_the_window_ends_the_extension_in_both_directions(release):
    assert read_in(release, 50) == list(range(51, 64))
    assert read_in(release, 55) == list(range(56, 64))
    assert read_in(release, 55, 62) == [*range(56, 62), 63]
