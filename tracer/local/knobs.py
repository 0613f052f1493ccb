"""Knobs: files of /sys and /proc/sys, and mount options (boards.remount), by one path each.

Writing some knobs resets others. A scheduler's tunables exist only while it is chosen, and the
kernel resets them and some of the queue's attributes whenever a scheduler is chosen. It also resets
the scheduler's depth whenever nr_requests is written, and the window whenever a limit of the queue
is written.
"""

from __future__ import annotations

import os
import posixpath
import re

from boards.remount import is_mount_option, read_option, write_option
from boards.scheduler import choose_anew
from boards.target import Target
from tracer.error import RecordError

_KNOB_TREES = ("/sys/", "/proc/sys/")
_SCHEDULER, _TUNABLES = "/scheduler", "/iosched/"
# The attributes of a queue that are reset with another one, in the order in which they are noted:
# the first noted is restored last (Linux 6.12: block/blk-mq-sched.c, blk_mq_init_sched;
# block/blk-wbt.c, wbt_enable_default; block/mq-deadline.c, dd_depth_updated; block/blk-settings.c,
# blk_apply_bdi_limits).
_RESETS = {
    "scheduler": ("wbt_lat_usec", "nr_requests"),
    "nr_requests": ("iosched/async_depth",),
    "max_sectors_kb": ("read_ahead_kb",),
    "rotational": ("read_ahead_kb",),
}
_CHOICE = re.compile(r"(?:\S+ )*\[(\S+)\](?: \S+)* ?")


def read_knob(target: Target, knob: str) -> str:
    """Return the value in force; OSError as the target does."""
    read = read_option(target, knob) if is_mount_option(knob) else target.read_knob(knob)
    return selected(read)


def write_knob(target: Target, knob: str, value: str) -> str:
    """Set the knob and return the value then in force; OSError as the target does."""
    option = is_mount_option(knob)
    return selected(write_option(target, knob, value) if option else target.write_knob(knob, value))


def put_back_knob(target: Target, knob: str, value: str) -> str:
    """As write_knob, for an earlier value, which may be one that cannot be written."""
    taken = write_knob(target, knob, value)
    if taken == value or not knob.endswith("/queue/nr_requests"):
        return taken
    choose_anew(target, posixpath.dirname(knob))
    return read_knob(target, knob)


def selected(text: str) -> str:
    """Return the value in a knob's text: in a list of choices the one in brackets."""
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


def goes_with(target: Target, by: str) -> list[str]:
    """Return the knobs that get other values, or are gone, when ``by`` is written."""
    if not is_scheduler(by):
        return _reset_attributes(by)
    iosched = f"{posixpath.dirname(by)}{_TUNABLES}"
    listed = target.run(["ls", iosched]).stdout
    return [*(f"{iosched}{name}" for name in os.fsdecode(listed).split()), *_reset_attributes(by)]


def resets(by: str, knob: str) -> bool:
    """Return whether writing ``by`` gives ``knob`` its default."""
    tunables = f"{posixpath.dirname(by)}{_TUNABLES}"
    return knob in _reset_attributes(by) or (is_scheduler(by) and knob.startswith(tunables))


def _reset_attributes(by: str) -> list[str]:
    queue, name = posixpath.split(by)
    return [f"{queue}/{one}" for one in _RESETS.get(name, ()) if queue.endswith("/queue")]
