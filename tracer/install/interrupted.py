"""Installations that a power cut or a lost connection ended: finished, or their remains removed.

The new manifest is the first file to be written beside its place, and the first to be moved into
it: from then on the installation counts as made, although files may still wait beside their places.
"""

from __future__ import annotations

from foreread.tracer.error import InstallError
from foreread.tracer.install.board_access import BoardAccess
from foreread.tracer.install.manifest import (
    MANIFEST,
    Manifest,
    decode,
    expected_states,
    obsolete_paths,
)


def installed(board: BoardAccess) -> Manifest | None:
    """Return what is installed on the board, or None. Raises InstallError if its manifest
    is damaged.
    """
    text = board.content(MANIFEST)
    return None if text is None else decode(text)


def finish_interrupted(board: BoardAccess, manifest: Manifest | None) -> None:
    """Finish the installation of ``manifest``, or remove what waits for one that was not made."""
    new, old = board.states([waiting(MANIFEST), _replaced(MANIFEST)]).values()
    if new != "absent":
        _remove_unmade(board)
    elif manifest is not None:
        before = None if old == "absent" else board.content(_replaced(MANIFEST))
        _finish(board, manifest, before)


def _remove_unmade(board: BoardAccess) -> None:
    text = board.content(waiting(MANIFEST))
    try:
        unmade = decode(text or b"")
    except InstallError:  # it is incomplete: no other file was written
        return
    board.call("discard", MANIFEST, *unmade.paths, *unmade.lines)
    board.call("remove", "--", *unmade.directories)


def _finish(board: BoardAccess, manifest: Manifest, before: bytes | None) -> None:
    places = [*manifest.paths, *manifest.lines]
    states = board.states([waiting(place) for place in places])
    waits = {place: state for place in places if (state := states[waiting(place)]) != "absent"}
    if before is None and not waits:
        return
    expected = expected_states(manifest)
    if any(state not in expected.get(place, [state]) for place, state in waits.items()):
        board.call("discard", MANIFEST, *places)  # of another installation
        return
    obsolete = [] if before is None else obsolete_paths(decode(before), manifest)
    board.call("finish", MANIFEST, *places, "--", *obsolete)


def waiting(place: str) -> str:
    """Return the path of a new file before it is moved into its place."""
    return _beside(place, "new")


def _replaced(place: str) -> str:
    return _beside(place, "old")


def _beside(place: str, which: str) -> str:
    folder, _, name = place.rpartition("/")
    return f"{folder}/.{name}.foreread-{which}"
