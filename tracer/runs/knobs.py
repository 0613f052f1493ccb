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
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from foreread.boards import knobs
from foreread.boards.remount import is_mount_option, read_option, write_option
from foreread.boards.scheduler import choose_anew
from foreread.boards.target import Target
from foreread.tracer.error import RecordError
from foreread.tracer.memory import meminfo

_READABLE_TREES = ("/sys/", "/proc/sys/")
_SCHEDULER, _TUNABLES = "/scheduler", "/iosched/"
_OF_MOUNTS = "/sys/fs/ext4/"
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


class KnobRefused(RecordError):
    """A knob or a value that is not in boards/knobs.toml."""


def read_knob(target: Target, knob: str) -> str:
    """Return the value in force; OSError as the target does."""
    read = read_option(target, knob) if is_mount_option(knob) else target.read_knob(knob)
    return selected(read)


def write_knob(target: Target, knob: str, value: str) -> str:
    """Set the knob and return the value then in force; OSError as the target does.

    Raises KnobRefused if the list does not have it, whoever asks.
    """
    check_put_back(target, knob, value)
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


def check_readable(knob: str) -> None:
    """Raise RecordError unless a probe may read ``knob``: under /sys, /proc/sys, or a mount's."""
    plain = posixpath.normpath(knob) == knob and knob.isprintable()
    if not (is_mount_option(knob) or (plain and knob.startswith(_READABLE_TREES))):
        raise RecordError(
            f"{knob!r} is not a knob of the kernel",
            "only files under /sys and /proc/sys and mount options are read; name one of these",
        )


def check_knob(knob: str) -> None:
    """Raise KnobRefused unless ``knob`` is in the list."""
    with _refusing():
        knobs.knob_of(knob)


def check_value(knob: str, value: str) -> None:
    """Raise KnobRefused unless the knob may be set so or found so on some machine."""
    with _refusing():
        knobs.check_put_back(knob, value)


def check_plan(knob: str, value: str) -> None:
    """Raise KnobRefused unless a plan may set the knob so; a target's shell checks it again."""
    with _refusing():
        knobs.check_setting(knob, value)


def check_setting(target: Target, knob: str, value: str) -> None:
    """Raise KnobRefused unless the knob may be set so on this target."""
    with _refusing():
        knobs.check_setting(knob, value, _memory_kib(target, knob))


def check_put_back(target: Target, knob: str, value: str) -> None:
    """Raise KnobRefused unless the knob may have been found so on this target."""
    with _refusing():
        knobs.check_put_back(knob, value, _memory_kib(target, knob))


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except knobs.KnobError as error:
        raise KnobRefused(str(error), error.remedy) from error


def _memory_kib(target: Target, knob: str) -> int | None:
    """Return the target's memory where that limits the knob; 0 if it cannot be read."""
    if not knobs.knob_of(knob).memory_share:
        return None
    with suppress(OSError):
        return meminfo(target.read_knob("/proc/meminfo")).get("MemTotal", 0)
    return 0


def is_scheduler(knob: str) -> bool:
    """Return whether the knob chooses the scheduler of a disk."""
    return knob.endswith(f"/queue{_SCHEDULER}")


def is_tunable(knob: str) -> bool:
    """Return whether the knob comes and goes with a scheduler."""
    return _TUNABLES in knob


def is_of_mount(knob: str) -> bool:
    """Return whether the knob comes and goes with a mounted file system."""
    return knob.startswith(_OF_MOUNTS)


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
