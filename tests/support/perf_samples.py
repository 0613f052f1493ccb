"""The golden perf.data files, and one of them as a big-endian machine would have written it."""

from __future__ import annotations

import lzma
import struct
from collections.abc import Iterator
from pathlib import Path

from foreread.analyzer.ingest import perf_header, tracing_data
from foreread.analyzer.ingest.formats import Formats

GOLDEN = Path(__file__).parent.parent / "analyzer" / "ingest" / "data" / "perf"


def golden(name: str) -> bytes:
    return lzma.decompress((GOLDEN / f"{name}.data.xz").read_bytes())


def expected(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (GOLDEN / f"{name}.tsv").read_text().splitlines()]


class Swapper:
    """Reverses numbers of a little-endian file in place, structure by structure."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)

    def swap(self, at: int, codes: str) -> int:
        """Reverse the numbers that struct ``codes`` describe; return the offset after them."""
        size = struct.calcsize("<" + codes)
        numbers = struct.unpack_from("<" + codes, self.data, at)
        struct.pack_into(">" + codes, self.data, at, *numbers)
        return at + size


def big_endian(data: bytes) -> bytes:
    """Return a little-endian file-mode perf.data in the other byte order.

    Handles what perf_header, perf_walk and perf_mappings read; the rest stays as it is.
    """
    container = perf_header.read(memoryview(data))
    numbers = struct.unpack_from("<QQQQQQ", data, 16)
    _, attrs_at, attrs_size, data_at, data_size, _ = (numbers[0], *numbers[1:])
    swapper = Swapper(data)
    swapper.data[:8] = data[:8][::-1]
    swapper.swap(8, "8Q")
    swapper.swap(72, "4Q")
    for at in range(attrs_at, attrs_at + attrs_size, numbers[0]):
        _swap_attr(swapper, data, at, numbers[0])
    metadata = tracing_data.read(container.features[perf_header.Feature.TRACING_DATA])
    _swap_records(swapper, data[: data_at + data_size], data_at, metadata.formats(None))
    _swap_features(swapper, data, data_at + data_size, list(container.features))
    return bytes(swapper.data)


def _swap_attr(swapper: Swapper, data: bytes, at: int, size: int) -> None:
    swapper.swap(at, "IIQQQQ")
    flags = slice(at + 40, at + 48)
    swapper.data[flags] = bytes(int(f"{byte:08b}"[::-1], 2) for byte in data[flags])
    ids_at, ids_size = struct.unpack_from("<QQ", data, at + size - 16)
    swapper.swap(ids_at, f"{ids_size // 8}Q")
    swapper.swap(at + size - 16, "QQ")


def records(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield offset, type and size of each record up to the end of data."""
    while at < len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield at, kind, size
        at += size


def _swap_records(swapper: Swapper, data: bytes, start: int, formats: Formats) -> None:
    by_id = {formats.event(name).id: formats.event(name) for name in formats.names}
    for at, kind, size in records(data, start):
        body = swapper.swap(at, "IHH")
        if kind == 9:  # identifier, ip, tid, time, cpu, period, raw
            (raw_size,) = struct.unpack_from("<I", data, at + 56)
            swapper.swap(body, "QQIIQIIQI")
            (event,) = struct.unpack_from("<H", data, at + 60)
            for field in by_id[event].fields.values():
                if field.size in (1, 2, 4, 8) and (not field.is_array or field.storage):
                    swapper.swap(at + 60 + field.offset, " BH I   Q"[field.size])
            assert 60 + raw_size <= size
        elif kind == 10:
            swapper.swap(body, "IIQQQIIQQII")
        elif kind == 1:
            swapper.swap(body, "IIQQQ")
        elif kind in (3, 7):
            swapper.swap(body, "II" if kind == 3 else "IIIIQ")


def _swap_features(swapper: Swapper, data: bytes, table: int, features: list[int]) -> None:
    for i, feature in enumerate(features):
        at, size = struct.unpack_from("<QQ", data, table + 16 * i)
        swapper.swap(table + 16 * i, "QQ")
        if feature == perf_header.Feature.TRACING_DATA:
            _swap_tracing_data(swapper, data, at)
        elif feature <= perf_header.Feature.ARCH and size:
            swapper.swap(at, "I")


def _swap_tracing_data(swapper: Swapper, data: bytes, at: int) -> None:
    at = data.index(b"\0", at + len(tracing_data.MAGIC)) + 1
    swapper.data[at] = 1
    at = swapper.swap(at + 2, "I")
    for name in (b"header_page\0", b"header_event\0"):
        at = _swap_text(swapper, data, at + len(name))
    at = _swap_system(swapper, data, at)
    (systems,) = struct.unpack_from("<I", data, at)
    at = swapper.swap(at, "I")
    for _ in range(systems):
        at = _swap_system(swapper, data, data.index(b"\0", at) + 1)


def _swap_system(swapper: Swapper, data: bytes, at: int) -> int:
    (count,) = struct.unpack_from("<I", data, at)
    at = swapper.swap(at, "I")
    for _ in range(count):
        at = _swap_text(swapper, data, at)
    return at


def _swap_text(swapper: Swapper, data: bytes, at: int) -> int:
    (size,) = struct.unpack_from("<Q", data, at)
    return swapper.swap(at, "Q") + size
