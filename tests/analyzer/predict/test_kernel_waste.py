"""Waste by file and rule of the kernel's readahead, on the real capture in examples/."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rings import further

from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.inputs import inputs
from foreread.analyzer.predict.kernel_waste import kernel_waste
from foreread.analyzer.predict.linux import predict_linux
from foreread.emulator.linux.operations import Cause
from foreread.emulator.linux.rules import version_of

CAPTURE = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"
VERSION = version_of("6.18.44")


@pytest.fixture(scope="module")
def taken():
    return inputs(load(CAPTURE), VERSION)


@pytest.mark.parametrize("window", further([32, 0, 3, 512]))
def test_sums_are_those_of_the_core(taken, window):
    total = predict_linux(taken.recording, windows=[window]).total
    waste, causes = kernel_waste(taken, VERSION, window)
    assert waste.requests.sum() == total.f[0]
    assert sum(one.pages.sum() for one in causes) == total.pages[0]
    assert waste.wasted.sum() == waste.run_pages.sum() == total.g[0]
    by_rule = np.sum([one.wasted for one in causes], axis=0)
    assert by_rule.tolist() == waste.wasted.tolist()


def test_unused_runs_are_pages_that_nobody_accessed(taken):
    waste, _ = kernel_waste(taken, VERSION, 32)
    accesses = taken.recording.accesses
    touched = set(zip(accesses["file"].tolist(), accesses["page"].tolist(), strict=True))
    runs = zip(waste.run_file, waste.run_page, waste.run_pages, strict=True)
    pages = [(int(file), int(page) + at) for file, page, count in runs for at in range(count)]
    assert len(pages) == len(set(pages))
    assert not touched & set(pages)


def test_without_readahead_a_fault_reads_its_page_alone(taken):
    causes = {one.cause for one in kernel_waste(taken, VERSION, 0)[1]}
    assert causes <= {Cause.ALONE, Cause.ASKED}


def test_rules_of_the_kernel_decide(taken):
    """Code is read from the fault on since 6.17, around it before."""
    new, old = (
        {one.cause for one in kernel_waste(taken, version_of(text), 32)[1]}
        for text in ("6.18", "6.12")
    )
    assert Cause.EXEC in new
    assert Cause.EXEC not in old
    assert Cause.AROUND in old


def test_nothing_read_is_not_waste(taken):
    program = replace(taken.program, operations=taken.program.operations[:0])
    waste, causes = kernel_waste(replace(taken, program=program), VERSION, 32)
    assert (waste.wasted.sum(), causes) == (0, [])
