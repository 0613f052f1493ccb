"""``foreread export``: a recorded start, and emulated runs of it, for viewers and tables."""

from __future__ import annotations

import argparse

from foreread.analyzer.export.make import FORMATS, ExportDocument, export
from foreread.analyzer.predict.linux import PREFIX
from foreread.boards.base.outputs import check_file
from foreread.boards.base.printable import printable
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.model import add_device_model, add_kernel_model
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.windows import window_kb
from foreread.cli.text.table import render


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    parser.add_argument(
        "--format",
        required=True,
        choices=tuple(FORMATS),
        help="perfetto (ui.perfetto.dev), chrome (trace events as JSON), parquet, csv, or "
        "trace-dat (KernelShark, trace-cmd)",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FILE",
        check=check_file,
        required=True,
        help="file to write",
    )
    parser.add_argument(
        "--window",
        metavar="K",
        type=window_kb,
        action="append",
        default=[],
        help="add the run emulated at read_ahead_kb=K; repeatable",
    )
    add_kernel_model(parser)
    add_device_model(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file, and print what it contains."""
    recording = recording_of(args.capture, args)
    model = args.model or PREFIX
    exported = export(recording, args.output, args.format, args.window, model, args.device_model)
    print(exported.to_json() if args.json else _text(exported))
    return 0


def _text(exported: ExportDocument) -> str:
    rows = [
        (str(run.accesses), str(run.requests), str(run.unused_pages), str(run.waits), run.name)
        for run in exported.runs
    ]
    table = render(("accesses", "requests", "unused pages", "waits", "run"), rows)
    notes = [f"note: {printable(note)}" for note in exported.notes]
    return "\n".join(
        [f"wrote {printable(exported.file)} ({exported.format})", "", table, "", *notes]
    )
