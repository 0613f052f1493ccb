"""studies/accuracy: random touches under little memory, their emulation and their table."""

import os
import subprocess
from pathlib import Path

import pytest

from foreread.emulator.linux.operations import Machine
from studies.accuracy import on_reclaim, tables
from studies.accuracy.store import Cell

SOURCE = Path(on_reclaim.__file__).with_name("random_touches.c")
PAGE = 4096


def test_the_program_touches_the_pages_that_the_emulation_gets(tmp_path):
    compiler = ["cc", "-std=c11", "-Wall", "-Werror", "-o", tmp_path / "program"]
    subprocess.run([*compiler, SOURCE], check=True)
    pages = 300
    data = bytearray(os.urandom(pages * PAGE))
    (tmp_path / "file").write_bytes(data)
    words = [tmp_path / "program", tmp_path / "file", "40", "7", "r"]
    output = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    expected = sum(data[int(page) * PAGE] for page in on_reclaim.touched(7, pages, 40))
    assert output.splitlines()[-1] == f"sum {expected}"
    assert len(on_reclaim.counts_of(output).cached) == 20


def test_little_memory_makes_the_emulation_read_more():
    program = on_reclaim.program(1, executes=False, large_folios=False)
    all_of_it, enough, little = (
        on_reclaim.emulated_mib(program, (6, 12), 128, Machine(cache_pages=pages))
        for pages in (0, 131072, 20000)
    )
    assert all_of_it == enough < little


def test_counters_are_compared_and_memory_is_the_middle_of_its_full_samples():
    before, after = "requests 3\nsectors 80\n", "requests 9\nsectors 4176\nsum 12\n"
    cached = "".join(f"cached {pages}\n" for pages in (50, 90, 98, 100, 99))
    counts = on_reclaim.counts_of(before + cached + after)
    assert counts.pairs == {"requests": (3, 9), "sectors": (80, 4176)}
    assert counts.cache_pages == 99


@pytest.mark.parametrize("generations", [False, True])
def test_the_table_has_the_mean_of_the_seeds_and_the_errors_of_each_kind_of_lists(generations):
    rows = [
        {
            "generations": generations,
            "executes": False,
            "read_ahead_kb": 128,
            "seed": seed,
            "cache_pages": 1000 + seed,
            "read_mib": 100.0,
            "emulated_mib": emulated,
            "error": emulated / 100 - 1,
        }
        for seed, emulated in ((1, 101.0), (3, 105.0))
    ]
    cell = Cell("reclaim", "a-board", "", run=lambda folder: {})
    text = tables.text([(cell, {"touches": rows})])
    lists = "generations" if generations else "two"
    assert f"| a-board | data | {lists} | 128 | 1,002 | 100.0 | 103.0 | +3.0 % |" in text
    assert f"- {lists}: error 3.00 % (median), 5.00 % (worst)" in text
