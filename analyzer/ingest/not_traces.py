"""Names for files and folders that foreread cannot read as a trace, and what to give instead."""

from __future__ import annotations

import re
from pathlib import Path

ACCEPTED = (
    "give a perf.data, a trace.dat (version 6 or 7), tracefs text (trace, trace_pipe, trace-cmd "
    "report, perf script), a Perfetto trace, a blktrace file or blkparse's text, or a directory of "
    "ring-buffer pages with their formats"
)
RECORD = (
    "record the pages: foreread record -o CAPTURE -- COMMAND, or trace-cmd record -e filemap -e "
    "block -e 'sched:sched_process*'"
)
_UNPACK = "unpack it first: {} FILE, and give the trace in it"
_UTF_8 = "copy it again with adb pull or scp, or: iconv -f UTF-16 -t UTF-8 FILE > TRACE"
_PAGES = (
    "pages of a ring buffer without their formats",
    "give the folder that has header_page and events/ beside them; trace-cmd restore on the board "
    "makes a trace.dat of the trace.dat.cpuN that trace-cmd left behind",
)
_PAGE_BYTES = 4096
_BEFORE_ATRACE = 256  # bytes: "capturing trace... done"

# By the beginning of a file.
_MAGICS = {
    b"\x1f\x8b": ("gzip data", _UNPACK.format("gunzip")),
    b"\xfd7zXZ": ("xz data", _UNPACK.format("unxz")),
    b"BZh": ("bzip2 data", _UNPACK.format("bunzip2")),
    b"\x28\xb5\x2f\xfd": ("zstd data", _UNPACK.format("zstd -d")),
    b"\x04\x22\x4d\x18": ("lz4 data", _UNPACK.format("lz4 -d")),
    b"PK\x03\x04": ("a zip archive", _UNPACK.format("unzip")),
    b"\x7fELF": ("a program or core dump", ACCEPTED),
    b"PERFFILE": ("a perf.data of a perf older than 2.6.37", "record with a newer perf"),
    b"SIMPLEPERF": (
        "a report of simpleperf (report-sample --protobuf)",
        "give the perf.data that it was made from",
    ),
    b"\xff\xfe": ("a text in UTF-16, as PowerShell writes it", _UTF_8),
    b"\xfe\xff": ("a text in UTF-16", _UTF_8),
    b"SQLite format 3\0": ("an SQLite database", "give the trace that it was made from"),
    b"\xc1\x1f\xfc\xc1": (
        "a stream of an LTTng (CTF) trace, which foreread does not read",
        RECORD,
    ),
    b"\x75\xd1\x1d\x57": (
        "metadata of an LTTng (CTF) trace, which foreread does not read",
        RECORD,
    ),
    b"\x57\x1d\xd1\x75": (
        "metadata of an LTTng (CTF) trace, which foreread does not read",
        RECORD,
    ),
}

# By a line near the beginning of a text.
_TEXTS = (
    (
        rb"^[^\n]{0,48}?\d{1,9}[ \t]+\[\d{1,5}\][ \t]+\d{1,10}\.(?:\d{9}|\d{6}):[ \t]+"
        rb"(?:dev[ =]\d+:\d+ ino[ =]|\d{1,4},\d{1,7} [A-Z]{1,8} )",
        "a text of perf script without the names of the events",
        "print it again with perf script --ns -F comm,tid,cpu,time,event,trace",
    ),
    (
        rb"\A\s*[\[{][^\0]{0,65536}?\"(?:traceEvents|ph)\"\s*:",
        "a trace in JSON (chrome://tracing), which has no events of pages",
        "give the trace that it was made from: a Perfetto trace, trace.dat or tracefs text",
    ),
    (
        rb"\A\s*\{[^\0]{0,4096}?kshark\.config",
        "a session of KernelShark, which names its trace and does not hold it",
        "give the trace.dat that the session names",
    ),
    (
        rb"\A\s*packet\s*[:{]",
        "a Perfetto trace as text of its messages",
        "give the binary trace, as perfetto -o FILE without --txt writes it",
    ),
    (
        rb"\A\s*\{\s*\"linux-perf-json-version\"",
        "a perf.data converted to JSON",
        "give the perf.data that it was made from",
    ),
    (
        rb"\Aversion https://git-lfs\.github\.com/spec/",
        "the pointer of Git LFS to a file, and not the file",
        "get the file: git lfs pull",
    ),
    (
        rb"^(?:CPU\d+|Total) \([^)\n]{1,64}\):$",
        "the summary of blkparse without the requests",
        "print it again without -q, or give the files NAME.blktrace.N",
    ),
    (
        rb"^=+ All Devices =+$|^ *Q2Q +\d+\.\d+",
        "the output of btt, which has no requests",
        "give the files NAME.blktrace.N that it was made from",
    ),
    (
        rb"\A\s*Tracing meta data in file ",
        "the output of trace-cmd dump",
        "give the trace.dat that it was made from",
    ),
    (
        rb"\A\s*<(?i:!doctype|html|head)\b",
        "a web page without a line of a trace",
        "give the trace that the page was made from",
    ),
    (
        rb"^Attach(?:ing|ed) \d+ probes?\b",
        "the output of bpftrace",
        RECORD,
    ),
    (
        rb"^# (?:To display the perf\.data header info|Samples: \d+\w? +of event|captured on +: )",
        "a report of perf",
        "give the perf.data that it was made from, or print it with perf script --ns",
    ),
    (
        rb"^ *\d+\.\d{3} (?:\( *(?:\d+\.\d+ ms)?\): )?[^\n]{0,20}/\d+ \w+[(:]",
        "the output of perf trace",
        "record with perf record -a -e 'filemap:*' -e 'block:*' and give the perf.data",
    ),
    (
        rb"^(?:\[[0-9:.]+\] |[0-9:.]+ )?[^\n()]{1,16}\(\d+\)(?: \[\d+:\d+\])?: +[+RWOCD<>]{1,6} +/",
        "the output of fatrace, which names files and not their pages",
        RECORD,
    ),
    (
        rb"^(?:\[pid +\d+\] |\d+ +)?(?:[0-9:.]+ )?(?:execve|openat?|read|mmap2?|fstat|access)"
        rb"\([^\n]*\)\s+= -?(?:\d|0x)",
        "the output of strace, which shows calls and not the pages that a disk reads",
        RECORD,
    ),
    (
        rb"^(?:(?:TIME|STARTs?|ENDs?)\S* +){0,3}(?:DISK +)?(?:COMM|PID) +(?:PID +|COMM +)"
        rb"(?:DISK|FD|TYPE|T|D|LAT)\b",
        "the table of biosnoop, iosnoop, opensnoop or a tool like them",
        RECORD,
    ),
)
_LINES = tuple((re.compile(pattern, re.M), what, remedy) for pattern, what, remedy in _TEXTS)


