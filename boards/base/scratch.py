"""Temporary folders that say whose they are, so that those of a killed foreread can be removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from boards.base.guard import guarded, recovers
from boards.base.owner import PREFIX, is_left, owner_tag

# Where foreread makes any: ssh's sockets in /tmp, recordings and loads in memory.
_ALWAYS = ("/tmp", "/dev/shm", "/run")


def prefix(what: str = "") -> str:
    """Return how the name of a temporary file of this process begins."""
    return f"{PREFIX}{what and f'{what}-'}{owner_tag()}-"


@contextmanager
def scratch_folder(what: str = "", parent: str | Path | None = None) -> Iterator[str]:
    """Yield a new folder, in the system's place for temporary files or in ``parent``.

    Its name begins as no other's: if a signal ends foreread just after the folder was made, before
    anything could note its name, it is found and removed all the same.
    """
    place, own = Path(parent or tempfile.gettempdir()), f"{prefix(what)}{token_hex(4)}_"
    with guarded():
        try:
            with tempfile.TemporaryDirectory(prefix=own, dir=place) as folder:
                yield folder
        finally:
            for left in place.glob(f"{own}*"):
                _remove(left)


def leftovers(*others: Path) -> list[Path]:
    """Return this user's temporary files and folders whose foreread is dead.

    They are looked for in the places for temporary files, or in ``others`` alone.
    """
    places = others or dict.fromkeys([*_ALWAYS, tempfile.gettempdir()])
    found = [path for place in places for path in Path(place).glob(f"{PREFIX}*-*")]
    return sorted(path for path in found if is_left(path.name) and _is_own(path))


def remove_leftovers(*others: Path) -> list[str]:
    """Remove what :func:`leftovers` finds, and return it."""
    return [str(path) for path in leftovers(*others) if _remove(path)]


def _is_own(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _remove(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)  # of a mount below, the files stay
    else:
        path.unlink(missing_ok=True)
    return not path.exists()


recovers(remove_leftovers)
