"""Reads a suite: checks names, weights and paths, and opens no capture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.suite.document import LOCAL, SuiteBoard, SuiteFile, SuiteStart
from foreread.boards.base.bounded import UnboundedError
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import first_of, plural
from foreread.boards.base.document import DocumentError
from foreread.boards.base.toml_document import decode_toml, read_toml
from foreread.tracer.formats.capture import FILES, METADATA, TRACE

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
        """The captures that are absent, or that an interrupted recording left incomplete."""
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
        """Raise SuiteError with the names of all captures that are missing."""
        missing = [path for board in self.boards for case in board.cases for path in case.missing]
        if missing:
            raise SuiteError(
                f"{self.path}: not recorded: {first_of([*map(str, missing)], 5)}",
                f"record what is missing: foreread record --suite {self.path}",
            )


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
        suite = decode_toml(data, SuiteFile)
    except DocumentError as error:
        raise _refused(data, path, str(error)) from error
    boards = suite.board or [SuiteBoard(name=LOCAL)]
    _check_names(data, path, "board", [board.name for board in boards])
    _check_names(data, path, "start", [start.name for start in suite.start])
    for row, start in enumerate(suite.start):
        for why, key in _wrong(start, [board.name for board in boards]):
            raise _error(data, path, why, "start", row, key)
    cases = tuple(_cases_of(board, suite, path.parent) for board in boards)
    _check_paths(path, cases)
    return Suite(path, suite.name, cases)


def _is_complete(path: Path) -> bool:
    """Return whether a path holds a recording; a folder needs its metadata or a bare trace."""
    if not path.is_dir():
        return path.exists()
    names = {entry.name for entry in path.iterdir()}
    return METADATA in names or not names <= {TRACE, FILES, f"{FILES}.part", f"{METADATA}.part"}


def _cases_of(board: SuiteBoard, suite: SuiteFile, folder: Path) -> BoardCases:
    starts = [start for start in suite.start if start.boards is UNSET or board.name in start.boards]
    model = None if board.device_model is UNSET else board.device_model
    if model is not None and (folder / model).exists():
        model = str(folder / model)
    key = None if board.identity is UNSET else folder / board.identity
    cases = (Case(start, tuple(_captures(start, board, suite.repeat, folder))) for start in starts)
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
    """Yield each error of a start, and the key at fault."""
    board_names = boards if start.boards is UNSET else start.boards
    strangers = [name for name in board_names if name not in boards]
    if strangers or not board_names:
        yield f"start {start.name!r} names no board of the suite ({', '.join(boards)})", "boards"
    if isinstance(start.captures, dict):
        strangers = [name for name in start.captures if name not in boards]
        if strangers:
            yield (
                f"start {start.name!r} has captures of {strangers[0]!r}, not a board of the suite",
                "captures",
            )
    elif start.captures is not UNSET and len(board_names) > 1:
        yield (
            f"start {start.name!r} has {plural(len(board_names), 'board')}: give the captures "
            f"of each, as in captures.{board_names[0]} = [...]",
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
        row = [at for at, each in enumerate(names) if each == name][1]
        why = f"{times} {table}s are called {name!r}: each needs a name of its own"
        raise _error(data, path, why, table, row, "name")


def _check_paths(path: Path, boards: tuple[BoardCases, ...]) -> None:
    """Raise SuiteError for a capture that is named twice."""
    paths = [capture for board in boards for case in board.cases for capture in case.captures]
    repeated, times = Counter(paths).most_common(1)[0] if paths else (path, 0)
    if times > 1:
        raise SuiteError(f"{path}: {repeated} is the capture of {times} starts", _REMEDY)


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
    """Return the line of a key, or of its table; None if the text has neither.

    ``table`` and ``row`` name an entry of an array of tables; ``table`` is None for the text's
    first keys.
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