def describe(head: bytes, size: int) -> tuple[str, str]:
    """Return what a file of ``size`` bytes is that begins with ``head``, and what to do."""
    if not head:
        return "it is empty", ACCEPTED
    binary = _by_magic(head) or (_PAGES if _is_ring_buffer(head, size) else None)
    if binary is not None:
        return binary
    if b"\0" in head:
        return f"binary data that begins with {head[:8].hex(' ')}", ACCEPTED
    texts = ((what, remedy) for pattern, what, remedy in _LINES if pattern.search(head))
    return next(texts, ("text without a line of a trace", ACCEPTED))


def describe_folder(folder: Path) -> tuple[str, str]:
    """Return what a folder holds instead of a trace, and what to do."""
    names = sorted(entry.name for entry in folder.iterdir())
    left = [name for name in names if re.fullmatch(r".*\.dat\.cpu\d{1,5}", name)]
    if left:
        output = left[0].rpartition(".cpu")[0]
        return (
            f"holds what trace-cmd left behind before it wrote {output}",
            f"trace-cmd restore -o {output} {' '.join(left)}, on the board, and give {output}",
        )
    if any(_is_ctf(place) for place in (folder, folder / "kernel", *folder.glob("*/kernel"))):
        return "is an LTTng (CTF) trace, which is not read", RECORD
    if names[:1] == ["data"]:
        return (
            "is a perf.data directory whose file data is empty or damaged: perf record was killed",
            "record again and end perf record by Ctrl-C, or copy the directory again",
        )
    return (
        "holds no trace: no pages of a ring buffer (cpuN.raw or per_cpu/cpuN/trace_pipe_raw), no "
        "perf.data directory and no files NAME.blktrace.N",
        ACCEPTED,
    )


def _by_magic(head: bytes) -> tuple[str, str] | None:
    if b"TRACE:\n\x78" in head[:_BEFORE_ATRACE]:
        return "a compressed trace of atrace", "record without atrace -z"
    return next((known for magic, known in _MAGICS.items() if head.startswith(magic)), None)


def _is_ctf(folder: Path) -> bool:
    metadata = folder / "metadata"
    if not metadata.is_file():
        return False
    with metadata.open("rb") as file:
        head = file.read(64)
    return b"\x75\xd1\x1d\x57" in (head[:4], head[3::-1]) or b"CTF 1" in head


def _is_ring_buffer(head: bytes, size: int) -> bool:
    """Return whether these are sub-buffers: a time, the bytes committed, and events."""
    if size % _PAGE_BYTES or len(head) < _PAGE_BYTES or not any(head[:8]):
        return False
    little, big, big_64 = head[11:7:-1], head[8:12], head[8:16]
    committed = [int.from_bytes(word, "big") & ~(3 << 30) for word in (little, big, big_64)]
    return any(0 < number < _PAGE_BYTES for number in committed)
