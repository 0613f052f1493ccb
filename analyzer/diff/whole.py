"""``foreread.diff``: captures, suites or reports of two builds, kernels or boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from foreread.analyzer.diff.compare import compare, exceeds, share_of
from foreread.analyzer.diff.document import DiffDocument, StartDiff
from foreread.analyzer.diff.reports import compare_reports, is_report
from foreread.analyzer.error import AnalyzerError, ArgumentError
from foreread.analyzer.ingest.arguments import Pids, StrPath
from foreread.analyzer.ingest.load import load
from foreread.analyzer.predict.disk.device_model import device_from
from foreread.analyzer.suite import is_suite
from foreread.analyzer.suite.read import BoardCases, Case, Suite, read_suite
from foreread.boards.base.silent import silent
from foreread.tracer.formats.capture import start_name

Cases = dict[tuple[str, str], tuple[BoardCases, Case]]


class DiffError(AnalyzerError, ValueError):
    """Two things that cannot be compared; ``remedy`` says what to do."""


def diff(
    old: StrPath,
    new: StrPath,
    max_regression: float | None = None,
    model: str | None = None,
    device_model: StrPath | None = None,
    pids: Pids = "tree",
    step: Callable[[str], None] = silent,
) -> DiffDocument:
    """Return what changed from OLD to NEW, and why.

    Args:
        old: a capture, a suite, or a report's folder.
        new: the same of the other build, kernel or board.
        max_regression: the share of OLD's seconds that NEW may take longer, such as 0.03.
        model: "fixed", "linux" or "linux-X.Y" for both; None: of each the one that fits.
        device_model: what requests of the disk cost in both; None: learnt from each capture.
        pids: whose accesses of a capture count, as in :func:`foreread.load`.
        step: is called with each step, in words.

    Raises:
        DiffError: the two are of different kinds, have no start in common, or there is a limit and
            no predicted seconds.
        ArgumentError: a limit that is not a share. What reading and predicting raise.
    """
    if max_regression is not None and not 0 <= max_regression < 1e6:
        raise ArgumentError(
            f"max_regression {max_regression!r} is not a share", "give one such as 0.03"
        )
    paths = Path(old), Path(new)
    kinds = [_kind(path) for path in paths]
    if kinds[0] != kinds[1]:
        raise DiffError(
            f"{paths[0]} is a {kinds[0]} and {paths[1]} a {kinds[1]}",
            "compare two captures, two suites or two reports",
        )
    only: tuple[list[str], list[str]] = ([], [])
    if kinds[0] == "report":
        starts = [compare_reports(*paths, max_regression)]
    elif kinds[0] == "suite":
        starts, only = _suites(*paths, max_regression, model, device_model, step)
    else:
        before, after = (load(path, pids) for path in paths)
        step("comparing")
        name = start_name(after.capture.command, paths[1])
        device = device_from(device_model)
        starts = [
            compare(
                before,
                after,
                name,
                limit=max_regression,
                model=model,
                devices=(device, device),
            )
        ]
    return _document(paths, starts, only, max_regression)


def _kind(path: Path) -> str:
    if is_suite(path):
        return "suite"
    return "report" if is_report(path) else "capture"


def _document(
    paths: tuple[Path, Path],
    starts: list[StartDiff],
    only: tuple[list[str], list[str]],
    limit: float | None,
) -> DiffDocument:
    unknown = [start for start in starts if start.old.seconds is None or start.new.seconds is None]
    if limit is not None and unknown:
        doubts = unknown[0].doubts
        why = next((doubt for doubt in doubts if "no predicted seconds" in doubt), "")
        raise DiffError(
            f"a limit needs predicted seconds, and {unknown[0].name} has none: {why}",
            "remove --max-regression, or name the cost of the disk with --device-model FILE",
        )
    old = new = None
    if not unknown:
        old = sum(start.weight * (start.old.seconds or 0.0) for start in starts)
        new = sum(start.weight * (start.new.seconds or 0.0) for start in starts)
    share = share_of(old, new)
    whole = exceeds(share, limit)
    return DiffDocument(
        old=str(paths[0]),
        new=str(paths[1]),
        starts=starts,
        only_old=only[0],
        only_new=only[1],
        seconds_old=old,
        seconds_new=new,
        share=share,
        limit=limit,
        regressed=None if whole is None else whole or any(start.regressed for start in starts),
        notes=list(_notes(starts)),
    )


def _notes(starts: list[StartDiff]) -> Iterator[str]:
    """Yield differences between the machines that limit the comparison."""
    for start in starts:
        if start.old.machine != start.new.machine:
            machines = f"{start.old.machine} and {start.new.machine}"
            yield f"{start.name}: two boards ({machines}): their processors differ, too"


def _suites(
    old: Path,
    new: Path,
    limit: float | None,
    model: str | None,
    device_model: StrPath | None,
    step: Callable[[str], None],
) -> tuple[list[StartDiff], tuple[list[str], list[str]]]:
    """Compare the first capture of each start that both suites have on a board of the same name."""
    suites = read_suite(old), read_suite(new)
    for suite in suites:
        suite.check_captures()
    old_cases, new_cases = map(_cases, suites)
    both = [key for key in new_cases if key in old_cases]
    if not both:
        raise DiffError(
            f"{old} and {new} have no start on a board of the same name",
            "give starts and boards of both suites the same names",
        )
    starts = []
    for board, name in both:
        step(f"comparing {name} on {board}")
        cases = old_cases[board, name], new_cases[board, name]
        devices = [device_from(device_model or of.device_model) for of, _ in cases]
        recordings = [load(case.captures[0]) for _, case in cases]
        starts.append(
            compare(
                recordings[0],
                recordings[1],
                name,
                board,
                cases[1][1].start.weight,
                limit,
                model,
                (devices[0], devices[1]),
            )
        )
    missing = [
        sorted(f"{n} on {b}" for b, n in x.keys() - y.keys())
        for x, y in ((old_cases, new_cases), (new_cases, old_cases))
    ]
    return starts, (missing[0], missing[1])


def _cases(suite: Suite) -> Cases:
    return {
        (board.board.name, case.start.name): (board, case)
        for board in suite.boards
        for case in board.cases
    }
