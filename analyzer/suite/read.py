"""Reads a suite: names, weights and paths are checked, captures are not opened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from analyzer.error import AnalyzerError
from analyzer.ingest.arguments import StrPath
from analyzer.suite.document import LOCAL, SuiteBoard, SuiteFile, SuiteStart
from boards.base.bounded import UnboundedError
from boards.base.brief import brief
from boards.base.counted import first_of
from boards.base.document import DocumentError
from boards.base.toml_document import decode_toml, read_toml
from tracer.formats.capture import FILES, METADATA, TRACE

SUFFIX = ".toml"
_CAPTURES = "captures"
_REMEDY = "correct the suite; its format is in docs/reference/files.md, section Suite"
_AT = re.compile(r" - at `\$(?:\.(?P<table>board|start)\[(?P<row>\d+)\])?\.?(?P<key>[\w-]+)?")
_UNKNOWN = re.compile(r"unknown field `(?P<key>[^`]+)`")


class SuiteError(AnalyzerError, ValueError):
    """A suite that cannot be used; ``remedy`` says what to do."""


@dataclass(frozen=True, repr=False)
class Case:
    """One start on one board, with the paths of its captures, which may be missing."""

    __repr__ = brief

    start: SuiteStart
    captures: tuple[Path, ...]

    @property
    def missing(self) -> tuple[Path, ...]:
        """The captures that are not there, or were interrupted while they were recorded."""
        return tuple(path for path in self.captures if not _is_complete(path))


@dataclass(frozen=True, repr=False)
class BoardCases:
    """A board, and its starts in the order of the suite."""

    __repr__ = brief

    board: SuiteBoard
    cases: tuple[Case, ...]
    device_model: str | None = None  # a path, or the name of a profile
    identity: Path | None = None


@dataclass(frozen=True, repr=False)
class Suite:
    """A suite that was read; paths are joined with its folder."""

    __repr__ = brief

    path: Path
    name: str
    boards: tuple[BoardCases, ...]

    def check_captures(self) -> None:
        """Raise SuiteError, naming all, unless each capture is there."""
        missing = [path for board in self.boards for case in board.cases for path in case.missing]
        if missing:
            raise SuiteError(
                f"{self.path}: not recorded: {first_of([*map(str, missing)], 5)}",
                f"record what is missing: foreread record --suite {self.path}",
            )


def is_suite(path: Path) -> bool:
    """Return whether a path names a suite: a TOML file."""
    return path.suffix == SUFFIX and not path.is_dir()


def read_suite(path: StrPath) -> Suite:
    """Return the suite in a TOML file; captures are not read yet.

    Raises SuiteError, which names the line.
    """
    path = Path(path)
    try:
        data = read_toml(path, _REMEDY)
    except UnboundedError as error:
        raise SuiteError(str(error), _REMEDY) from error
    except OSError as error:
        raise SuiteError(f"{path}: {error.strerror}", "give the path of a suite") from error
    return decode_suite(data, path)


def decode_suite(data: bytes, path: Path) -> Suite:
    """Return the suite in a TOML text, whose file is ``path``; raises SuiteError."""
    try:
        found = decode_toml(data, SuiteFile)
    except DocumentError as error:
        raise _refused(data, path, str(error)) from error
    boards = found.board or [SuiteBoard(name=LOCAL)]
    _check_names(data, path, "board", [one.name for one in boards])
    _check_names(data, path, "start", [one.name for one in found.start])
    for row, start in enumerate(found.start):
        for why, key in _wrong(start, [one.name for one in boards]):
            raise _error(data, path, why, "start", row, key)
    cases = tuple(_cases_of(board, found, path.parent) for board in boards)
    _check_paths(path, cases)
    return Suite(path, found.name, cases)


def _is_complete(path: Path) -> bool:
    """Return whether something is recorded there; a folder needs its metadata or a bare trace."""
    if not path.is_dir():
        return path.exists()
    names = {entry.name for entry in path.iterdir()}
    return METADATA in names or not names <= {TRACE, FILES, f"{FILES}.part", f"{METADATA}.part"}


def _cases_of(board: SuiteBoard, suite: SuiteFile, folder: Path) -> BoardCases:
    starts = [one for one in suite.start if one.boards is UNSET or board.name in one.boards]
    model = None if board.device_model is UNSET else board.device_model
    if model is not None and (folder / model).exists():
        model = str(folder / model)
    key = None if board.identity is UNSET else folder / board.identity
    cases = (Case(one, tuple(_captures(one, board, suite.repeat, folder))) for one in starts)
    return BoardCases(board, tuple(cases), model, key)


def _captures(start: SuiteStart, board: SuiteBoard, repeat: int, folder: Path) -> Iterator[Path]:
    named = start.captures
    listed = named.get(board.name) if isinstance(named, dict) else named
    if listed is None or listed is UNSET:
        for number in range(1, repeat + 1):
            yield folder / _CAPTURES / board.name / f"{start.name}-{number}"
        return
    for path in listed:
        yield folder / path


def _wrong(start: SuiteStart, boards: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a start, and the key at fault."""
    asked = boards if start.boards is UNSET else start.boards
    strangers = [name for name in asked if name not in boards]
    if strangers or not asked:
        yield f"start {start.name!r} names no board of the suite ({', '.join(boards)})", "boards"
    if isinstance(start.captures, dict):
        strangers = [name for name in start.captures if name not in boards]
        if strangers:
            yield f"start {start.name!r} has captures of {strangers[0]!r}, no board", "captures"
    elif start.captures is not UNSET and len(asked) > 1:
        yield (
            f"start {start.name!r} is of {len(asked)} boards: give the captures of each, as in "
            f"captures.{asked[0]} = [...]",
            "captures",
        )
    if start.until_output is not UNSET:
        try:
            re.compile(start.until_output)
        except re.error as error:
            yield f"until_output of start {start.name!r}: {error}", "until_output"


