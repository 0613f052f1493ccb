"""``foreread record``: a run of a command, a boot of a board, a load, or what a suite lacks."""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import get_args

from foreread.boards.base.counted import plural
from foreread.boards.base.printable import printable
from foreread.boards.open import LOCAL
from foreread.cli.arguments import LARGEST, UsageError, duration, refuse, whole_number
from foreread.cli.arguments.budget import parse_time
from foreread.cli.arguments.memory import add_memory
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.run import add_run, given_run, run_options
from foreread.cli.arguments.scenario import add_scenario, scenario_of
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.arguments.windows import window_kb
from foreread.cli.text.wording import ended_text
from foreread.documents.record import record_document
from foreread.documents.suite import SuiteRecordDocument
from foreread.recording.boot import record_boot
from foreread.recording.load import record_load
from foreread.recording.start import record
from foreread.recording.suite import record_suite
from foreread.tracer.backends.select import AUTO
from foreread.tracer.formats.capture import Capture, Origin
from foreread.tracer.formats.scenario import IDLE
from foreread.tracer.install.boot_hook import HOOK_FOLDER
from foreread.tracer.runs.options import Streams
from foreread.tracer.runs.output import check_capture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_output(
        parser,
        "-o",
        "--output",
        metavar="CAPTURE",
        check=check_capture,
        help="folder to create, or archive if the name ends in .tar, .tar.gz, .tar.bz2 or .tar.xz "
        "(needed without --suite)",
    )
    parser.add_argument(
        "--suite",
        metavar="SUITE",
        type=Path,
        help="record each start of this suite that has no capture, on its board; repeat the "
        "command to continue after an interruption",
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
        help="window during the run (default: 0; a capture at another window is contaminated)",
    )
    parser.add_argument(
        "--buffer-kib",
        type=partial(whole_number, least=1, most=LARGEST, what="a number of KiB"),
        metavar="N",
        help="trace buffer per CPU in KiB (default: depends on the memory)",
    )
    parser.add_argument(
        "--probes",
        action="store_true",
        help="trace page faults, reads and mappings with kernel probes, on a target where the "
        "kernel has no events for them",
    )
    parser.add_argument(
        "--no-probe",
        action="store_true",
        help="skip the probe that measures the disk's requests for one second after the run",
    )
    parser.add_argument(
        "--search",
        type=duration,
        metavar="S",
        help="look up the paths of files for up to S seconds after the run (default: 20; 60 on a "
        "target)",
    )
    parser.add_argument(
        "--boot",
        action="store_true",
        help="record one boot of the target instead of a command: reboot the target, and record "
        "from its first init script until it has booted, for --duration, or until a line of the "
        "kernel's log matches --until-output",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        help="with --boot: folder on the target for the file that requests the recording of the "
        "next boot; the folder must survive a power cut, and be writable when the first init "
        f"script runs (default: {HOOK_FOLDER})",
    )
    parser.add_argument(
        "--from",
        dest="start",
        choices=get_args(Origin),
        help="with --boot: record from the first script that init runs (scripts, the default), or "
        "from the first process, with init, generators and early services (init)",
    )
    parser.add_argument(
        "--load",
        type=parse_time,
        metavar="TIME",
        help="record for this time (10s, 2m) what the machine reads and writes by itself: nothing "
        "is started, and no setting is changed",
    )
    add_scenario(parser)
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="with --scenario: disk that the load uses, where the command is a script or a wrapper "
        "(default: the disk that holds the command)",
    )
    add_memory(parser, "run the command")
    add_run(parser, optional=True)


def run(args: argparse.Namespace) -> int:
    """Record and print the result."""
    if args.probes and args.target == LOCAL:
        raise UsageError(
            "--probes works on targets only; for this machine add --target ssh://root@localhost"
        )
    if args.suite is not None:
        return _suite(args)
    if args.output is None:
        raise UsageError("the following arguments are required: -o/--output")
    capture = _load(args) if args.load else _boot(args) if args.boot else _command(args)
    if args.json:
        print(record_document(capture, str(args.output)).to_json())
    else:
        print(_text(capture, args.output), file=sys.stderr)
    return 0


def _command(args: argparse.Namespace) -> Capture:
    if not args.command_line:
        raise UsageError(
            "no command: add -- COMMAND [ARGUMENT ...], --boot --target TARGET, or --load TIME"
        )
    if args.state_dir:
        raise UsageError("--state-dir is for --boot")
    if args.start:
        raise UsageError("--from is for --boot")
    scenario = scenario_of(args, "a capture")
    if args.device and scenario == IDLE:
        raise UsageError("--device is for --scenario")
    return record(
        run_options(args),
        args.output,
        target=args.target,
        identity=args.identity,
        backend=args.backend,
        read_ahead_kb=args.read_ahead_kb,
        buffer_kib=args.buffer_kib,
        probes=args.probes,
        probe_disk=not args.no_probe,
        scenario=scenario,
        device=args.device,
        memory_kib=args.memory,
        search_s=args.search,
        wait_s=args.wait,
        tell=tell,
    )


