"""Which skips a fresh root accepts."""

import pytest
from requirements import fail_for_missing_package


def test_in_a_fresh_root_a_missing_package_fails_and_missing_rights_skip():
    for reason, outcome in (("no busybox: not run", "failed"), ("needs root: not run", "skipped")):
        where = ("a.py", 1, f"Skipped: {reason}")
        skipped = pytest.TestReport("a.py::b", ("a.py", 1, "b"), {}, "skipped", where, "setup")
        assert fail_for_missing_package(skipped, fresh=False).outcome == "skipped"
        report = fail_for_missing_package(skipped, fresh=True)
        assert report.outcome == outcome
        assert reason in str(report.longrepr)
