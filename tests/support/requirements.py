"""Requirements of tests on the machine: the reasons to skip a test that are accepted.

On a machine of a developer any missing program skips the tests that need it. In a fresh root and in
``make test-all`` (both set FOREREAD_FRESH) everything that can be installed is installed, or
``.ci/packages`` is wrong: a skip fails the test there, unless its reason is a right, the kernel or
the hardware.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
FRESH = bool(os.environ.get("FOREREAD_FRESH"))
# No package mends what begins with one of these.
RIGHTS_OR_HARDWARE = ("needs root", "this kernel", "this machine")


def fail_for_missing_package(report: Report, fresh: bool = FRESH) -> Report:
    """Return the report of a test, of a skip that a package would mend as a failure if ``fresh``.

    Applies to collection as well: a whole module may be skipped.
    """
    if not fresh or not report.skipped or hasattr(report, "wasxfail"):
        return report
    place = report.longrepr
    reason = (place[2] if isinstance(place, tuple) else str(place)).removeprefix("Skipped: ")
    if not reason.startswith(RIGHTS_OR_HARDWARE):
        report.outcome = "failed"
        report.longrepr = f"{reason}\nHere every package is installed: see .ci/packages."
    return report


def busybox_chroot_missing() -> str:
    """Return why busybox cannot be run alone in a chroot, or an empty string."""
    unchecked = "installing was not run"
    busybox = shutil.which("busybox")
    if not busybox:
        return f"no busybox: {unchecked}"
    if _is_dynamic(busybox):
        return f"busybox is not the static one (apt-get install busybox-static): {unchecked}"
    enter = [] if os.geteuid() == 0 else ["unshare", "-r"]
    probe = subprocess.run([*enter, "chroot", "/", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        return f"needs root, or user namespaces: {unchecked}"
    return ""


def _is_dynamic(program: str) -> bool:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "=>" in listed.stdout
