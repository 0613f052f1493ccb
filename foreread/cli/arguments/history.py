"""``--history``: adds the result to those of earlier commits, and tests them for a drift."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foreread.boards.base.counted import plural
from foreread.boards.base.outputs import OutputError, check_file
from foreread.boards.base.written import write_whole
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.output import add_check

if TYPE_CHECKING:
    from foreread.analyzer.metrics.metric import Metric

_LONGEST = 200  # characters of a commit
_PLOTS = (".png", ".svg")


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add ``--history`` and ``--plot``."""
    parser.add_argument(
        "--history",
        nargs=2,
        metavar=("FILE", "COMMIT"),
        help="add the result of this commit to those of earlier ones in FILE, and exit with 1 if "
        "the start has become slower over them",
    )
    add_check(parser, "history", _check_history)
    parser.add_argument(
        "--plot",
        metavar="PLOT",
        type=Path,
        help="with --history: draw it as PLOT, whose name ends with .svg or .png",
    )
    add_check(parser, "plot", _check_plot)


def keep_history(args: argparse.Namespace, metrics: Sequence[Metric]) -> None:
    """Add metrics to the history that the arguments name, and draw it; raises DriftError."""
    if args.history is None:
        return
    # Few results have a history, and fewer are drawn.
    from foreread.analyzer.metrics.history import (  # noqa: PLC0415
        add_to_history,
        check_drift,
        series_of,
    )
    from foreread.cli.arguments.target import tell  # noqa: PLC0415  (brings the targets)

    path, commit = Path(args.history[0]), args.history[1]
    history = add_to_history(path, commit, metrics)
    series = series_of(history)
    if args.plot is not None:
        from foreread.analyzer.metrics.history_plot import history_plot  # noqa: PLC0415

        write_whole(args.plot, history_plot(series, args.plot.suffix))
    check_drift(path, series)
    tell(f"{path}: no drift in {plural(len(history.entries), 'commit')}")


def _check_history(args: argparse.Namespace) -> None:
    """Raise UsageError, OutputError or HistoryError for a commit or a file that cannot be used."""
    from foreread.analyzer.metrics.history import check_history  # noqa: PLC0415  (as above)

    path, commit = args.history
    if not 0 < len(commit) <= _LONGEST:
        raise UsageError(
            f"--history: write a commit of 1 to {_LONGEST} characters, such as "
            f'--history {path} "$(git rev-parse HEAD)"'
        )
    check_history(Path(path), "--history")


def _check_plot(args: argparse.Namespace) -> None:
    """Raise UsageError or OutputError for a plot that cannot be drawn."""
    if args.history is None:
        raise UsageError("--plot draws a history: add --history FILE COMMIT")
    if args.plot.suffix not in _PLOTS:
        raise OutputError(
            f"{args.plot}: the suffix is neither .svg nor .png",
            "give a name that ends with .svg or .png with --plot",
        )
    check_file(args.plot, "--plot")
