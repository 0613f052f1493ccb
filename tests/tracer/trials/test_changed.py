"""Runs that another program spoils: repeated a few times, and its value is left in force."""

from __future__ import annotations

import pytest

from foreread.tracer.trials import trial
from foreread.tracer.trials.changed import Change, ChangedKnobError, overridden
from foreread.tracer.trials.trial import Outcome, unless_changed

WINDOW = "/sys/block/sda/queue/read_ahead_kb"
MOVED = Change(WINDOW, "16", "64")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(trial, "_CALM_S", 0)


def bench(spoiled):
    """Return what makes so many spoiled trials and then valid ones, and the list of all made."""
    made = []

    def make():
        made.append(len(made))
        lost = len(made) <= spoiled
        return Outcome("ok", 1.0, notes=("own",), changed=(MOVED,) if lost else ())

    return make, made


@pytest.mark.parametrize("spoiled", [0, 1, 3])
def test_a_spoiled_run_is_repeated_and_reported(spoiled):
    make, made = bench(spoiled)
    outcome = unless_changed(make)
    assert len(made) == spoiled + 1
    assert outcome.notes == ("own",)
    said = f"another program set {WINDOW} to 64 during a run that needs 16: the run was repeated"
    assert outcome.repeated == ((said,) if spoiled else ())


def test_runs_that_are_always_spoiled_end_with_the_program_to_look_for():
    make, made = bench(99)
    with pytest.raises(ChangedKnobError, match=f"set {WINDOW} to 64.*4 runs in a row") as error:
        unless_changed(make)
    assert len(made) == 4
    assert all(word in error.value.remedy for word in ("tuned", "udev", "sysctl", "read_ahead_kb"))


def test_a_knob_that_is_gone_has_changed():
    change = Change(WINDOW, "16", "")
    assert str(change) == f"another program removed {WINDOW} during a run that needs 16"


@pytest.mark.parametrize(
    ("knob", "value", "taken", "expected"),
    [
        (WINDOW, "16", "64", True),
        (WINDOW, "16", "16", False),
        (WINDOW, "6", "4", False),  # rounded to pages
        ("/sys/block/sda/queue/scheduler", "bfq", "none", True),
        ("/proc/sys/vm/swappiness", "10", "60", True),
        ("/sys/block/sda/queue/nr_requests", "2", "4", False),  # the kernel's minimum
        ("mount:commit=:/", "60", "5", False),
    ],
)
def test_a_value_that_the_kernel_cannot_have_made_is_another_program_s(
    knob, value, taken, expected
):
    found = overridden([(knob, value)], {knob: taken}, 4096)
    assert found == ([Change(knob, value, taken)] if expected else [])


def test_a_refused_knob_is_not_overridden():
    assert overridden([(WINDOW, "16")], {}, 4096) == []
