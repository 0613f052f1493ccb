"""What ``foreread doctor`` finds on a machine: recorders, rights, and the windows of its disks."""

from __future__ import annotations

from dataclasses import replace

from foreread.boards.origin import origins_of
from foreread.boards.target import Target
from foreread.machine.disk_windows import set_windows, window_findings, with_windows
from foreread.tracer.doctor.examine import Diagnosis, examine


def diagnose(target: Target) -> Diagnosis:
    """Return what works on ``target`` and how to fix the rest, its disks' windows included.

    Raises boards.target.TargetError.
    """
    diagnosis = examine(target)
    windows = window_findings(diagnosis, origins_of(target, set_windows(diagnosis)))
    return replace(diagnosis, findings=with_windows(diagnosis.findings, windows))
