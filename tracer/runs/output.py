"""The output of a recording, a folder or an archive, is checked first, and removed on failure."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foreread.boards.base.outputs import check_folder, check_new
from foreread.boards.base.scratch import remove_leftovers, scratch_folder
from foreread.boards.base.units import MIB
from foreread.tracer.error import RecordError
from foreread.tracer.formats.capture import FILES, METADATA, TRACE
from foreread.tracer.formats.packing import Mode, pack, packing_of

_MINIMAL_FREE_BYTES = 8 << 20
_PARTIAL = {TRACE, FILES, f"{FILES}.part", f"{METADATA}.part"}


@contextmanager
def recording_folder(output: Path) -> Iterator[Path]:
    """Yield the folder to record into: ``output``, or one that becomes the archive ``output``.

    The name decides (``packing_of``). An archive appears whole, when the block has ended. If it
    cannot be written, the capture stays as a folder in the same place, and RecordError names it.
    """
    check_capture(output)
    packing = packing_of(output)
    if packing is None:
        yield output
        return
    mode, name = packing
    output.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(output.parent)
    with scratch_folder("capture", output.parent) as scratch:
        folder = Path(scratch) / name
        yield folder
        _pack(folder, output, mode)


def _pack(folder: Path, output: Path, mode: Mode) -> None:
    """Put the archive in its place, or the folder itself where that fails."""
    archive = folder.parent / f"{folder.name}.packed"
    try:
        pack(folder, archive, mode)
        archive.replace(output)
    except (OSError, MemoryError, KeyboardInterrupt) as error:
        archive.unlink(missing_ok=True)
        kept = output.with_name(folder.name)
        if kept.exists():
            kept = output.with_name(f"{folder.name}.unpacked")
        folder.rename(kept)
        why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        raise RecordError(
            f"{output} was not written ({why}); the capture is in the folder {kept}",
            f"use the folder, or pack it: tar -caf {output.name} {kept.name}",
        ) from error


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
    """Raise RecordError, CaptureError or OutputError if no capture can be written to ``output``."""
    if packing_of(output, option) is not None:
        check_folder(output.parent, option)
        if output.parent.exists():
            check_new(output, option)
        return
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
            f"{output} has {free // MIB} MiB of free space, "
            f"{_MINIMAL_FREE_BYTES // MIB} are needed",
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
