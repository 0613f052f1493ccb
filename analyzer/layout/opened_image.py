"""The file system in the file of an image."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from foreread.analyzer.ingest.arguments import StrPath
from foreread.boards.base.bounded import open_regular
from foreread.emulator.images.appimage import file_system_at
from foreread.emulator.images.source import ImageError, Octets

_SQUASHFS, _EROFS, _EXT = b"hsqs", b"\xe2\xe1\xf5\xe0", b"\x53\xef"


def kind_of(octets: Octets) -> str:
    """Return the file system of an image; ImageError if images are not made of it."""
    if octets[:4] == _SQUASHFS:
        return "squashfs"
    if octets[1024:1028] == _EROFS:
        return "EROFS"
    if octets[1080:1082] == _EXT:
        return "ext4"
    raise ImageError("not an image of squashfs, EROFS or ext4, and not an AppImage")


@contextmanager
def opened(image: StrPath) -> Iterator[Octets]:
    """Yield the bytes of an image, mapped; of an AppImage those of its squashfs.

    Raises ImageError and OSError.
    """
    with open_regular(image) as file:
        if not file.seek(0, 2):
            raise ImageError(f"{image} is empty")
        with (
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets,
            memoryview(octets) as whole,
        ):
            try:
                with whole[file_system_at(octets) :] as part:
                    yield part
            except ImageError as error:
                raise ImageError(f"{image}: {error}", error.remedy) from error