def _check_names(data: bytes, path: Path, table: str, names: list[str]) -> None:
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        row = [at for at, one in enumerate(names) if one == name][1]
        why = f"{times} {table}s are called {name!r}: each needs a name of its own"
        raise _error(data, path, why, table, row, "name")


def _check_paths(path: Path, boards: tuple[BoardCases, ...]) -> None:
    """Raise SuiteError for a capture that is named twice."""
    paths = [one for board in boards for case in board.cases for one in case.captures]
    capture, times = Counter(paths).most_common(1)[0] if paths else (path, 0)
    if times > 1:
        raise SuiteError(f"{path}: {capture} is the capture of {times} starts", _REMEDY)


def _refused(data: bytes, path: Path, why: str) -> SuiteError:
    """Return the error of a text that is not a suite, with its line."""
    at = _AT.search(why)
    if at is None:
        return SuiteError(f"{path}: {why}", _REMEDY)
    unknown = _UNKNOWN.search(why)
    key = unknown["key"] if unknown else at["key"]
    return _error(data, path, why, at["table"], int(at["row"] or 0), key)


def _error(
    data: bytes, path: Path, why: str, table: str | None, row: int, key: str | None
) -> SuiteError:
    line = line_of(data.decode(errors="replace"), table, row, key)
    return SuiteError(f"{path}{'' if line is None else f', line {line}'}: {why}", _REMEDY)


def line_of(text: str, table: str | None, row: int, key: str | None) -> int | None:
    """Return the line of a key, or of the table that it is in; None if there is none.

    ``table`` and ``row`` are of an array of tables, None of the text's first keys.
    """
    heads = re.compile(rf"\s*\[\[\s*{table}\s*\]\]")
    seen, head = -1, None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[", line):
            if seen == row or table is None:
                break
            if heads.match(line):
                seen, head = seen + 1, number
        inside = table is None or seen == row
        if inside and key and re.match(rf"\s*\[?[\w.]*\b{re.escape(key)}\b", line):
            return number
    return head if seen == row else None
