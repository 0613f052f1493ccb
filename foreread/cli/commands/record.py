"""``foreread record``: one cold run of a command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from boards.counted import plural
from boards.open import LOCAL
from foreread.cli.arguments import UsageError, buffer_kib, duration, window_kb
from foreread.cli.arguments.run import add_run, run_options
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.main import printable
from foreread.cli.text.wording import ended_text
from foreread.documents.record import record_document
from foreread.recording import record
from tracer.backends.select import AUTO
from tracer.formats.capture import Capture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-o", "--output", metavar="CAPTURE", type=Path, required=True, help="folder to create"
    )
    add_target(parser)
    parser.add_argument(
        "--backend",
        choices=(AUTO, "tracefs", "trace-cmd", "perf"),
        default=AUTO,
        help="recorder (default: auto, the first in this list that works)",
    )
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        default=0,
        metavar="N",
        help="window during the run (default: 0; any other window makes a contaminated capture)",
    )
    parser.add_argument(
        "--buffer-kib",
        type=buffer_kib,
        metavar="N",
        help="trace buffer per CPU in KiB (default: depends on the memory)",
    )
    parser.add_argument(
        "--probes",
        action="store_true",
        help="trace page faults, reads and mappings with kernel probes, on a target whose kernel "
        "has "
        "no events for them",
    )
    parser.add_argument(
        "--no-probe",
        action="store_true",
        help="do not read the disk for one second after the run to measure the cost of its "
        "requests",
    )
    parser.add_argument(
        "--search",
        type=duration,
        metavar="S",
        help="look up the paths of files for up to S seconds after the run (20; 60 on a target)",
    )
    add_run(parser)


def run(args: argparse.Namespace) -> int:
    """Record and print the result."""
    if args.probes and args.target == LOCAL:
        raise UsageError(
            "--probes works on targets only; for this machine add --target ssh://root@localhost"
        )
    capture = record(
        run_options(args),
        args.output,
        target=args.target,
        identity=args.identity,
        backend=args.backend,
        read_ahead_kb=args.read_ahead_kb,
        buffer_kib=args.buffer_kib,
        probes=args.probes,
        probe_disk=not args.no_probe,
        search_s=args.search,
        wait_s=args.wait,
        tell=tell,
    )
    if args.json:
        print(record_document(capture, str(args.output)).to_json())
    else:
        print(_text(capture, args.output), file=sys.stderr)
    return 0


def _text(capture: Capture, output: Path) -> str:
    lost = sum(capture.lost.values())
    lines = [
        f"recorded {capture.wall_seconds:.3f} s by {capture.backend}, ended by {capture.ended_by}, "
        f"{ended_text(capture)}, {plural(lost, 'event')} lost: {output}",
        *(f"note: {note}" for note in capture.notes),
    ]
    return "\n".join(f"foreread: {printable(line)}" for line in lines)
