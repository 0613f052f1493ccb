"""Which skips a fresh root accepts."""

import pytest
from requirements import fail_for_missing_package


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("no busybox: nothing was run", "failed"),
        ("needs root: nothing was mounted", "skipped"),
        ("this kernel has no kyber", "skipped"),
    ],
)
def test_a_missing_package_fails_in_a_fresh_root_only(reason, outcome):
    where = ("a.py", 1, f"Skipped: {reason}")
    test = pytest.TestReport("a.py::b", ("a.py", 1, "b"), {}, "skipped", where, "setup")
    module = pytest.CollectReport("a.py", "skipped", where, [])
    assert fail_for_missing_package(test, fresh=False).outcome == "skipped"
    assert fail_for_missing_package(test, fresh=True).outcome == outcome
    assert fail_for_missing_package(module, fresh=True).outcome == outcome
    assert reason in str(test.longrepr)
