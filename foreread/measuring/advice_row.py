"""A row of advice as cold runs can have it, read from the document that ``advise`` has written."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from foreread.analyzer.advise.advise import DOCUMENT
from foreread.analyzer.advise.document import AdviceDocument, AdviceRow, LaterWindow, RowTrial
from foreread.analyzer.advise.shim_list import SHIM, SHIM_SOURCE, list_of
from foreread.analyzer.apply.write import REPLAYER_SCRIPT, shipped
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.prefetch.listing import decode, read_listing
from foreread.boards.base.bounded import UnboundedError, read_bounded
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.document import read_document
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import Metadata
from foreread.tracer.trials.beside import Preload, Replayer

_REMEDY = "write the advice again: foreread advise CAPTURE -o DIR"
_MOST_BYTES = 64 << 20  # of a replayer
MOST_CHANGE = 400  # characters of a change, in words


@dataclass(frozen=True, repr=False)
class Advised:
    """What the proposed runs have. ``gain`` is predicted: the share of the present time saved.

    ``change`` says in words what else is changed than the window, "" if nothing is; ``present_kb``
    is the window that the advice takes for the present one. ``settings`` are other knobs and their
    values.
    """

    __repr__ = brief

    path: Path
    about: tuple[list[str], str | None]
    change: str
    present_kb: int
    read_ahead_kb: int | None
    later: tuple[LaterWindow, ...]
    replayer: Replayer | None
    gain: float
    settings: tuple[tuple[str, str], ...] = ()
    preload: Preload | None = None

    def check(self, capture: Metadata) -> None:
        """Raise RecordError if the advice is not about this capture."""
        if self.about != (capture.command, capture.created):
            raise RecordError(f"{self.path} is advice about another capture", _REMEDY)


def row_of_advice(
    path: StrPath, number: int, replayer: StrPath | None = None, shim: StrPath | None = None
) -> Advised:
    """Return row ``number`` (from 1) of an advice document; its lists are in the same folder.

    ``path`` is the document, or the folder that has it. ``replayer`` is the program or the shell
    script that replays them; None: the script. ``shim`` is foreread-advice.c, built for the board,
    which a row of advice for single files needs. Raises RecordError, and PrefetchError for a
    damaged list.
    """
    program = shipped(REPLAYER_SCRIPT) if replayer is None else _program(Path(replayer))
    library = None if shim is None else _library(Path(shim))
    path = Path(path)
    path = path / DOCUMENT if path.is_dir() else path
    document = read_document(path, AdviceDocument, RecordError, _REMEDY)
    row = _row(document, number, path)
    trial = row.trial
    if trial is None:
        measure = row.measure or "foreread sweep -o SWEEP -- COMMAND"
        raise RecordError(
            f"row {number} needs another build ({row.effort}), which confirm cannot make: "
            f"{row.what[:MOST_CHANGE]}",
            f"make it, and measure both builds: {measure}",
        )
    listing = None if trial.listing is None else path.parent / trial.listing
    return Advised(
        path,
        (document.command, document.recorded),
        change=row.what[:MOST_CHANGE]
        if listing or trial.later or trial.settings or trial.advice
        else "",
        present_kb=document.read_ahead_kb,
        read_ahead_kb=trial.read_ahead_kb,
        later=tuple(trial.later),
        settings=tuple((setting.knob, setting.value) for setting in trial.settings),
        replayer=None if listing is None else Replayer(program, _listing(listing)),
        preload=_preload(trial, number, path, library) if trial.advice else None,
        gain=row.saved / document.seconds if document.seconds > 0 else 0.0,
    )


def _row(document: AdviceDocument, number: int, path: Path) -> AdviceRow:
    if not 1 <= number <= len(document.rows):
        raise RecordError(
            f"{path} has no row {number}: it has {plural(len(document.rows), 'row')}",
            "choose another --row N" if document.rows else _REMEDY,
        )
    return document.rows[number - 1]


def _listing(path: Path) -> bytes:
    """Return a list, which is checked as the replayer does it."""
    if not path.exists():
        raise RecordError(f"{path}, the list of this row, does not exist", _REMEDY)
    content = read_listing(path)
    decode(content)
    return content


def _preload(trial: RowTrial, number: int, path: Path, library: bytes | None) -> Preload:
    """Return the shim with the list of a row."""
    if library is None:
        raise RecordError(
            f"row {number} needs a library that the command preloads",
            f"build it with the board's compiler, and add --shim {SHIM}: "
            f"{_build(path.parent / SHIM_SOURCE)}",
        )
    try:
        return Preload(library, list_of(trial.advice))
    except ValueError as error:
        raise RecordError(f"{path}: {error}", _REMEDY) from error


def _library(shim: Path) -> bytes:
    """Return the shim, which is built for the board."""
    try:
        library = read_bounded(shim, _MOST_BYTES, "give a smaller library")
    except UnboundedError as error:
        raise RecordError(f"{shim}: {error}", error.remedy) from error
    if not library.startswith(b"\x7fELF"):
        build = _build(Path(SHIM_SOURCE))
        raise RecordError(f"{shim} is not a shared library", f"build it for the board: {build}")
    return library


def _build(source: Path) -> str:
    return f"cc -std=c11 -O2 -shared -fPIC -o {SHIM} {shlex.quote(str(source))}"


def _program(path: Path) -> bytes:
    try:
        content = read_bounded(path, _MOST_BYTES, "give a smaller program")
    except UnboundedError as error:
        raise RecordError(f"{path}: {error}", error.remedy) from error
    if not content.startswith((b"\x7fELF", b"#!")):
        raise RecordError(
            f"{path} is neither a program nor a shell script",
            "build foreread-prefetch.c for the target: cc -static",
        )
    return content
