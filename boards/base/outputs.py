"""Places of results, checked before the work that makes the results. A check changes nothing.

The write itself may still fail: a disk becomes full, or a file appears meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from foreread.boards.error import BoardsError


class OutputError(BoardsError, OSError):
    """A place where no result can be written; ``remedy`` says what to do."""


def check_file(path: Path, option: str = "-o") -> None:
    """Raise OutputError if ``write_whole`` cannot write ``path``, a new file or an earlier one.

    A pipe need not have a reader yet. The remedy names ``option``, here and below.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG  # the file to be, also at the end of a link
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}", _elsewhere(option)) from error
    for is_kind, kind in ((stat.S_ISDIR, "folder"), (stat.S_ISSOCK, "socket")):
        if is_kind(mode):
            raise OutputError(f"{path} is a {kind}", f"give the name of a file with {option}")
    if stat.S_ISREG(mode):
        _check_parent(Path(os.path.realpath(path)), option)
    else:
        _check_access(path, _elsewhere(option))


def check_new(path: Path, option: str = "-o", instead: str = "remove it") -> None:
    """Raise OutputError if something is at ``path``, or if no file can be created there.

    The remedy offers ``instead``, or another name.
    """
    if _is_folder(path):
        raise OutputError(f"{path} is a folder", f"give the name of a file with {option}")
    if os.path.lexists(path):  # also a dangling link, which the file would replace
        raise OutputError(
            f"{path} exists already", f"give another name with {option}, or {instead}"
        )
    _check_parent(path, option)


def check_folder(path: Path, option: str = "-o") -> None:
    """Raise OutputError if no file can be created in the folder ``path``, or the folder itself."""
    for place in (path, *path.absolute().parents):  # missing folders are created
        if _is_folder(place):
            _check_access(place, _elsewhere(option), os.X_OK)
            return
        if os.path.lexists(place):
            raise OutputError(f"{place} is not a folder", f"give another folder with {option}")


def check_changed(path: Path, opened: bool = False) -> None:
    """Raise OutputError if the file at ``path`` cannot be replaced; for a folder: its content.

    With ``opened`` the file itself is written, and other files next to it. No error if nothing is
    at ``path``: the first reader of the file has the better message.
    """
    place = Path(os.path.realpath(path)) if opened else path
    if not os.path.exists(place):  # noqa: PTH110  (as in _is_folder)
        return
    remedy = f"copy {path} to a folder that you may write to"
    if opened:
        _check_access(place, remedy)
    _check_access(place if _is_folder(place) else place.parent, remedy, os.X_OK)


def _check_parent(path: Path, option: str) -> None:
    if not _is_folder(path.parent):
        raise OutputError(f"{path.parent} is not a folder", f"create it, or {_elsewhere(option)}")
    _check_access(path.parent, _elsewhere(option), os.X_OK)


def _check_access(place: Path, remedy: str, more: int = 0) -> None:
    if not os.access(place, os.W_OK | more):
        read_only = os.statvfs(place).f_flag & os.ST_RDONLY
        why = "is on a read-only file system" if read_only else "cannot be written to"
        raise OutputError(f"{place} {why}", remedy)


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  (Path.is_dir raises below a folder without access)


def _elsewhere(option: str) -> str:
    return f"write to another place with {option}"
