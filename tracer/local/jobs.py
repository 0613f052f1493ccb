"""Jobs that forereads which are dead have on this machine as their target (tracer.remote.job).

The guard of such a job ends it when its lease expires. Here nobody needs to wait for that, and the
guard may have been killed as well.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from foreread.boards.base.child import completed
from foreread.boards.base.owner import is_alive

PLACES = tuple(map(Path, ("/run", "/dev/shm", "/tmp", "/var/tmp")))  # as in place.sh
_NAME = re.compile(r"foreread-[0-9a-f]{16}")
_HOST = "host"  # holds the tag of the foreread that made the job
_SCRIPT = "job.sh"
_END_S = 60.0
_REPEAT_S = 5.0  # where memory is short the kernel may kill the shell, or it cannot start a program
_PAUSE_S = 0.25


def jobs_left() -> list[Path]:
    """Return the folders of the jobs that this user's dead forereads have on this machine."""
    folders = [path for place in PLACES for path in place.glob("foreread-*")]
    return sorted(path for path in folders if _NAME.fullmatch(path.name) and _is_left(path))


def end_jobs() -> list[str]:
    """Have them restore what they changed and end; return the folders that are gone."""
    left, until = jobs_left(), time.monotonic() + _REPEAT_S
    ended = []
    while left:
        died = [folder for folder in left if not _end(folder)]
        ended += [str(folder) for folder in left if not folder.exists()]
        left = died if time.monotonic() < until else []
        time.sleep(_PAUSE_S if left else 0.0)
    return ended


def _is_left(folder: Path) -> bool:
    with suppress(OSError):
        about = folder.lstat()
        if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid():
            host = (folder / _HOST).read_text(errors="replace").strip()
            return bool(host) and not is_alive(host)  # the note of a job that begins is empty
    return False


def _end(folder: Path) -> bool:
    """Return whether it is of no use to try again: the folder is gone, or its script says why."""
    if not (folder / "settings").exists():  # it has changed nothing yet
        shutil.rmtree(folder, ignore_errors=True)
        return True
    try:
        words = ["sh", str(folder / _SCRIPT), "-", "finish"]
        done = completed(words, subprocess.DEVNULL, timeout_s=_END_S)
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
    return done.returncode in (0, 1) or not folder.exists()
