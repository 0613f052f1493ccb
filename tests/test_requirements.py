"""Which skips a fresh root accepts."""

import pytest
from requirements import fail_for_missing_package


def skipped(reason, kind=pytest.TestReport):
    if kind is pytest.CollectReport:
        return kind("a.py", "skipped", ("a.py", 1, f"Skipped: {reason}"), [])
    where = ("a.py", 1, f"Skipped: {reason}")
    return kind("a.py::b", ("a.py", 1, "b"), {}, "skipped", where, "setup")


@pytest.mark.parametrize("kind", [pytest.TestReport, pytest.CollectReport])
@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("no busybox: nothing was run", "failed"),
        ("could not import 'deap'", "failed"),
        ("needs root: nothing was mounted", "skipped"),
        ("this kernel has no kyber", "skipped"),
        ("this machine gives no loop device: nothing was mounted", "skipped"),
    ],
)
def test_a_missing_package_fails_in_a_fresh_root(kind, reason, outcome):
    report = fail_for_missing_package(skipped(reason, kind), fresh=True)
    assert report.outcome == outcome
    assert reason in str(report.longrepr)


def test_elsewhere_it_is_a_skip():
    assert fail_for_missing_package(skipped("no busybox"), fresh=False).outcome == "skipped"
