"""Settings that another program changes while a run is measured: found, named, and left to it.

tuned, udev rules and systemd-sysctl write the same files, and so may the measured command. Such a
run says nothing about the settings that were to be measured. A value that is changed and changed
back within the run is not seen.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from foreread.boards.base.counted import plural
from foreread.boards.base.units import KIB
from foreread.tracer.error import RecordError
from foreread.tracer.runs.knobs import is_scheduler


@dataclass(frozen=True)
class Change:
    """A knob that another program has set; ``actual`` is empty if the knob is gone."""

    knob: str
    expected: str
    actual: str

    def __str__(self) -> str:
        """Return the change in words."""
        done = f"set {self.knob} to {self.actual}" if self.actual else f"removed {self.knob}"
        return f"another program {done} during a run that needs {self.expected}"


class ChangedKnobError(RecordError):
    """A run that another program spoils again and again; no other run would be valid either."""

    def __init__(self, change: Change, runs: int) -> None:
        super().__init__(
            f"{change}: {plural(runs, 'run')} in a row discarded",
            "stop the program that sets it (tuned: systemctl stop tuned), remove the udev rule or "
            "the sysctl file, or measure a command that does not set it itself; to find who sets "
            f"it, type: grep -rs {posixpath.basename(change.knob)} /etc /usr/lib/udev "
            "/usr/lib/tuned /usr/lib/sysctl.d",
        )


def overridden(
    settings: Sequence[tuple[str, str]], accepted: Mapping[str, str], page_bytes: int
) -> list[Change]:
    """Return the knobs that had another value at once, which the kernel cannot have made of it."""
    return [
        Change(knob, value, accepted[knob])
        for knob, value in settings
        if accepted.get(knob, value) != value and _is_exact(knob, value, page_bytes)
    ]


def _is_exact(knob: str, value: str, page_bytes: int) -> bool:
    """Return whether the kernel takes the value as it is, or refuses it; others are rounded.

    It looks a scheduler up by its name, refuses a sysctl beyond its limits
    (proc_dointvec_minmax, kernel/sysctl.c), and rounds a window down to pages (queue_ra_store,
    block/blk-sysfs.c).
    """
    if knob.endswith("/read_ahead_kb"):
        return value.isdecimal() and int(value) * KIB % page_bytes == 0
    return is_scheduler(knob) or knob.startswith("/proc/sys/")
