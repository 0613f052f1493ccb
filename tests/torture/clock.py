"""A clock that jumps: a library that is loaded before libc's, for one command alone.

Every fifth of a second the time of day is another: days and years later, or earlier. The clock that
only goes forward is as it is. The machine's own clock is not set.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = """
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const time_t BY[] = {0, 86400, -315360000, -3600, 315360000};

int clock_gettime(clockid_t id, struct timespec *t)
{
    struct timespec now;
    int failed = syscall(SYS_clock_gettime, id, t);
    if (failed || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return failed;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    t->tv_sec += BY[(now.tv_sec * 5 + now.tv_nsec / 200000000) % 5];
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec;
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
"""


def make(folder: Path) -> list[str]:
    """Build the library; return the words that put a command under such a clock."""
    library = folder / "clock.so"
    if not library.exists():
        command = ["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-x", "c", "-"]
        subprocess.run([*command, "-o", library], input=SOURCE.encode(), check=True)
    return ["env", f"LD_PRELOAD={library}"]
