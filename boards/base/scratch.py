"""Temporary folders named for their owner, so that a dead foreread's can be removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from foreread.boards.base.guard import guarded, recovers
from foreread.boards.base.owner import PREFIX, is_left, owner_tag

# Places that foreread always uses: ssh's sockets in /tmp, recordings and loads in memory.
_ALWAYS = ("/tmp", "/dev/shm", "/run")


def prefix(what: str = "") -> str:
    """Return the beginning of the name of a temporary file of this process."""
    return f"{PREFIX}{what and f'{what}-'}{owner_tag()}-"


@contextmanager
def scratch_folder(what: str = "", parent: str | Path | None = None) -> Iterator[str]:
    """Yield a new folder, in the system's place for temporary files or in ``parent``.

    The name has a unique beginning: if a signal ends foreread just after the folder was created,
    before its name was stored, the folder is still identified and removed.
    """
    place, own = Path(parent or tempfile.gettempdir()), f"{prefix(what)}{token_hex(4)}_"
    with guarded():
        try:
            with tempfile.TemporaryDirectory(prefix=own, dir=place) as folder:
                yield folder
        finally:
            for path in place.glob(f"{own}*"):
                _remove(path)


def leftovers(*folders: Path) -> list[Path]:
    """Return this user's temporary files and folders with a dead owner.

    The function searches the places for temporary files, or only ``folders`` if there are any.
    """
    places = folders or dict.fromkeys([*_ALWAYS, tempfile.gettempdir()])
    paths = [path for place in places for path in Path(place).glob(f"{PREFIX}*-*")]
    return sorted(path for path in paths if is_left(path.name) and _is_own(path))


def remove_leftovers(*folders: Path) -> list[str]:
    """Remove the files and folders that :func:`leftovers` returns, and return their paths."""
    return [str(path) for path in leftovers(*folders) if _remove(path)]


def _is_own(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _remove(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)  # files of a mount below stay
    else:
        path.unlink(missing_ok=True)
    return not path.exists()


recovers(remove_leftovers)
