"""Knobs: files of /sys and /proc/sys, and mount options (boards.remount), by one path each.

A disk's scheduler is a knob that takes others with it: its tunables come and go with it, and the
kernel gives them, and some of the queue's, their defaults whenever one is chosen.
"""

from __future__ import annotations

import os
import posixpath
import re

from boards.remount import is_mount_option, read_option, write_option
from boards.target import Target
from tracer.backends.base import RecordError

_KNOB_TREES = ("/sys/", "/proc/sys/")
_SCHEDULER, _TUNABLES = "/scheduler", "/iosched/"
# Of a queue's own attributes these get new values with a new scheduler (Linux 6.12:
# block/blk-mq-sched.c, blk_mq_init_sched; block/blk-wbt.c, wbt_enable_default).
_RESET_WITH_SCHEDULER = ("nr_requests", "wbt_lat_usec")
_CHOICE = re.compile(r"(?:\S+ )*\[(\S+)\](?: \S+)* ?")


def read_knob(target: Target, knob: str) -> str:
    """Return the value in force; OSError as the target does."""
    read = read_option(target, knob) if is_mount_option(knob) else target.read_knob(knob)
    return selected(read)


def write_knob(target: Target, knob: str, value: str) -> str:
    """Set the knob and return the value then in force; OSError as the target does."""
    option = is_mount_option(knob)
    return selected(write_option(target, knob, value) if option else target.write_knob(knob, value))


def selected(text: str) -> str:
    """Return the value of what a knob reads as: in a list of choices the one in brackets."""
    match = _CHOICE.fullmatch(text)
    return match[1] if match else text


def check_knob(knob: str) -> None:
    """Raise RecordError unless ``knob`` is a file under /sys or /proc/sys, or a mount option."""
    plain = posixpath.normpath(knob) == knob and knob.isprintable()
    if not (is_mount_option(knob) or (plain and knob.startswith(_KNOB_TREES))):
        raise RecordError(
            f"{knob!r} is not a knob of the kernel",
            "only files under /sys and /proc/sys and mount options are set; a journal or TUNING "
            "that names another is damaged: remove it",
        )


def is_scheduler(knob: str) -> bool:
    """Return whether the knob chooses the scheduler of a disk."""
    return knob.endswith(f"/queue{_SCHEDULER}")


def is_tunable(knob: str) -> bool:
    """Return whether the knob comes and goes with a scheduler."""
    return _TUNABLES in knob


def goes_with(target: Target, scheduler: str) -> list[str]:
    """Return the knobs that get other values, or are gone, with another scheduler."""
    queue = scheduler.removesuffix(_SCHEDULER)
    listed = target.run(["ls", f"{queue}{_TUNABLES}"]).stdout
    tunables = [f"{queue}{_TUNABLES}{name}" for name in os.fsdecode(listed).split()]
    return [*(f"{queue}/{name}" for name in _RESET_WITH_SCHEDULER), *tunables]


def resets(scheduler: str, knob: str) -> bool:
    """Return whether choosing ``scheduler`` gives ``knob`` its default."""
    queue = scheduler.removesuffix(_SCHEDULER)
    reset = knob.startswith(f"{queue}{_TUNABLES}") or (
        knob in [f"{queue}/{name}" for name in _RESET_WITH_SCHEDULER]
    )
    return is_scheduler(scheduler) and reset
