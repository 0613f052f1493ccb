"""The output directory of a capture: checked first, and removed if the capture fails."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boards.outputs import check_folder
from tracer.error import RecordError
from tracer.formats.capture import FILES, METADATA, TRACE

_MINIMAL_FREE_BYTES = 8 << 20
_PARTIAL = {TRACE, FILES, f"{FILES}.part", f"{METADATA}.part"}


@contextmanager
def output_directory(output: Path) -> Iterator[None]:
    """Make the directory of the capture; remove it again if the capture fails."""
    existed = output.is_dir()
    if existed:
        _check_contents(output)
        _clear(output)
    try:
        _make_output(output)
        _check_space(output)
        yield
    except BaseException:
        _clear(output)
        if not existed and output.is_dir():
            with suppress(OSError):  # somebody has put something else there meanwhile
                output.rmdir()
        raise


def check_capture(output: Path, option: str = "-o") -> None:
    """Raise RecordError or OutputError if a capture cannot be written to ``output``."""
    check_folder(output, option)
    if output.is_dir():
        _check_contents(output, option)


def _make_output(output: Path) -> None:
    try:
        (output / TRACE).mkdir(parents=True)
    except OSError as error:
        message = f"{output} cannot be made: {error.strerror}"
        raise RecordError(message, "give another directory") from error


def _check_contents(output: Path, option: str = "-o") -> None:
    """Refuse to touch anything but an empty directory or an interrupted capture."""
    names = {entry.name for entry in output.iterdir()}
    if METADATA in names:
        raise RecordError(
            f"{output} already contains a capture", f"give another name with {option}, or remove it"
        )
    if not names <= _PARTIAL:
        raise RecordError(f"{output} contains other files", f"give a new folder with {option}")


def _clear(output: Path) -> None:
    shutil.rmtree(output / TRACE, ignore_errors=True)
    for name in _PARTIAL - {TRACE} | {METADATA}:
        with suppress(OSError):
            (output / name).unlink()


def _check_space(output: Path) -> None:
    free = shutil.disk_usage(output).free
    if free < _MINIMAL_FREE_BYTES:
        raise RecordError(
            f"{output} has {free >> 20} MiB of free space, {_MINIMAL_FREE_BYTES >> 20} are needed",
            "free some space, or give a directory on another file system with -o",
        )


@contextmanager
def no_space_as_error(output: Path) -> Iterator[None]:
    """Turn a full disk into a RecordError that says so."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise RecordError(
            f"no space left for the capture in {output}; every setting was restored",
            "free some space, or give a directory on another file system with -o",
        ) from error
