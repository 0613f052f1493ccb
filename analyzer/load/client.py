"""What other programs do to the disk while an application starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """A program that reads or writes in a closed loop: its next call follows the end of the last.

    ``in_order``: each call begins where the previous one ended; otherwise at a random place.
    ``cached``: its calls go through the page cache, so that the requests of a reader come from
    readahead, and follow the window. ``sequential``: it has asked for POSIX_FADV_SEQUENTIAL, which
    doubles the window. ``size`` is the number of bytes of a call; of a direct client's, that of its
    request. ``think_ns`` is the time between the end of a call and the next call. ``outstanding``
    requests are in flight at a time. ``burst_bytes`` are what a cached writer writes before it
    syncs the file (0: another client). ``start_s`` and ``stop_s`` limit the time in which it works,
    in seconds from the beginning of the application's start; None: it began before, and ends after
    the start.
    """

    write: bool = False
    in_order: bool = True
    cached: bool = False
    sequential: bool = False
    size: int = 128 << 10
    think_ns: float = 0.0
    outstanding: int = 1
    burst_bytes: int = 0
    start_s: float | None = None
    stop_s: float | None = None


@dataclass(frozen=True)
class Load:
    """The clients that work while an application starts; without clients the machine is idle.

    ``memory_kib``: the memory that the start, its program and its files have; None: all that they
    need. ``notes`` list the assumptions. ``unpredicted`` says why no start can be predicted beside
    the load; empty if it can be. ``limited``: whether a limiter of the start's control group limits
    the load too; None: nothing says so.
    """

    name: str
    clients: tuple[Client, ...] = ()
    notes: tuple[str, ...] = ()
    unpredicted: str = ""
    limited: bool | None = None
    memory_kib: int | None = None

    @property
    def has_effect(self) -> bool:
        """Whether the start is replayed with it in another way than alone."""
        return bool(self.clients) or self.memory_kib is not None
