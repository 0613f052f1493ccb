"""The captures of a suite, read and checked: one board is one machine with the same disks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from foreread.analyzer.advise.parts import NamedStart
from foreread.analyzer.ingest.load import load
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.suite.read import BoardCases, Case, Suite, SuiteError
from foreread.tracer.formats.capture import Metadata


@dataclass(frozen=True, eq=False)
class LoadedCase:
    """A start on a board, with its recordings."""

    case: Case
    recordings: tuple[Recording, ...]

    @property
    def name(self) -> str:
        """The name of the start."""
        return self.case.start.name

    @property
    def weight(self) -> float:
        """The weight of the start."""
        return self.case.start.weight


def load_board(of: BoardCases) -> tuple[LoadedCase, ...]:
    """Read all captures of a board; raises SuiteError and what ``load`` raises."""
    loaded = []
    first: tuple[Path, Metadata] | None = None
    for case in of.cases:
        recordings = []
        for path in case.captures:
            recording = load(path)
            capture = _checked(case, path, recording)
            first = first or (path, capture)
            _check_board(of.board.name, first, (path, capture))
            recordings.append(recording)
        loaded.append(LoadedCase(case, tuple(recordings)))
    return tuple(loaded)


def starts_of_suite(suite: Suite) -> list[NamedStart]:
    """Read all captures of a suite: its starts, as BOARD/START; raises as ``load_board``."""
    suite.check_captures()
    return [
        NamedStart(
            f"{of.board.name}/{loaded.name}", loaded.recordings, device_from(of.device_model)
        )
        for of in suite.boards
        for loaded in load_board(of)
    ]


def _checked(case: Case, path: Path, recording: Recording) -> Metadata:
    capture = recording.capture
    start = case.start
    if capture.host is None or capture.command is None:
        raise SuiteError(
            f"{path} is not a capture of foreread: its board and command are unknown",
            "record with foreread record -o CAPTURE -- COMMAND",
        )
    if start.command is not UNSET and capture.command != start.command:
        raise SuiteError(
            f"{path} has another command than start {start.name!r}: {capture.command}",
            "correct command or captures in the suite",
        )
    return capture


def _check_board(name: str, first: tuple[Path, Metadata], other: tuple[Path, Metadata]) -> None:
    """Raise SuiteError if two captures of a board are of different machines."""
    for what, value, other_value in _compared(first[1], other[1]):
        if value != other_value:
            raise SuiteError(
                f"{first[0]} and {other[0]} both name the board {name!r}, but {what} differs: "
                f"{value!r} and {other_value!r}",
                "give each board of the suite its own captures",
            )


def _compared(first: Metadata, second: Metadata) -> Iterator[tuple[str, object, object]]:
    for what, field in (
        ("the kernel", "kernel"),
        ("the machine", "machine"),
        ("the CPU", "cpu_model"),
        ("the number of CPUs", "cpu_count"),
        ("the page size", "page_size"),
    ):
        yield what, getattr(first.host, field), getattr(second.host, field)
    sizes = {disk.name: disk.size_bytes for disk in second.devices}
    for disk in first.devices:
        if disk.name in sizes:
            yield f"the size of {disk.name}", disk.size_bytes, sizes[disk.name]
