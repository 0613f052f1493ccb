"""Restarts a disk's scheduler, which sets nr_requests to a value that cannot be written."""

from __future__ import annotations

from importlib import resources

from foreread.boards.target import Target


def choose_anew(target: Target, queue: str) -> None:
    """Restart the scheduler of /sys/block/NAME/queue, and keep its tunables.

    The kernel derives nr_requests from the disk, possibly below the minimum that can be written.
    """
    target.run(["sh", "-c", f'{shell_functions()}\nchoose_anew "$1"', "sh", queue])


def shell_functions() -> str:
    """Return ``choose_anew`` for a POSIX shell."""
    return (resources.files("foreread.boards") / "scheduler.sh").read_text()
