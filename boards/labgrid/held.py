"""The places that forereads hold: noted before the acquisition, so that a crash releases them.

A note is a file, named for the process that holds the place, in the user's state folder, which
survives a restart of this machine: the coordinator keeps the place acquired, too.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from foreread.boards.base.guard import recovers
from foreread.boards.base.owner import is_left
from foreread.boards.base.scratch import prefix
from foreread.boards.labgrid.client import VARIABLES, LabgridClient, PlaceHeld, lab_variables
from foreread.boards.target import TargetError

_LONGEST_BYTES = 1 << 16
# An acquire that a dead foreread had begun ends within this time, or is ended afterwards.
_SETTLE_S = 1.0
_TRIES = 3


def folder() -> Path:
    """Return the folder of the notes by the XDG base directory rules."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "foreread" / "places"


def note(place: str) -> Path:
    """Write a note that this process is about to acquire a place; return its path."""
    notes = folder()
    notes.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = notes / f"{prefix('place')}{token_hex(4)}"
    with path.open("x") as file:
        json.dump({"place": place, "environment": lab_variables()}, file)
        file.flush()
        os.fsync(file.fileno())
    return path


def is_held(place: str, own: Path) -> bool:
    """Return whether another living foreread has a note of this place."""
    other_notes = (
        note_path for note_path in _notes() if note_path != own and not is_left(note_path.name)
    )
    return any(_read(note_path).get("place") == place for note_path in other_notes)


def release_leftovers() -> list[tuple[str, str]]:
    """Release the places of dead forereads; return each with the reason of a failure, or ""."""
    return [
        done for note_path in _notes() if is_left(note_path.name) and (done := _release(note_path))
    ]


def _release(note_path: Path) -> tuple[str, str] | None:
    """Release the place of a note; return the place and an error, None if it was not held."""
    content = _read(note_path)
    place, environment = content.get("place"), content.get("environment")
    if not isinstance(place, str) or not isinstance(environment, dict) or is_held(place, note_path):
        note_path.unlink(missing_ok=True)  # incomplete, or another foreread has the place now
        return None
    variables = {name: str(value) for name, value in environment.items() if name in VARIABLES}
    try:
        released = _released(LabgridClient(place, variables))
    except PlaceHeld:  # another user has it now
        released = False
    except TargetError as error:
        return place, f"{error}; {error.remedy}"
    note_path.unlink(missing_ok=True)
    return (place, "") if released else None


def _released(client: LabgridClient) -> bool:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_SETTLE_S)
        if client.release():
            return True
    return False


def _notes() -> list[Path]:
    return sorted(folder().glob("foreread-place-*"))


def _read(note: Path) -> dict[str, Any]:
    """Return the content of a note; empty if a crash cut it short."""
    with suppress(OSError, ValueError):
        with note.open("rb") as file:
            content = json.loads(file.read(_LONGEST_BYTES))
        if isinstance(content, dict):
            return content
    return {}


recovers(release_leftovers)
