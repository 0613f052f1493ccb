"""Whether the memory of a machine holds the start of a capture."""

from pathlib import Path

import pytest

from foreread.machine.start_memory import with_start
from foreread.tracer.doctor.examine import Diagnosis

ROOT = Path(__file__).parents[2]
PHP = ROOT / "examples/php-start/php-start.capture.tar.xz"
FOREIGN = ROOT / "tests/analyzer/ingest/data/foreign/ra-events.txt"


def finding(capture, available_kib):
    machine = Diagnosis("6.12", "", "tracefs", [], available_kib=available_kib)
    (made,) = with_start(machine, capture).findings
    return made


@pytest.mark.parametrize(("available_kib", "held"), [(1 << 20, True), (6 << 10, False)])
def test_the_need_at_the_window_of_the_verdict_is_compared_with_the_memory(available_kib, held):
    made = finding(PHP, available_kib)
    assert made.ok == held
    assert made.remedy == ("" if held else f"foreread predict {PHP} --memory 6M")


def test_a_machine_that_does_not_say_its_memory_is_unknown():
    made = finding(PHP, None)
    assert not made.ok and "unknown" in made.detail


def test_a_trace_that_predicts_no_seconds_is_unknown():
    made = finding(FOREIGN, 1 << 20)
    assert not made.ok and "unknown" in made.detail and made.remedy
