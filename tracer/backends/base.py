"""The interface of a capture back-end, a system-wide recorder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

# The events to record, if the kernel has them. The first is indispensable: without it there is
# nothing to emulate. Names are "system:event" as in tracefs.
INDISPENSABLE = "filemap:mm_filemap_add_to_page_cache"
WANTED_EVENTS: tuple[str, ...] = (
    INDISPENSABLE,
    "filemap:mm_filemap_delete_from_page_cache",
    "filemap:mm_filemap_fault",
    "filemap:mm_filemap_get_pages",
    "filemap:mm_filemap_map_pages",
    "readahead:page_cache_ra_unbounded",
    "readahead:page_cache_sync_ra",
    "block:block_bio_queue",
    "block:block_rq_issue",
    "block:block_rq_complete",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    # Context switches and wake-ups: when threads computed, and what they waited for.
    "sched:sched_switch",
    "sched:sched_waking",
    # Opens, reads, mappings and advice of the application: how each struct file is read, which the
    # emulation of the kernel's readahead needs. Present with CONFIG_FTRACE_SYSCALLS only.
    # Operations through io_uring are not seen.
    "syscalls:sys_enter_openat",
    "syscalls:sys_exit_openat",
    "syscalls:sys_enter_open",
    "syscalls:sys_exit_open",
    "syscalls:sys_enter_mmap",
    "syscalls:sys_exit_mmap",
    "syscalls:sys_enter_munmap",
    "syscalls:sys_enter_mremap",
    "syscalls:sys_exit_mremap",
    "syscalls:sys_enter_mprotect",
    "syscalls:sys_enter_madvise",
    "syscalls:sys_enter_fadvise64",
    "syscalls:sys_enter_pread64",
    "syscalls:sys_enter_read",
    "syscalls:sys_enter_readv",
    "syscalls:sys_enter_preadv",
    "syscalls:sys_enter_preadv2",
    "syscalls:sys_enter_sendfile64",
    "syscalls:sys_enter_splice",
    "syscalls:sys_enter_copy_file_range",
    "syscalls:sys_enter_readahead",
    "syscalls:sys_enter_lseek",
    "syscalls:sys_exit_lseek",
    "syscalls:sys_enter_close",
    "syscalls:sys_enter_close_range",
    "syscalls:sys_enter_dup",
    "syscalls:sys_exit_dup",
    "syscalls:sys_enter_dup2",
    "syscalls:sys_enter_dup3",
    "syscalls:sys_enter_fcntl",
    "syscalls:sys_exit_fcntl",
    # Sleeps that only a timer ends, unlike waits with a timeout.
    "syscalls:sys_enter_nanosleep",
    "syscalls:sys_enter_clock_nanosleep",
    "syscalls:sys_enter_nanosleep_time32",
    "syscalls:sys_enter_clock_nanosleep_time32",
    # Which struct files a child shares with its parent.
    "task:task_newtask",
)

# Of a boot: also which unit of systemd a process is of.
BOOT_EVENTS = (*WANTED_EVENTS, "cgroup:cgroup_attach_task")

# What a machine reads and writes by itself: its requests, who asks for them and when that sleeps,
# and how a file that is read ahead is read.
LOAD_EVENTS: tuple[str, ...] = (
    "block:block_rq_issue",
    "block:block_bio_queue",
    "block:block_rq_complete",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    "sched:sched_switch",
    "sched:sched_waking",
    "readahead:page_cache_sync_ra",
    "readahead:page_cache_async_ra",
)

# Replacements for events on kernels that lack them. sched_waking (from 4.3 on) is emitted by the
# waker; sched_wakeup may be reported by the CPU of the woken thread.
STANDINS = {"sched:sched_waking": "sched:sched_wakeup"}


@dataclass(frozen=True)
class Probe:
    """Whether a back-end works here: the problem and its remedy, or empty strings."""

    name: str
    works: bool
    lacks: str = ""
    remedy: str = ""
    version: str = ""


@dataclass(frozen=True)
class Recorded:
    """The result of a recording besides the files in the trace directory."""

    lost: dict[int, int]  # CPU -> lost events
    notes: list[str] = field(default_factory=list)


class Backend(Protocol):
    """A recorder. ``start`` returns once events are being recorded; ``stop`` once all are saved.

    ``stop`` may be called twice and after a failed ``start``; it removes everything the back-end
    made (instances, processes, mounts). The trace clock is CLOCK_MONOTONIC (``mono``), so that wall
    times of the tracer and of the trace compare.
    """

    name: str

    def probe(self) -> Probe:
        """Return whether this back-end can record here, by trying the operations it needs.

        The trial may take a second. It is made once; later calls return its result.
        """

    def start(self, trace_directory: Path, events: list[str], buffer_kib: int) -> None:
        """Begin recording ``events`` of all CPUs; ``buffer_kib`` of buffer per CPU."""

    def stop(self) -> Recorded:
        """End the recording and complete the files in the trace directory."""
