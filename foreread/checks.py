"""Arguments of the library as the types that it works with; wrong ones are refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from foreread.analyzer.ingest.arguments import StrPath
from foreread.error import ArgumentError
from foreread.tracer.runs.options import RunOptions

Command = RunOptions | Sequence[str]


def checked_path(path: object, what: str) -> Path:
    """Return the path called ``what``; raises ArgumentError if it is invalid."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ArgumentError(f"{what} {path!r} is not a path", f"give the path of {what} as text")
    return Path(path)


def key_of(identity: StrPath | None) -> Path | None:
    """Return the path of an ssh key, if one is given."""
    return None if identity is None else checked_path(identity, "identity")


def checked_run(run: object) -> RunOptions:
    """Return the run of a command; raises ArgumentError for anything else."""
    if isinstance(run, RunOptions):
        return run
    words = [] if isinstance(run, (str, bytes)) else run
    if isinstance(words, Sequence) and words and all(isinstance(word, str) for word in words):
        return RunOptions(list(words))
    raise ArgumentError(
        f"{run!r} is not a command",
        'give the words of a command as a list, such as ["nginx", "-t"], or RunOptions',
    )


def checked_number(number: object, what: str, least: int = 0) -> int:
    """Return a whole number of ``least`` or more; raises ArgumentError for anything else."""
    if isinstance(number, int) and not isinstance(number, bool) and number >= least:
        return number
    raise ArgumentError(f"{what} {number!r} is not a number", f"give a whole number from {least}")
