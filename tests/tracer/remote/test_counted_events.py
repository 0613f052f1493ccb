"""A machine's shell reads the counters of the kernel whole, whichever shell it is."""

from __future__ import annotations

import re

import pytest
from shells import BASH, BUSYBOX, DASH, each_shell, function, printed

READS = 60


@pytest.mark.parametrize("shell", each_shell(BASH, of=(BASH, DASH, BUSYBOX)))
def test_each_line_is_a_name_and_a_number_though_numbers_grow(shell):
    functions = function("memory.sh", "each_line") + function("measure.sh", "print_event")
    once = "each_line /proc/vmstat print_event k; n=$((n + 1))"
    loop = f"n=0; while [ $n -lt {READS} ]; do {once}; done"
    lines = printed(shell, functions + loop)
    found = lines.split("\n")
    assert all(re.fullmatch(r"k vmstat [a-z]\w+ \d+", line) for line in found)
    assert len(found) % READS == 0 and not any(" nr_" in line for line in found)