def _load(args: argparse.Namespace) -> Capture:
    others = {
        **given_run(args),
        "--backend": args.backend not in (AUTO, "tracefs"),
        "--boot": args.boot,
        "--device": args.device,
        "--from": args.start is not None,
        "--memory": args.memory,
        "--no-probe": args.no_probe,
        "--probes": args.probes,
        "--read-ahead-kb": args.read_ahead_kb,
        "--scenario": args.scenario,
        "--search": args.search is not None,
        "--state-dir": args.state_dir is not None,
    }
    refuse(others, "--load records the machine as it is")
    return record_load(
        args.output,
        args.load,
        target=args.target,
        identity=args.identity,
        buffer_kib=args.buffer_kib,
        wait_s=args.wait,
        tell=tell,
    )


def _suite(args: argparse.Namespace) -> int:
    """Record what a suite lacks."""
    own = {
        **given_run(args),
        "-o": args.output is not None,
        "--boot": args.boot,
        "--target": args.target != LOCAL,
        "--identity": args.identity is not None,
        "--backend": args.backend != AUTO,
        "--read-ahead-kb": args.read_ahead_kb,
        "--buffer-kib": args.buffer_kib is not None,
        "--probes": args.probes,
        "--device": args.device,
        "--from": args.start is not None,
        "--load": args.load is not None,
        "--memory": args.memory,
        "--scenario": args.scenario,
        "--search": args.search is not None,
        "--state-dir": args.state_dir is not None,
    }
    refuse(own, "a suite says itself what to record and where")
    of_suite = record_suite(
        args.suite,
        streams=Streams(stdout=2, stderr=2) if args.json else None,
        probe_disk=not args.no_probe,
        wait_s=args.wait,
        tell=tell,
    )
    if args.json:
        recorded = [str(path) for path, _ in of_suite.recorded]
        present = [str(path) for path in of_suite.present]
        name = of_suite.suite.name
        print(SuiteRecordDocument(suite=name, recorded=recorded, present=present).to_json())
        return 0
    for path, capture in of_suite.recorded:
        print(_text(capture, path), file=sys.stderr)
    new, old = len(of_suite.recorded), len(of_suite.present)
    done = f"{plural(new, 'capture')} recorded, {old} were there"
    then = f"next: foreread predict {shlex.quote(str(args.suite))}"
    print(f"foreread: {printable(f'{done}; {then}')}", file=sys.stderr)
    return 0


def _boot(args: argparse.Namespace) -> Capture:
    _check_boot(args)
    return record_boot(
        args.output,
        target=args.target,
        identity=args.identity,
        duration_s=args.duration,
        until_output=args.until_output,
        read_ahead_kb=args.read_ahead_kb,
        buffer_kib=args.buffer_kib,
        probes=args.probes,
        probe_disk=not args.no_probe,
        search_s=args.search,
        state_dir=args.state_dir or HOOK_FOLDER,
        start=args.start or "scripts",
        wait_s=args.wait,
        tell=tell,
    )


def _check_boot(args: argparse.Namespace) -> None:
    if args.target == LOCAL:
        raise UsageError(
            "--boot reboots a target: name it with --target, for example --target ssh://root@BOARD"
        )
    if args.start == "init" and args.state_dir:
        raise UsageError(
            "--state-dir is not for --from init: when the kernel starts init, only the root is "
            "mounted; leave out one of them"
        )
    of_boot = {"--duration": False, "--until-output": False}
    others = {
        "--backend": args.backend not in (AUTO, "tracefs"),
        "--device": args.device,
        "--memory": args.memory,
        "--scenario": args.scenario,
    }
    refuse({**given_run(args), **of_boot, **others}, "--boot records the boot itself")


def _text(capture: Capture, output: Path) -> str:
    lost = sum(capture.lost.values())
    lines = [
        f"recorded {capture.wall_seconds:.3f} s by {capture.backend}, ended by {capture.ended_by}, "
        f"{ended_text(capture)}, {plural(lost, 'event')} lost: {output}",
        *(f"note: {note}" for note in capture.notes),
    ]
    return "\n".join(f"foreread: {printable(line)}" for line in lines)
