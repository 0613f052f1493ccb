"""The history file: the metrics of a start (or of a suite) over commits.

Two writers take turns by a lock on the folder, and the file is replaced as a whole. It keeps the
last MOST_ENTRIES entries.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from foreread.analyzer.error import AnalyzerError
from foreread.analyzer.metrics.drift import Drift, drift
from foreread.analyzer.metrics.metric import PROPOSED, SECONDS, Metric, title_of
from foreread.boards.base.brief import brief
from foreread.boards.base.counted import plural
from foreread.boards.base.document import (
    LARGEST_BYTES,
    Document,
    encode,
    read_document,
    says,
)
from foreread.boards.base.locked import locked_folder
from foreread.boards.base.outputs import check_file
from foreread.boards.base.units import percent_text, size_text
from foreread.boards.base.written import write_whole

MOST_ENTRIES = 1000
Subject = tuple[tuple[str, str], ...]  # the labels of a start, without the window
_REMEDY = "give a file that --history has written, or the name of a new one"


class HistoryError(AnalyzerError, ValueError):
    """A history that cannot be read or continued; ``remedy`` says what to do."""


class DriftError(AnalyzerError, ValueError):
    """A start that has become slower over the commits of its history."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of one commit."""

    __repr__ = brief

    commit: Annotated[str, msgspec.Meta(min_length=1, max_length=200), says("as --commit has it")]
    date: Annotated[str, msgspec.Meta(max_length=40), says("when it was added, ISO 8601, UTC")]
    metrics: list[Metric]

    def starts(self) -> dict[Subject, Metric]:
        """Return the seconds of each start at its own window."""
        return {
            tuple(sorted(metric.subject.items())): metric
            for metric in self.metrics
            if metric.name == SECONDS and metric.labels.get("window") != PROPOSED
        }


class History(Document, frozen=True, kw_only=True):
    """The history file, oldest entry first."""

    entries: Annotated[list[HistoryEntry], msgspec.Meta(max_length=MOST_ENTRIES)]


@dataclass(frozen=True)
class Series:
    """The seconds of one start at its own window, over the entries that have them."""

    title: str
    commits: list[str]
    metrics: list[Metric]
    drift: Drift

    def __str__(self) -> str:
        share = percent_text(self.drift.share, signed=True)
        seconds = f"{self.drift.old:.3f} to {self.drift.new:.3f} s"
        return f"{self.title}: {seconds}, {share} over {plural(len(self.commits), 'commit')}"


def check_history(path: Path, option: str) -> None:
    """Raise OutputError if no history can be written at ``path``, HistoryError if another file is.

    Changes nothing.
    """
    check_file(path, option)
    read_history(path)


def read_history(path: Path) -> History:
    """Return the history in a file, an empty one if there is no file; raises HistoryError."""
    return read_document(path, History, HistoryError, _REMEDY, absent=History(entries=[]))


def add_to_history(path: Path, commit: str, metrics: Sequence[Metric]) -> History:
    """Add the metrics of a commit to the history in ``path``, and return the history.

    An entry of the same commit is replaced: a job that is run again counts once. Raises
    HistoryError for metrics without seconds, and for those of other starts or another board.
    """
    date = datetime.now(UTC).isoformat(timespec="seconds")
    entry = HistoryEntry(commit=commit, date=date, metrics=list(metrics))
    if not entry.starts():
        raise HistoryError(
            f"the result has no seconds at the present window, and {path} keeps those",
            "remove --history, or name the cost of the disk with --device-model FILE"
            if metrics
            else "remove --history, or name the present window in --windows (a longer --limit, if "
            "its runs were killed)",
        )
    with locked_folder(path.parent):
        earlier = read_history(path).entries
        _check_same(path, earlier, entry)
        places = [at for at, other in enumerate(earlier) if other.commit == commit]
        at = places[0] if places else len(earlier)
        entries = [*earlier[:at], entry, *earlier[at + 1 :]]
        history = History(entries=entries[-MOST_ENTRIES:])
        content = encode(history, indent=0).encode() + b"\n"
        if len(content) > LARGEST_BYTES:
            raise HistoryError(
                f"{path} would have {size_text(len(content))}, and the most is "
                f"{size_text(LARGEST_BYTES)}",
                _another(path),
            )
        write_whole(path, content)
    return history


def series_of(history: History) -> list[Series]:
    """Return the series of each start that the last entry has; they are tested together."""
    last = history.entries[-1].starts() if history.entries else {}
    points_by_subject: dict[Subject, list[tuple[str, Metric]]] = {subject: [] for subject in last}
    for entry in history.entries:
        for subject, metric in entry.starts().items():
            if subject in points_by_subject:
                points_by_subject[subject].append((entry.commit, metric))
    return [
        Series(
            title_of(dict(subject)),
            [commit for commit, _ in points],
            [metric for _, metric in points],
            drift([metric.value for _, metric in points], len(points_by_subject)),
        )
        for subject, points in points_by_subject.items()
    ]


def check_drift(path: Path, series: Sequence[Series]) -> None:
    """Raise DriftError if a start has become slower over the commits of the history in ``path``."""
    drifted = [each for each in series if each.drift.is_significant]
    if drifted:
        worst = max(drifted, key=lambda each: each.drift.share)
        more = f", and {plural(len(drifted) - 1, 'other start')}" if len(drifted) > 1 else ""
        raise DriftError(
            f"drift: {worst}, since {worst.commits[0]}{more}",
            f"compare the first and the last build with foreread diff; if the time is accepted, "
            f"{_another(path)}",
        )


def _check_same(path: Path, earlier: Sequence[HistoryEntry], entry: HistoryEntry) -> None:
    """Raise HistoryError if the entry has no start in common with those of the history."""
    known = dict.fromkeys(subject for other in earlier for subject in other.starts())
    new = entry.starts()
    if known and not known.keys() & new.keys():
        was, now = (title_of(dict(next(iter(subjects)))) for subjects in (known, new))
        raise HistoryError(
            f"{path} is the history of {was}, and the result is of {now}",
            "give another file with --history",
        )


def _another(path: Path) -> str:
    """Return the command that lets the next result begin another history."""
    return f"begin another history: mv {shlex.quote(str(path))} {shlex.quote(f'{path}.1')}"
