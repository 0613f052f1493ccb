"""The numbers of the system calls of a runner, by architecture.

Source: arch/*/entry/syscalls and include/uapi/asm-generic/unistd.h.
"""

from __future__ import annotations

EXIT = "exit_group"
GENERIC = {
    "openat": 56,
    "dup3": 24,
    "pread64": 67,
    "mmap": 222,
    "madvise": 233,
    "fadvise64": 223,
    "nanosleep": 101,
    EXIT: 94,
}
X86_64 = {
    "openat": 257,
    "dup3": 292,
    "pread64": 17,
    "mmap": 9,
    "madvise": 28,
    "fadvise64": 221,
    "nanosleep": 35,
    EXIT: 231,
}
I386 = {
    "openat": 295,
    "dup3": 330,
    "pread64": 180,
    "mmap": 192,
    "madvise": 219,
    "fadvise64": 272,
    "nanosleep": 162,
    EXIT: 252,
}
ARM = {
    "openat": 322,
    "dup3": 358,
    "pread64": 180,
    "mmap": 192,
    "madvise": 220,
    "fadvise64": 270,
    "nanosleep": 162,
    EXIT: 248,
}
MIPS = {
    "openat": 4288,
    "dup3": 4327,
    "pread64": 4200,
    "mmap": 4210,
    "madvise": 4218,
    "fadvise64": 4254,
    "nanosleep": 4166,
    EXIT: 4246,
}
S390X = {
    "openat": 288,
    "dup3": 326,
    "pread64": 180,
    "mmap": 90,
    "madvise": 219,
    "fadvise64": 253,
    "nanosleep": 162,
    EXIT: 248,
}
