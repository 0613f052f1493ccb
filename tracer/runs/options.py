"""What to run, what ends the run, and how it ended: on this machine and on targets."""

from __future__ import annotations

import os
import re
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from foreread.boards.base.brief import brief
from foreread.tracer.error import RecordError

EndedBy = Literal["exit", "signal", "duration", "idle", "output", "boot-done"]


@dataclass(frozen=True)
class Streams:
    """Descriptors that become the command's stdout and stderr; its stdin is foreread's."""

    stdout: int = 1
    stderr: int = 2


@dataclass(frozen=True)
class Ended:
    """How the command's first process ended; exactly one of both is set."""

    exit_status: int | None
    signal: int | None


@dataclass(frozen=True)
class Ending:
    """Which conditions end a run, besides the command's exit and Ctrl-C; the first one wins.

    ``idle_ms``: nothing was read from any block device for this time (see :class:`_Idleness`).
    ``output``: a regular expression searched in the bytes of stdout and of stderr.
    """

    duration_s: float | None = None
    idle_ms: float | None = None
    output: str | None = None

    def check(self) -> None:
        """Raise RecordError for a condition that can never be met."""
        for name, number in (("duration", self.duration_s), ("idle time", self.idle_ms)):
            if number is not None and not number > 0:
                raise RecordError(f"the {name} must be positive, not {number}", "give a larger one")
        if self.output is not None:
            compiled(self.output)


def compiled(text: str) -> re.Pattern[bytes]:
    """Return the regular expression; raises RecordError if it is invalid."""
    try:
        return re.compile(os.fsencode(text))
    except re.error as error:
        raise RecordError(
            f"{text!r} is not a regular expression: {error}",
            "correct the expression: see `pydoc re`",
        ) from error


@dataclass(frozen=True, repr=False)
class RunOptions:
    """What to run, and what ends the run.

    ``command`` is found through PATH and runs in ``cwd`` as ``user`` (foreread's own by
    default). Processes that remain at the end of the run are ended, by SIGTERM and after
    ``grace_s`` by SIGKILL, unless ``keep_running``. A run without a proof of cold caches is
    refused unless ``allow_warm``.
    """

    __repr__ = brief

    command: list[str]
    ending: Ending = field(default_factory=Ending)
    cwd: str | os.PathLike[str] | None = None
    user: str | None = None
    streams: Streams = field(default_factory=Streams)
    keep_running: bool = False
    allow_warm: bool = False
    grace_s: float = 5.0

    def executable(self) -> Path:
        """Return the file that will be executed; RecordError if there is none."""
        if not self.command:
            raise RecordError("no command was given", "add -- COMMAND [ARGUMENT ...]")
        self.ending.check()
        return find_executable(self.command[0], self.directory())

    def directory(self) -> Path:
        """Return the absolute working directory of the command."""
        return Path(self.cwd or ".").absolute()


def exit_notes(ended: Ended | None) -> list[str]:
    """Return a note if the command failed."""
    if ended is None or ended.exit_status == 0:
        return []
    if ended.signal is not None:
        return [f"the command was ended by signal {ended.signal} ({_name_of(ended.signal)})"]
    return [f"the command failed with exit status {ended.exit_status}"]


def living_notes(by: EndedBy, living: int, options: RunOptions) -> list[str]:
    """Return a note if so many processes of the command outlived the first one."""
    if by != "exit" or not living:
        return []
    fate = "they were left running" if options.keep_running else "they were terminated"
    return [
        f"the command's first process exited while {living} of its processes still ran "
        f"({fate}): to record until a daemon is up, end by idleness, output or duration"
    ]


def _name_of(number: int) -> str:
    return signal.strsignal(number) or str(number)


def find_executable(name: str, cwd: Path) -> Path:
    """Return the file that exec would run, as PATH says; RecordError if there is none."""
    path = shutil.which(name if "/" not in name else str(cwd / name))
    if path is not None and Path(path).is_file():  # a socket has the permission, too
        return Path(path).absolute()
    place = cwd / name
    if "/" not in name or not place.exists():
        raise RecordError(
            f"the command {name!r} does not exist", "check its spelling, or give its path"
        )
    if not place.is_file():
        raise RecordError(f"the command {name!r} is not a file", "give the path of a program")
    raise RecordError(f"the command {name!r} cannot be executed", "make it executable: chmod +x")
