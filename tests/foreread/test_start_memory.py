"""Whether the memory of a machine holds the start of a capture."""

from pathlib import Path

import pytest

from foreread.cli.commands import doctor
from foreread.cli.main import main
from foreread.machine.start_memory import predicted_start, with_start
from foreread.tracer.doctor.examine import Diagnosis

ROOT = Path(__file__).parents[2]
PHP = ROOT / "examples/php-start/php-start.capture.tar.xz"
FOREIGN = ROOT / "tests/analyzer/ingest/data/foreign/ra-events.txt"


def finding(capture, available_kib):
    machine = Diagnosis("6.12", "", "tracefs", [], available_kib=available_kib)
    (made,) = with_start(machine, predicted_start(capture), capture).findings
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


def test_doctor_reads_the_capture_before_it_examines_the_machine(tmp_path, monkeypatch, capsys):
    def examine(*_args, **_more):
        raise AssertionError("the machine was examined")

    monkeypatch.setattr(doctor, "open_target", examine)
    assert main(["doctor", str(tmp_path / "missing")]) == 1
    assert "missing" in capsys.readouterr().err
