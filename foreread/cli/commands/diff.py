"""``foreread diff``: what changed between two builds, kernels or boards, and why."""

from __future__ import annotations

import argparse
from pathlib import Path

from foreread.analyzer.diff.whole import diff
from foreread.boards.base.outputs import check_file
from foreread.boards.base.written import write_whole
from foreread.cli.arguments import percent
from foreread.cli.arguments.capture import add_pids
from foreread.cli.arguments.model import add_model
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.verbose import add_verbose
from foreread.cli.main import EXIT_FAILED
from foreread.cli.text.diff import diff_text
from foreread.cli.text.diff_junit import junit_xml
from foreread.cli.text.diff_markdown import markdown_text
from foreread.cli.text.progress import ProgressLine


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
    for name, form in (("--markdown", "Markdown"), ("--junit", "JUnit XML")):
        add_output(
            parser,
            name,
            metavar="FILE",
            check=check_file,
            help=f"write the result as {form}, too",
        )


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
    if args.markdown is not None:
        write_whole(args.markdown, markdown_text(difference).encode())
    if args.junit is not None:
        write_whole(args.junit, junit_xml(difference))
    print(difference.to_json() if args.json else diff_text(difference, verbose=args.verbose))
    return EXIT_FAILED if difference.regressed else 0
