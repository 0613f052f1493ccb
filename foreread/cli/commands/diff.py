"""``foreread diff``: what changed between two builds, kernels or boards, and why."""

from __future__ import annotations

import argparse
from pathlib import Path

from foreread.analyzer.diff.whole import diff
from foreread.analyzer.metrics.results import of_difference
from foreread.cli.arguments import percent
from foreread.cli.arguments.capture import add_pids
from foreread.cli.arguments.forms import FORMS, Form, add_forms, write_forms
from foreread.cli.arguments.history import add_history, keep_history
from foreread.cli.arguments.model import add_model
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.main import EXIT_FAILED
from foreread.cli.text.diff import diff_text
from foreread.cli.text.progress import ProgressLine

# Forms of the difference itself.
_TEXTS = {
    "markdown": Form("Markdown", "foreread.cli.text.diff_markdown.markdown_text"),
    "junit": Form("JUnit XML", "foreread.cli.text.diff_junit.junit_xml"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    for name, what in (
        ("old", "a capture, a suite (SUITE.toml) or the folder of a report"),
        ("new", "the same kind of file, of the other build, kernel or board"),
    ):
        parser.add_argument(name, metavar=name.upper(), type=Path, help=what)
    add_pids(parser)
    add_model(parser)
    add_verbose(parser, "all files")
    parser.add_argument(
        "--max-regression",
        metavar="PERCENT",
        type=percent,
        help="exit with 1 if NEW, or one of its starts, is predicted to take over PERCENT longer "
        "than OLD, for example 3%%",
    )
    add_forms(parser, {**_TEXTS, **FORMS})
    add_history(parser)


def run(args: argparse.Namespace) -> int:
    """Print the difference, and write the files asked for."""
    line = ProgressLine()
    limit = None if args.max_regression is None else args.max_regression / 100
    try:
        difference = diff(
            args.old, args.new, limit, args.model, args.device_model, args.pids, line.step
        )
    finally:
        line.end()
    metrics = of_difference(difference)
    write_forms(args, _TEXTS, difference)
    write_forms(args, FORMS, metrics)
    print(difference.to_json() if args.json else diff_text(difference, verbose=args.verbose))
    keep_history(args, metrics)
    return EXIT_FAILED if difference.regressed else 0
