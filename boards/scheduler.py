"""Choosing a disk's scheduler anew, which gives it requests that nobody can write."""

from __future__ import annotations

from importlib import resources

from boards.target import Target


def choose_anew(target: Target, queue: str) -> None:
    """Have the scheduler of /sys/block/NAME/queue begin again, with the tunables that it has.

    It gets the nr_requests that suit the disk, which may be fewer than the least to write.
    """
    target.run(["sh", "-c", f'{shell_functions()}\nchoose_anew "$1"', "sh", queue])


def shell_functions() -> str:
    """Return ``choose_anew`` for a POSIX shell."""
    return (resources.files("boards") / "scheduler.sh").read_text()
