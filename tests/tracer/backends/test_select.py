from __future__ import annotations

from pathlib import Path

import pytest

from foreread.tracer.backends.base import Probe, Recorded
from foreread.tracer.backends.select import candidates, choose
from foreread.tracer.error import RecordError


class Fake:
    """A back-end that only has a probe."""

    def __init__(self, name: str, works: bool) -> None:
        self.name = name
        lacks = "" if works else f"{name} lacks a thing"
        self._probe = Probe(name, works, lacks, "" if works else f"give {name} the thing")

    def probe(self) -> Probe:
        return self._probe

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        raise AssertionError

    def stop(self) -> Recorded:
        raise AssertionError


def test_auto_takes_the_first_working_back_end_and_reports_the_others() -> None:
    chosen, why = choose("auto", [Fake("tracefs", False), Fake("perf", True)])
    assert chosen.name == "perf"
    assert "tracefs lacks a thing" in why


def test_the_one_asked_for_is_taken_though_a_better_one_works() -> None:
    assert choose("perf", [Fake("tracefs", True), Fake("perf", True)])[0].name == "perf"


def test_one_that_does_not_work_is_refused_with_its_remedy() -> None:
    with pytest.raises(RecordError, match="lacks a thing") as error:
        choose("perf", [Fake("tracefs", True), Fake("perf", False)])
    assert error.value.remedy == "give perf the thing"


def test_an_unknown_one_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RecordError, match="'ebpf'") as error:
        choose("ebpf", [Fake("tracefs", True)])
    assert error.value.remedy == "use one of: auto, tracefs"


def test_auto_without_a_working_back_end_reports_each_reason() -> None:
    with pytest.raises(RecordError, match=r"tracefs lacks.*perf lacks") as error:
        choose("auto", [Fake("tracefs", False), Fake("perf", False)])
    assert error.value.remedy == "give tracefs the thing"


def test_the_best_comes_first() -> None:
    assert [backend.name for backend in candidates()] == ["tracefs", "trace-cmd", "perf"]
