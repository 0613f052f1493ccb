"""The records file of Android's libprefetch (init/libprefetch/prefetch/src/format.rs, version 0.1).

CBOR (RFC 8949) as serde_cbor writes it: structures are maps with the names of their fields in the
order of declaration, numbers and lengths are as short as possible. The digest is the CRC-32 of the
file with a digest of 0; the program computes it again from the bytes that it has read, so every
byte counts.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.prefetch.listing import Range
from foreread.analyzer.prefetch.replayed import Row

MAGIC = bytes.fromhex("10543cb860db4945a1d5dea7d23b0549")
VERSION = (0, 1)
_MAJOR_BITS, _MINOR_MASK = 20, (1 << 20) - 1
_UNSIGNED, _TEXT, _ARRAY, _MAP = 0, 3, 4, 5  # major types


def records_file(recording: Recording, rows: Sequence[Row], ranges: Sequence[Range]) -> bytes:
    """Return the records file of ranges; ``rows`` are the same ranges by row of the files."""
    number = {row: at for at, row in enumerate(dict.fromkeys(file for file, _, _ in rows))}
    paths = {row[0]: part.path for row, part in zip(rows, ranges, strict=True)}
    devices = {row: _device(int(recording.files["dev"][row])) for row in number}
    inner = {
        "filesystems": {"map": {dev: {"block_size": 4096} for dev in sorted({*devices.values()})}},
        "inode_map": {
            "map": {
                at: {
                    "inode_number": int(recording.files["ino"][row]),
                    "file_size": _size(recording, row, rows, ranges),
                    "paths": [paths[row]],
                    "device_number": devices[row],
                }
                for row, at in number.items()
            }
        },
        "records": [
            {
                "file_id": number[row[0]],
                "offset": part.offset,
                "length": part.length,
                "timestamp": when,
            }
            for row, part, when in zip(rows, ranges, _times(recording, rows), strict=True)
        ],
    }
    digest = zlib.crc32(_file(recording, inner, 0))
    return _file(recording, inner, digest)


def _file(recording: Recording, inner: dict[str, Any], digest: int) -> bytes:
    header = {
        "magic": [*MAGIC],
        "major_number": VERSION[0],
        "minor_number": VERSION[1],
        "date": {"secs_since_epoch": _created_s(recording), "nanos_since_epoch": 0},
        "digest": digest,
    }
    return cbor({"header": header, "inner": inner})


def _created_s(recording: Recording) -> int:
    """Return the time of the capture (s since 1970): the same capture gives the same file."""
    if recording.capture.created is None:
        return 0
    try:
        created = datetime.fromisoformat(recording.capture.created)
        return max(int(created.replace(tzinfo=created.tzinfo or UTC).timestamp()), 0)
    except (ValueError, OverflowError):
        return 0


def _device(dev: int) -> int:
    """Return st_dev of a kernel's dev_t."""
    return os.makedev(dev >> _MAJOR_BITS, dev & _MINOR_MASK)


def _size(recording: Recording, row: int, rows: Sequence[Row], ranges: Sequence[Range]) -> int:
    size = int(recording.files["size_bytes"][row])
    pairs = zip(rows, ranges, strict=True)
    return size if size >= 0 else max(p.offset + p.length for r, p in pairs if r[0] == row)


def _times(recording: Recording, rows: Sequence[Row]) -> list[int]:
    """Return the time of each range's first access, in ns from the beginning of the start."""
    accesses = recording.accesses
    begin = recording.capture.start_ns or 0
    order = np.lexsort((accesses["page"], accesses["file"]))
    file, page = accesses["file"][order].astype(np.int64), accesses["page"][order].astype(np.int64)
    when = accesses["time_ns"][order].astype(np.int64)
    first_accesses = []
    for row, first, pages in rows:
        low, high = np.searchsorted(file, (row, row + 1))
        inside = slice(
            low + int(np.searchsorted(page[low:high], first)),
            low + int(np.searchsorted(page[low:high], first + pages)),
        )
        first_accesses.append(max(int(when[inside].min(initial=np.iinfo(np.int64).max)) - begin, 0))
    return first_accesses


def cbor(value: Any) -> bytes:
    """Return a number, text, list or map as CBOR. Raises TypeError for other types."""
    match value:
        case bool():
            raise TypeError("not a number")
        case int() if value >= 0:
            return _head(_UNSIGNED, value)
        case str():
            text = value.encode()
            return _head(_TEXT, len(text)) + text
        case list():
            return _head(_ARRAY, len(value)) + b"".join(cbor(element) for element in value)
        case dict():
            pairs = (cbor(key) + cbor(member) for key, member in value.items())
            return _head(_MAP, len(value)) + b"".join(pairs)
    raise TypeError(f"{type(value).__name__} in a records file")


def _head(major: int, number: int) -> bytes:
    """Return the head of a type with its number or length, as short as possible."""
    if number < 24:
        return bytes([major << 5 | number])
    for short, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([major << 5 | short]) + number.to_bytes(size, "big")
    raise TypeError(f"{number} is too large")
