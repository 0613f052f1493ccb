"""Arguments of the commands that run an application: what to run, and what ends the run."""

from __future__ import annotations

import argparse
import re

from foreread.cli.arguments import UsageError, duration, seconds
from foreread.tracer.runs.options import Ending, RunOptions, Streams


def add_run(
    parser: argparse.ArgumentParser,
    own_stdout: bool = False,
    optional: bool = False,
    printed: str = "",
) -> None:
    """Add the command and the conditions that end its run.

    ``own_stdout``: the command's output to stdout goes to stderr, as with --json. ``optional``:
    there may be no command. ``printed``: where else the help says that its output goes.
    """
    parser.set_defaults(own_stdout=own_stdout)
    parser.usage = f"{parser.prog} [options] -o OUTPUT -- COMMAND [ARGUMENT ...]"
    _add_conditions(parser)
    add_wait(parser)
    printed = "; its output goes to stderr" if own_stdout else printed
    parser.add_argument(
        "command_line",
        metavar="COMMAND",
        nargs="*" if optional else "+",
        help=f"the command and its arguments{printed}",
    )


def add_wait(parser: argparse._ActionsContainer, only: str = "") -> None:
    """Add ``--wait S``; ``only`` says in the help when the option counts."""
    parser.add_argument(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="S",
        help=f"{only}wait up to S seconds if another foreread holds the machine's settings "
        "(default: 0)",
    )


def add_limit(parser: argparse._ActionsContainer) -> None:
    """Add ``--limit S``."""
    parser.add_argument(
        "--limit",
        type=duration,
        default=600.0,
        metavar="S",
        help="maximum duration of one run in seconds (default: 600)",
    )


def _add_conditions(parser: argparse.ArgumentParser) -> None:
    end = parser.add_argument_group("the run ends when the command exits, or")
    end.add_argument("--duration", type=duration, metavar="S", help="after S seconds")
    end.add_argument(
        "--until-idle",
        type=duration,
        metavar="MS",
        help="when no block device was read for MS milliseconds",
    )
    end.add_argument("--until-output", metavar="REGEX", help="when the command's output matches")
    parser.add_argument("--user", metavar="NAME", help="run the command as user NAME")
    parser.add_argument(
        "--keep-running",
        action="store_true",
        help="leave the command running when the run ends (default: terminate it)",
    )
    parser.add_argument(
        "--allow-warm",
        action="store_true",
        help="continue if the caches cannot be shown to be cold",
    )


def given_run(args: argparse.Namespace) -> dict[str, bool]:
    """Return whether each argument of ``add_run`` about the command is given, by its name."""
    return {
        "a command": bool(args.command_line),
        "--duration": args.duration is not None,
        "--until-idle": args.until_idle is not None,
        "--until-output": args.until_output is not None,
        "--user": args.user is not None,
        "--keep-running": args.keep_running,
        "--allow-warm": args.allow_warm,
    }


def run_options(args: argparse.Namespace) -> RunOptions:
    """Return what ``add_run`` parsed; raises UsageError for an invalid expression."""
    if args.until_output is not None:
        try:
            re.compile(args.until_output)
        except re.error as error:
            raise UsageError(f"--until-output: {error}") from error
    return RunOptions(
        command=args.command_line,
        ending=Ending(args.duration, args.until_idle, args.until_output),
        user=args.user,
        streams=Streams(stdout=2, stderr=2) if args.own_stdout or args.json else Streams(),
        keep_running=args.keep_running,
        allow_warm=args.allow_warm,
    )
