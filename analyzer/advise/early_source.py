"""C source with which an application asks for the parts of a file just before it uses the file.

MADV_WILLNEED of a mapping and POSIX_FADV_WILLNEED of a file are one function of the kernel
(madvise_willneed in mm/madvise.c calls vfs_fadvise); MADV_POPULATE_READ needs a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from foreread.analyzer.advise.early import Call

_LONGEST_NAME = 60
_SOURCE = """\
/* Reads the parts of a file that the start needs. Call {function}() just before the first use:
 * {shown}
 * The ranges hold for the recorded build of this file: after an update, record and advise again. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static const char path[] = "{path}";
static const struct {{ off_t at, length; }} ranges[] = {{
{ranges}
}};

void {function}(void);

void {function}(void)
{{
\tint fd = open(path, O_RDONLY | O_CLOEXEC);

\tif (fd < 0)
\t\treturn;
\tfor (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {{
{body}
\t}}
\tclose(fd);
}}
"""
_WILLNEED = """\
\t\t/* The disk's largest request: the kernel cuts a longer call. */
\t\tconst off_t most = {most};

\t\tfor (off_t done = 0; done < ranges[i].length; done += most) {{
\t\t\toff_t left = ranges[i].length - done;

\t\t\t(void)posix_fadvise(fd, ranges[i].at + done, left < most ? left : most,
\t\t\t\t\t    POSIX_FADV_WILLNEED);
\t\t}}"""
_POPULATE = """\
\t\tconst size_t length = (size_t)ranges[i].length;
\t\tvoid *at = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, ranges[i].at);

\t\tif (at == MAP_FAILED)
\t\t\tcontinue;
\t\t(void)madvise(at, length, 22); /* MADV_POPULATE_READ, Linux 5.14 */
\t\tmunmap(at, length);"""


def names_of(path: str) -> tuple[str, str]:
    """Return the names of the source file and of its function for a file of the board."""
    word = re.sub(r"[^A-Za-z0-9]+", "_", path)[-_LONGEST_NAME:].strip("_")
    return f"early-{word}.c", f"foreread_early_{word}"


def source_of(path: str, ranges: Iterable[tuple[int, int]], call: Call, most: int) -> bytes:
    """Return the source for ``ranges`` (offset and length in bytes) of a file.

    ``most``: bytes of the disk's largest request.
    """
    body = _POPULATE if call == "POPULATE" else _WILLNEED.format(most=most)
    listed = "\n".join(f"\t{{ {at}, {length} }}," for at, length in ranges)
    text = _SOURCE.format(
        function=names_of(path)[1],
        shown=re.sub(r"[^A-Za-z0-9 ._+/-]", "?", path),
        path=_string(path),
        ranges=listed,
        body=body,
    )
    return text.encode()


def _string(path: str) -> str:
    """Return a path as the text of a C string."""
    plain = re.compile(rb"[A-Za-z0-9 ._+/-]")
    octets = path.encode(errors="surrogateescape")
    return "".join(
        chr(octet) if plain.match(bytes([octet])) else f"\\{octet:03o}" for octet in octets
    )
