"""``foreread report``: the board report."""

from __future__ import annotations

import argparse

from boards.outputs import check_folder
from foreread.cli.arguments.output import add_output
from foreread.cli.reports import add_content, written
from foreread.documents.report import ReportDocument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_content(parser)
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        required=True,
        help="folder to write the report to",
    )


def run(args: argparse.Namespace) -> int:
    """Write the report and print its path."""
    files = written(args, args.output)
    if args.json:
        paths = (str(files.html), str(files.pdf), str(files.json))
        print(ReportDocument(html=paths[0], pdf=paths[1], json=paths[2]).to_json())
    else:
        print(f"report: {files.html}")
    return 0
