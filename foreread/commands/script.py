"""``foreread script``: the boot script that applies the window, and its wrappers."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from analyzer.apply import plan_from, write_scripts
from analyzer.ingest.load import load
from analyzer.optimizer import predict
from analyzer.prediction import Verdict
from foreread.arguments import UsageError, add_capture, window_kb
from foreread.cli import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser)
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, required=True, help="folder for the files"
    )
    parser.add_argument(
        "--read-ahead-kb", type=window_kb, metavar="N", help="set this value, not the predicted one"
    )
    parser.add_argument(
        "--after-boot-kb",
        type=window_kb,
        metavar="N",
        help="a second value, once the board has booted",
    )
    parser.add_argument(
        "--after-seconds",
        type=int,
        metavar="S",
        help="switch to the second value so long after boot (default: at `boot-done`)",
    )
    parser.add_argument(
        "--no-restore",
        action="store_true",
        help="`stop` leaves the values as they are (default: it restores the old ones)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and say what they set."""
    if args.after_seconds is not None and args.after_boot_kb is None:
        raise UsageError("--after-seconds: give the value for then, too: --after-boot-kb")
    recording = load(args.capture, args.pids)
    for kb in (args.read_ahead_kb, args.after_boot_kb):
        _check_whole_pages(kb, recording.page_size)
    prediction = predict(recording)
    plan = plan_from(
        prediction,
        recording.capture,
        read_ahead_kb=_asked(args.read_ahead_kb, prediction.verdict),
        after_boot_read_ahead_kb=args.after_boot_kb,
        boot_done_seconds=args.after_seconds,
        restore_on_stop=not args.no_restore,
    )
    files = write_scripts(plan, args.output)
    if args.json:
        settings = [
            {"disk": s.disk and s.disk.name, "knob": s.knob, "value": s.value, "phase": s.phase}
            for s in plan.settings
        ]
        print(json.dumps({"schema": 1, "settings": settings, "files": [str(f) for f in files]}))
        return 0
    for setting in plan.settings:
        where = f"{setting.disk.name}/" if setting.disk else ""
        print(printable(f"{where}{setting.knob} = {setting.value}: {setting.reason}"))
    print(f"script: {files[0]}\nhow to install: {args.output / 'INSTALL.md'}")
    return 0


def _check_whole_pages(read_ahead_kb: int | None, page_size: int) -> None:
    if read_ahead_kb is not None and read_ahead_kb * 1024 % page_size:
        raise UsageError(
            f"{read_ahead_kb} KiB are no whole pages of {page_size} bytes: the kernel takes less"
        )


def _asked(read_ahead_kb: int | None, verdict: Verdict) -> int | None:
    """Return the value to pin: with the verdict to keep, what the board has."""
    if read_ahead_kb is None and verdict.action == "keep":
        print(
            "foreread: the verdict is to keep what the board has; the script pins that value",
            file=sys.stderr,
        )
        return verdict.read_ahead_kb
    return read_ahead_kb
