"""Write seeds for one fuzz target into a directory: ``python fuzz/seeds.py TARGET DIRECTORY``."""

from __future__ import annotations

import lzma
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from foreread.emulator.linux.rules import CHANGES, rules_for

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "analyzer" / "ingest" / "data"
RECORDS = 24 * 1024
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def perf_walk() -> Iterator[bytes]:
    """Records of the golden perf.data files after each choice of layout."""
    packed = [*(GOLDEN / "perf").glob("*.data.xz"), *(GOLDEN / "brought").glob("simpleperf*.xz")]
    for path in sorted(packed):
        data = lzma.decompress(path.read_bytes())
        (size,) = struct.unpack_from("<Q", data, 8)
        start = 16 if size == 16 else struct.unpack_from("<Q", data, 40)[0]
        for choice in range(8):
            yield bytes([choice, choice]) + data[start : start + RECORDS]


def ring_walk() -> Iterator[bytes]:
    """Real sub-buffers, and small ones with every kind of event on four kinds of machines."""
    for path in sorted((GOLDEN / "ftrace/pages").glob("*.raw")):
        data = path.read_bytes()
        for at in range(0, len(data), 4096):
            yield bytes([4, 2, 0, 0]) + data[at : at + 4096]
    for choice in range(4):
        yield bytes([4 | choice, 1, 0, 0]) + small_pages(4 if choice & 1 else 8, choice & 2 != 0)


def ring_decode() -> Iterator[bytes]:
    """Small sub-buffers for three CPUs, and packed ones for one."""
    for choice in range(4):
        pages = small_pages(4 if choice & 1 else 8, choice & 2 != 0)
        yield bytes([choice, 0, 0, 0]) + 6 * pages
        yield bytes([choice, 0, 0, 0]) + pages[:256] + pages[:256] + pages
        order, block = ">" if choice & 2 else "<", zlib.compress(pages)
        chunk = struct.pack(order + "II", len(block), len(pages)) + block
        yield bytes([8 | choice, 0, 0, 0]) + struct.pack(order + "I", 3) + 3 * chunk


def small_pages(long_size: int, big_endian: bool) -> bytes:
    """Two sub-buffers of 256 bytes, the second after lost events."""
    order, long = ">" if big_endian else "<", "I" if long_size == 4 else "Q"

    def event(type_len: int, delta: int, body: bytes) -> bytes:
        word = type_len << 27 | delta if big_endian else delta << 5 | type_len
        return struct.pack(order + "I", word) + body

    def page(events: bytes, flags: int) -> bytes:
        head = struct.pack(order + "Q" + long, 1000, len(events) | flags)
        return (head + events + struct.pack(order + long, 5)).ljust(256, b"\0")

    def word(number: int) -> bytes:
        return struct.pack(order + "I", number)

    record = struct.pack(order + "HBBi", 1, 0, 0, 7) + bytes(32)
    events = event(30, 5, word(3)) + event(31, 5, word(3)) + event(10, 7, record)
    more = event(0, 9, word(44) + record) + event(29, 1, word(12) + bytes(8)) + event(29, 0, b"")
    return page(events + more, 0) + page(events, 3 << 30)


def inflate() -> Iterator[bytes]:
    """Chunks of a real trace.dat v7, and one block of them; the same with zlib."""
    pages = (GOLDEN / "ftrace/pages/cpu0.raw").read_bytes()[:4096]
    packed = zlib.compress(pages)
    yield bytes([1, 1, 0, 0]) + struct.pack("<III", 1, len(packed), len(pages)) + packed
    yield bytes([1, 0, 0, 16]) + packed
    for path in sorted((GOLDEN / "ftrace").glob("v7-*.trace.dat")):
        data, at = path.read_bytes(), -1
        while (at := data.find(ZSTD_MAGIC, at + 1)) >= 12:
            count, size, expanded = struct.unpack_from("<III", data, at - 12)
            if expanded % 4096 == 0 and count < 100:
                yield bytes([2, 1, 0, 0]) + data[at - 12 :]
                room = struct.pack("<H", expanded & 0xFFFF)
                yield bytes([2, 0]) + room + data[at : at + size]


def linux() -> Iterator[bytes]:
    """The rules of each kernel, and made-up files and operations after them."""
    made_up = Random(4)
    for change in CHANGES:
        rules = bytes(rules_for(change.since).numbers())
        for length in (150, 300, 1000):
            yield rules + made_up.randbytes(length)


def follow() -> Iterator[bytes]:
    """Made-up files and moments."""
    made_up = Random(5)
    for length in (100, 1000, 10_000):
        yield made_up.randbytes(length)


def prefetch() -> Iterator[bytes]:
    """Lists with all that a list can hold, and what it must not."""
    head = b"foreread-prefetch 1\nkernel 6.1.0\norder access\n"
    yield head + b"0 4096 /usr/lib/a\n8192 2097152\n4096 1 /tmp/\\0040\\0377\\0012\n"
    yield head + b"0 4096\n"
    yield head + b"0 4096 /a\\0000b\n999999999999999999 1 relative\n"
    yield head + b"0 2097153 /a\n0 1 /" + 4095 * b"a" + b"\nkernel x\n1 1 /b"


def main() -> None:
    """Write the seeds of the target named."""
    target, directory = sys.argv[1], Path(sys.argv[2])
    targets = (perf_walk, ring_walk, ring_decode, inflate, linux, follow, prefetch)
    seeds = {function.__name__: function for function in targets}.get(target)
    for i, seed in enumerate(seeds() if seeds else ()):
        (directory / f"seed-{i}").write_bytes(seed)


if __name__ == "__main__":
    main()
