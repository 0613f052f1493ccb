"""The compressors of squashfs and EROFS: unpacking of bounded blocks, and sizes of packed blocks.

gzip and xz are in Python; zstd and lz4 need the packages zstandard and lz4, and lzo needs liblzo2,
the library of mksquashfs.
"""

from __future__ import annotations

import ctypes
import lzma
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args

from foreread.emulator.images.source import ImageError

Compressor = Literal["gzip", "lz4", "zstd", "xz", "lzo"]
COMPRESSORS: tuple[Compressor, ...] = get_args(Compressor)
_XZ_MEMORY = 64 << 20  # bytes: far above a dictionary of 1 MiB, the largest block
_ZSTD_WINDOW = 8 << 20  # bytes: the kernel's own limit is the block size
_LEVELS, _XZ_PRESET = {"gzip": 9, "zstd": 15, "lzo": 8}, 6  # defaults of mksquashfs 4.6
_LZO = "liblzo2.so.2"
_LZO_MEMORY = 14 * 16384 * 8  # bytes: above LZO1X_999_MEM_COMPRESS and LZO1X_1_MEM_COMPRESS


class MissingCompressor(ImageError, ImportError):
    """A compressor with a package that is not installed."""


def unpack(compressor: str, packed: bytes, most: int) -> bytes:
    """Return the unpacked bytes of one block, at most ``most``.

    Raises ImageError for damaged or longer data, and for a compressor that nothing here unpacks;
    MissingCompressor if its package is not installed.
    """
    function = _UNPACK.get(compressor)
    if function is None:
        raise ImageError(
            f"the image is compressed with {compressor}, which foreread cannot unpack",
            "give --root with the folder that the image is built from",
        )
    try:
        unpacked = function(packed, most)
    except MissingCompressor:
        raise
    except Exception as error:  # zstandard and lz4 have their own errors
        raise ImageError(f"damaged image: a block is not valid {compressor} data") from error
    if len(unpacked) > most:
        raise ImageError(f"damaged image: a block unpacks to more than {most:,} bytes")
    return unpacked


def packed_size(
    compressor: Compressor, block: bytes, block_size: int, level: int | None = None
) -> int:
    """Return the bytes that mksquashfs stores for a block, with the compressor's defaults.

    A block that does not shrink is stored uncompressed. ``block_size`` is the image's; ``level`` is
    a level of gzip, zstd or lzo (0: lzo1x_1, others: lzo1x_999), None for the default.
    """
    number = _LEVELS.get(compressor, 0) if level is None else level
    return min(len(_PACK[compressor](block, block_size, number)), len(block))


def remedy_of(compressor: Compressor) -> str | None:
    """Return the command that installs a compressor's missing package; None if none is missing."""
    try:
        packed_size(compressor, b"\0" * 64, 4096)
    except MissingCompressor as error:
        return error.remedy
    return None


def _library(name: str, package: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingCompressor(
            f"the Python package {package} is not installed", "pip install 'foreread[images]'"
        ) from error


def _liblzo() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(_LZO)
    except OSError as error:
        raise MissingCompressor(
            f"the library {_LZO} is not installed",
            "apt install liblzo2-2 (Debian, Ubuntu), or your distribution's package of LZO 2",
        ) from error


def _gunzip(packed: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    return _ended(stream.decompress(packed, most + 1), stream.eof, most)


def _unxz(packed: bytes, most: int) -> bytes:
    stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)
    return _ended(stream.decompress(packed, most + 1), stream.eof, most)


def _unzstd(packed: bytes, most: int) -> bytes:
    library = _library("zstandard", "zstandard")
    stream = library.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).stream_reader(packed)
    octets: bytes = stream.read(most + 1)
    return octets


def _unlz4(packed: bytes, most: int) -> bytes:
    octets: bytes = _library("lz4.block", "lz4").decompress(packed, uncompressed_size=most)
    return octets


def _unlzo(packed: bytes, most: int) -> bytes:
    unpacked, length = ctypes.create_string_buffer(most + 1), ctypes.c_size_t(most + 1)
    source = packed, ctypes.c_size_t(len(packed))
    code = _liblzo().lzo1x_decompress_safe(*source, unpacked, ctypes.byref(length), None)
    if code != 0:
        raise ValueError(f"liblzo2 returns {code}")
    return unpacked.raw[: length.value]


def _ended(octets: bytes, ended: bool, most: int) -> bytes:
    if not ended and len(octets) <= most:
        raise ValueError("cut off")
    return octets


def _gzip(block: bytes, block_size: int, level: int) -> bytes:
    return zlib.compress(block, level)


def _xz(block: bytes, block_size: int, level: int) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": _XZ_PRESET, "dict_size": block_size}]
    return lzma.compress(block, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=filters)


def _zstd(block: bytes, block_size: int, level: int) -> bytes:
    library = _library("zstandard", "zstandard")
    packed: bytes = library.ZstdCompressor(level=level).compress(block)
    return packed


def _lz4(block: bytes, block_size: int, level: int) -> bytes:
    packed: bytes = _library("lz4.block", "lz4").compress(block, store_size=False)
    return packed


def _lzo(block: bytes, block_size: int, level: int) -> bytes:
    library = _liblzo()
    room = len(block) + len(block) // 16 + 67  # the largest output of LZO (LZO.FAQ)
    packed, length = ctypes.create_string_buffer(room), ctypes.c_size_t(room)
    memory = ctypes.create_string_buffer(_LZO_MEMORY)
    words: list[Any] = [block, ctypes.c_size_t(len(block)), packed, ctypes.byref(length), memory]
    if level:
        words += [None, ctypes.c_size_t(0), None, level]
    function = library.lzo1x_999_compress_level if level else library.lzo1x_1_compress
    if (code := function(*words)) != 0:
        raise ImageError(f"liblzo2 returns {code}")
    return packed.raw[: length.value]


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "lz4": _unlz4,
    "zstd": _unzstd,
    "xz": _unxz,
    "lzo": _unlzo,
}
_PACK: dict[Compressor, Callable[[bytes, int, int], bytes]] = {
    "gzip": _gzip,
    "lz4": _lz4,
    "zstd": _zstd,
    "xz": _xz,
    "lzo": _lzo,
}
