"""The list of a recorded boot: its seconds come with a note."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from foreread.analyzer.ingest.load import load
from foreread.analyzer.prefetch import compare
from foreread.analyzer.prefetch.cases import OF_BOOT
from foreread.tracer.formats.capture import Boot

START = Path(__file__).parents[3] / "examples/python-start/python-start.capture.tar.xz"


@pytest.mark.thorough
def test_seconds_with_the_list_of_a_boot_are_noted():
    start = load(START)
    boot = Boot(processes=[start.capture.pid], read_before=[])
    of_boot = replace(start, capture=structs.replace(start.capture, boot=boot))
    assert OF_BOOT in compare(of_boot).notes
    assert OF_BOOT not in compare(start).notes
