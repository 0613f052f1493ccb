"""Packs a capture as a tar archive: the name decides how, and what is packed can be read back.

``archive.py`` reads these archives. tarfile writes them: the xz program may be missing.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Literal

from foreread.tracer.formats.capture import CaptureError

Mode = Literal["x:", "x:gz", "x:bz2", "x:xz"]
_MODES: dict[str, Mode] = {
    ".tar": "x:",
    ".tar.gz": "x:gz",
    ".tgz": "x:gz",
    ".tar.bz2": "x:bz2",
    ".tbz2": "x:bz2",
    ".tar.xz": "x:xz",
    ".txz": "x:xz",
}
SUFFIXES = tuple(_MODES)  # of archives that foreread writes and reads
# Names of archives and of compressed files that foreread does not write.
_OTHERS = (
    *(".7z", ".bz2", ".cpio", ".gz", ".lz", ".lz4", ".lzma", ".lzo", ".rar", ".squashfs"),
    *(".tzst", ".xz", ".z", ".zip", ".zst"),
)


def packing_of(output: Path, option: str = "-o") -> tuple[Mode, str] | None:
    """Return how tarfile packs an archive of this name, and the name without the suffix.

    None for the name of a folder. Raises CaptureError for the name of another archive.
    """
    name = output.name.lower()
    for suffix, mode in _MODES.items():
        if name.endswith(suffix):
            return mode, output.name[: -len(suffix)] or "capture"
    other = next((suffix for suffix in _OTHERS if name.endswith(suffix)), None)
    if other is None:
        return None
    stem = output.name[: -len(other)].removesuffix(".tar") or "capture"
    raise CaptureError(
        f"foreread writes no {other} file: {output}",
        f"with {option} name a .tar, .tar.gz, .tar.bz2 or .tar.xz archive, such as {stem}.tar.xz, "
        f"or a folder, such as {stem}",
    )


def pack(folder: Path, archive: Path, mode: Mode) -> None:
    """Write the new file ``archive`` with the capture in ``folder``; its owners are left out."""
    with tarfile.open(archive, mode, format=tarfile.PAX_FORMAT) as file:
        file.add(folder, folder.name, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
