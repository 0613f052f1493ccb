"""Most that is read of a capture or of a trace, which may come from anybody.

Every reader of a capture takes its limits from here; docs/reference/limits.md lists them. Each is
far above what a recording needs and low enough that a reader at its limit stays within the memory
and the time that ``analyzer/ingest/allowance.py`` grants the process that reads.
"""

from __future__ import annotations

from foreread.boards.base.counted import plural
from foreread.boards.base.units import GIB, KIB, MIB, size_text
from foreread.tracer.error import TracerError


class LimitError(TracerError, ValueError):
    """A capture or trace that holds more than is read; ``remedy`` says what to do."""


# The raw trace, all CPUs together, and what a compressed one expands to. About 55 bytes an event:
# 20 million events, the start-ups of hours. Their tables take ten times as much memory.
MOST_TRACE_BYTES = 1 * GIB
RECORD_LESS = "record for a shorter time (foreread record --duration S), or fewer events"

# capture.json: 21 KB in the shipped example. Mounts, disks and confirmations (100,000 pairs of
# runs at most: 4 MB) make it grow, files and events do not.
MOST_METADATA_BYTES = 16 * MIB
METADATA_REMEDY = "the capture is damaged: copy it again, or record again"
# files.json: 180 bytes a file in the shipped example, so 370,000 files.
MOST_FILES_BYTES = 64 * MIB
# A list of inodes (--inodes): 80 bytes a file on a desktop, so 3 million files.
MOST_INODES_BYTES = 256 * MIB
# disk.json: the requests of a probe of 1 to 2 s, 32 KB in the shipped example; 400,000 requests.
MOST_DISK_BYTES = 16 * MIB

# events/SYSTEM/NAME/format: Linux 6.18's largest has under 20 KB, most of it print format.
MOST_FORMAT_BYTES = 256 * KIB
# Formats of one trace: Linux 6.18 with every driver has about 5,000 events.
MOST_FORMATS = 16_384
# All of them: 2 KB each on average.
MOST_FORMATS_BYTES = 64 * MIB
# header_page, header_event and the statistics of a CPU: texts of a few lines.
MOST_TEXT_BYTES = 64 * KIB
# CPUs of a trace: CONFIG_NR_CPUS is 8,192 at most.
MOST_CPUS = 8_192
# Buffer instances of one trace.dat, and all their CPUs: trace-cmd makes one an instance asked for.
MOST_BUFFERS = 256
MOST_CPUS_OF_BUFFERS = 65_536
# Sections of options in one trace.dat: trace-cmd writes two to four.
MOST_OPTION_SECTIONS = 256

# Members of an archive. A capture of foreread has about 120; a copy of all of tracefs' events has
# 8 files for each of 2,500 events. A reader passes so many headers in half a second.
MOST_MEMBERS = 24_576
# A pax header or a GNU long name: two paths of 4 KiB, and extended attributes of other systems.
MOST_EXTENSION_BYTES = 64 * KIB
# Such headers before one member: tar writes two (a name and a link), and a global one.
MOST_EXTENSIONS = 8
# All of an archive, decompressed.
MOST_ARCHIVE_BYTES = MOST_TRACE_BYTES + 256 * MIB
# Compressed streams one after another: bgzip writes one for each 64 KiB.
MOST_STREAMS = 65_536
# Memory of the xz decompressor: xz -9 needs 65 MiB, the format allows 4 GiB.
XZ_MEMORY_BYTES = 128 * MIB
# Zeros after the end of an archive: tar(1) writes 10 KiB.
MOST_END_BYTES = 64 * MIB


def check_size(what: str, size: int, most: int, remedy: str) -> None:
    """Raise LimitError if ``size`` bytes of ``what`` are more than ``most``."""
    if size > most:
        raise LimitError(
            f"{what} has {size_text(size, digits=4)}, and at most {size_text(most)} of it are read",
            remedy,
        )


def check_formats(number: int, what: str) -> None:
    """Raise LimitError if a trace has more formats of events than are read."""
    if number > MOST_FORMATS:
        raise LimitError(
            f"{what} has {plural(number, 'format')} of events, at most {MOST_FORMATS:,} are read",
            "keep the formats of the recorded events only (foreread record does)",
        )


def check_cpus(number: int, what: str) -> None:
    """Raise LimitError if a trace has more CPUs than any kernel."""
    if number > MOST_CPUS:
        raise LimitError(
            f"{what} has {number:,} CPUs, at most {MOST_CPUS:,} are read", METADATA_REMEDY
        )
