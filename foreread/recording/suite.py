"""Records the starts of a suite that have no capture yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from foreread.analyzer.ingest.arguments import StrPath
from foreread.analyzer.suite.document import SuiteStart
from foreread.analyzer.suite.read import BoardCases, Suite, SuiteError, read_suite
from foreread.boards.base.silent import silent
from foreread.checks import checked_path
from foreread.recording.start import record
from foreread.tracer.formats.capture import Capture
from foreread.tracer.runs.options import Ending, RunOptions, Streams
from foreread.tracer.runs.output import check_capture


@dataclass(frozen=True)
class SuiteRecorded:
    """The new captures, and the captures that were there before."""

    suite: Suite
    recorded: tuple[tuple[Path, Capture], ...]
    present: tuple[Path, ...]


def record_suite(
    suite: StrPath,
    *,
    streams: Streams | None = None,
    probe_disk: bool = True,
    wait_s: float = 0.0,
    tell: Callable[[str], None] = silent,
) -> SuiteRecorded:
    """Record every start of a suite that has no capture, one cold run each.

    A failure ends the recording; captures that are complete stay, and the next call goes on with
    the others. A capture is never overwritten.

    Args:
        suite: path of the suite.
        streams: where the output of the commands goes; None: to this process's output.
        probe_disk: read each disk for about one second after a run, to measure its cost.
        wait_s: how long to wait for another foreread that holds a machine's settings.
        tell: is called with each step, in words.

    Raises:
        SuiteError: the suite cannot be read, or a start to record has no command.
        tracer.error.RecordError, boards.target.TargetError: as :func:`foreread.record`.
    """
    of = read_suite(checked_path(suite, "suite"))
    missing = list(_missing(of))
    for _, start, path in missing:
        if start.command is UNSET:
            raise SuiteError(
                f"{of.path}: {path} is missing, and start {start.name!r} has no command",
                f"add command = [...] to start {start.name!r}, or put its capture there",
            )
    present = {path for board in of.boards for case in board.cases for path in case.captures}
    for _, _, path in missing:
        check_capture(path, f"captures = [...] in {of.path}")
    recorded = []
    for number, (board, start, path) in enumerate(missing, 1):
        tell(f"recording {start.name} on {board.board.name} ({number} of {len(missing)}): {path}")
        path.parent.mkdir(parents=True, exist_ok=True)
        capture = record(
            run_of(start, streams),
            path,
            target=board.board.target,
            identity=board.identity,
            probe_disk=probe_disk,
            wait_s=wait_s,
            tell=tell,
        )
        recorded.append((path, capture))
    return SuiteRecorded(
        of, tuple(recorded), tuple(sorted(present - {path for _, _, path in missing}))
    )


def run_of(start: SuiteStart, streams: Streams | None = None) -> RunOptions:
    """Return how a start of a suite is run; it has a command."""
    assert start.command is not UNSET
    ending = Ending(
        None if start.duration_s is UNSET else start.duration_s,
        None if start.until_idle_ms is UNSET else start.until_idle_ms,
        None if start.until_output is UNSET else start.until_output,
    )
    user = None if start.user is UNSET else start.user
    return RunOptions(list(start.command), ending, user=user, streams=streams or Streams())


def _missing(of: Suite) -> Iterator[tuple[BoardCases, SuiteStart, Path]]:
    """Yield the starts to record; an interrupted capture counts as missing."""
    for board in of.boards:
        for case in board.cases:
            for path in case.captures:
                if path in case.missing:
                    yield board, case.start, path
