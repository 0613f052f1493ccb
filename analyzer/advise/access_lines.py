"""The lines with which a program gives advice about a file, in five languages."""

from __future__ import annotations

import re

from foreread.analyzer.advise.access import Call, Pattern

_LONGEST_NAME = 60
_FADVISE = """\
{name} for descriptors of {path}
The advice holds for one open file: repeat it after each open() of this file.

C, C++ (<fcntl.h>; std::ifstream hides its descriptor: use open() or fileno() of a FILE):

    posix_fadvise(fd, 0, 0, {name});

Rust (crate libc, std::os::fd::AsRawFd):

    unsafe {{ libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::{name}) }};

Python (module os, from 3.3 on):

    os.posix_fadvise(file.fileno(), 0, 0, os.{name})

Java: java.io and java.nio have no such call, and hide the descriptor. Preload {shim}.
"""
_MADVISE = """\
{name} for mappings of {path}
The advice holds for one mapping: repeat it after each mmap() of this file.

C, C++ (<sys/mman.h>; address and length as mmap() has them):

    madvise(address, length, {name});

Rust (crate memmap2; the second line: crate libc):

    map.advise(memmap2::Advice::{word})?;
    unsafe {{ libc::madvise(address, length, libc::{name}) }};

Python (module mmap, from 3.8 on):

    map.madvise(mmap.{name})

Java: MappedByteBuffer has no such call. From Java 22 on, with java.lang.foreign and a
MemorySegment that FileChannel.map() returns; before that, preload {shim}. Lucene has
MMapDirectory.setReadAdvice.

    Linker linker = Linker.nativeLinker();
    MethodHandle madvise = linker.downcallHandle(
        linker.defaultLookup().find("madvise").orElseThrow(),
        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_INT));
    int failed = (int) madvise.invokeExact(segment, segment.byteSize(), {number}); // {name}
"""
_NUMBERS: dict[Pattern, int] = {"normal": 0, "random": 1, "sequential": 2}  # asm-generic/mman.h


def constant_of(call: Call, pattern: Pattern) -> str:
    """Return the name that C has for an advice."""
    return f"{'POSIX_FADV' if call == 'fadvise' else 'MADV'}_{pattern.upper()}"


def name_of(call: Call, pattern: Pattern, path: str) -> str:
    """Return the name of the file with the lines."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", path)[-_LONGEST_NAME:].strip("_")
    return f"{call}-{pattern}-{word}.txt"


def lines_of(path: str, call: Call, pattern: Pattern, shim: str) -> bytes:
    """Return the lines for each language; ``shim`` is the library for those that have no call."""
    template = _FADVISE if call == "fadvise" else _MADVISE
    text = template.format(
        name=constant_of(call, pattern),
        path=re.sub(r"[^ -~]", "?", path),
        word=pattern.capitalize(),
        number=_NUMBERS[pattern],
        shim=shim,
    )
    return text.encode()
