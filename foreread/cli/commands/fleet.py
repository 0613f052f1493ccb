"""``foreread fleet``: thousands of captures into a store, and the report of the store."""

from __future__ import annotations

import argparse
import logging
from functools import partial
from pathlib import Path

from foreread.analyzer.fleet.error import extra
from foreread.analyzer.fleet.place import is_address
from foreread.boards.base.outputs import check_folder
from foreread.cli.arguments import LARGEST, whole_number
from foreread.cli.arguments.model import add_model
from foreread.cli.arguments.output import add_check, add_json, add_output
from foreread.cli.main import EXIT_FAILED
from foreread.cli.text.fleet import analysed_text
from foreread.cli.text.progress import ProgressLine

_number = partial(whole_number, least=1, most=LARGEST)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    _add_analyse(actions.add_parser("analyse", help="add captures to a store"))
    _add_report(actions.add_parser("report", help="write the report of a store"))


def run(args: argparse.Namespace) -> int:
    """Run the subcommand."""
    code: int = args.act(args)
    return code


def _add_analyse(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        metavar="SRC",
        nargs="+",
        help="a capture, or a folder of captures and folders: a path, or an address such as "
        "s3://BUCKET/FOLDER",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="STORE",
        required=True,
        help="the store, a folder or an address; captures that it has are not analysed again",
    )
    add_check(parser, "output", _check_store)
    add_model(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        metavar="N",
        type=_number,
        help="captures analysed at once on this machine (default: one for each processor)",
    )
    where.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="analyse on the workers of a Dask scheduler, such as tcp://HOST:8786",
    )
    parser.add_argument(
        "--batch",
        metavar="N",
        type=_number,
        default=64,
        help="captures that one process analyses, and whose rows are written together (default: "
        "64)",
    )
    parser.set_defaults(act=_analyse)
    add_json(parser)


def _check_store(args: argparse.Namespace) -> None:
    if not is_address(args.output):  # those are opened before a capture is read
        check_folder(Path(args.output))


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help="a store that fleet analyse wrote")
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        required=True,
        help="folder to write the report to",
    )
    parser.set_defaults(act=_report)
    add_json(parser)


def _analyse(args: argparse.Namespace) -> int:
    from foreread.fleet import fleet_analyse  # noqa: PLC0415

    if args.dask is not None:  # its errors are ours, in one line
        extra("distributed")
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
    line = ProgressLine()
    line.step("reading the store")
    try:
        analysed = fleet_analyse(
            args.sources,
            args.output,
            dask=args.dask,
            jobs=args.jobs,
            model=args.model,
            device_model=args.device_model,
            batch=args.batch,
            progress=lambda done, listed: line.count("captures analysed", done, listed),
        )
    finally:
        line.end()
    print(analysed.to_json() if args.json else analysed_text(analysed))
    return EXIT_FAILED if analysed.left else 0


def _report(args: argparse.Namespace) -> int:
    # matplotlib says so at import where its cache cannot be written: our stderr is for errors.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from foreread.analyzer.fleet.document import FleetReportDocument  # noqa: PLC0415
    from foreread.fleet import fleet_report  # noqa: PLC0415

    files = fleet_report(args.store, args.output)
    if args.json:
        paths = (str(files.html), str(files.json), str(files.sql))
        print(FleetReportDocument(html=paths[0], json=paths[1], sql=paths[2]).to_json())
    else:
        from foreread.cli.text.fleet_report import fleet_report_text  # noqa: PLC0415

        print(fleet_report_text(files.figures, str(files.html)))
    return 0
