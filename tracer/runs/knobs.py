"""Knobs: files of /sys and /proc/sys, and mount options (boards.remount), by one path each.

A shell sets them, notes them in a journal and puts them back (knobs.sh), on this machine and on
targets alike. Writing some knobs resets others: that shell knows which.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

from foreread.boards import knobs, remount, scheduler
from foreread.boards.remount import is_mount_option
from foreread.tracer.error import RecordError

_READABLE_TREES = ("/sys/", "/proc/sys/")
_CHOICE = re.compile(r"(?:\S+ )*\[(\S+)\](?: \S+)* ?")


class KnobRefused(RecordError):
    """A knob or a value that is not in boards/knobs.toml."""


def selected(text: str) -> str:
    """Return the value in a knob's text: in a list of choices the one in brackets."""
    match = _CHOICE.fullmatch(text)
    return match[1] if match else text


def check_readable(knob: str) -> None:
    """Raise RecordError unless a probe may read ``knob``: under /sys, /proc/sys, or a mount's."""
    plain = posixpath.normpath(knob) == knob and knob.isprintable()
    if not (is_mount_option(knob) or (plain and knob.startswith(_READABLE_TREES))):
        raise RecordError(
            f"{knob!r} is not a knob of the kernel",
            "only files under /sys and /proc/sys and mount options are read; name one of these",
        )


def check_value(knob: str, value: str) -> None:
    """Raise KnobRefused unless the knob may be set so or found so on some machine."""
    with _refusing():
        knobs.check_put_back(knob, value)


def check_plan(knob: str, value: str) -> None:
    """Raise KnobRefused unless a plan may set the knob so; a target's shell checks it again."""
    with _refusing():
        knobs.check_setting(knob, value)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except knobs.KnobError as error:
        raise KnobRefused(str(error), error.remedy) from error


def is_scheduler(knob: str) -> bool:
    """Return whether the knob chooses the scheduler of a disk."""
    return knob.endswith("/queue/scheduler")


def shell_functions() -> str:
    """Return the shell functions that set, note and put back knobs, with all that they call."""
    shared = (knobs.shell_functions(), remount.shell_functions(), scheduler.shell_functions())
    own = (resources.files("foreread.tracer.runs") / "knobs.sh").read_text()
    return "\n".join([*shared, own])
