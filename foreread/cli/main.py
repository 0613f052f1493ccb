"""The command line: finds the sub-command, and turns errors into one line and an exit code."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, Protocol

from foreread.boards.base.interrupts import Interrupted, orderly_exit
from foreread.boards.base.printable import printable
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.output import add_json, check_outputs
from foreread.cli.text.escaped import escaped_output
from foreread.version import VERSION

# As in the help; each command is a module of foreread.cli.commands. A module is imported only when
# its help or its command is wanted, so that predict does not pay for report's plots.
GROUPS = {
    "the main job": {
        "improve": "do the whole job for one command, up to the boot script",
        "record": "record one cold run of a command",
        "predict": "predict the time of a start at every readahead window",
        "advise": "rank all changes that would make a recorded start faster",
        "confirm": "measure on the board whether the proposed window is faster",
        "tune": "tune window, I/O scheduler and other settings by measured runs",
        "script": "write the boot script that applies the result, or install it",
        "report": "write the board report (HTML, PDF, PNG), or open it",
    },
    "more about recorded starts": {
        "show": "summarise a capture: kernel, disks, files, lost events",
        "diff": "compare two builds, kernels or boards: what changed, and why",
        "forecast": "predict what another kernel does to a recorded start",
        "prefetch": "write the prefetch list of a start, and predict its effect",
        "layout": "write the order of files for an image, and predict its effect",
        "export": "write a start for viewers and tables of other tools",
        "fleet": "analyse thousands of captures into a store, and report it",
    },
    "machines, boards and disks": {
        "doctor": "check what works here, and print how to fix what does not",
        "boards": "list, show and create board profiles; run emulated boards",
        "calibrate": "measure the cost of a disk's requests",
        "sweep": "measure cold runs at every window (the manual method)",
        "top": "show what is read now, by file and process",
        "fingerprint": "classify the running workload, and apply its settings",
    },
}
COMMANDS = {name: summary for group in GROUPS.values() for name, summary in group.items()}
# Names that are gone, and what to type now.
REPLACED = {
    "view": "report CAPTURE --open",
    "validate": "predict CAPTURE --measured SWEEP",
    "fleet tune": "tune --target A --target B -o TUNING -- COMMAND",
    "fleet confirm": "confirm CAPTURE --target A --target B",
}

EXIT_FAILED = 1
EXIT_USAGE = 2


class Parser(argparse.ArgumentParser):
    """The parser of the whole command line; its help lists the commands in groups."""

    def format_help(self) -> str:
        """Return the help."""
        (commands,) = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        choices = {choice.dest: choice for choice in commands._choices_actions}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in GROUPS.items():
            formatter.start_section(title)
            formatter.add_arguments([choices[name] for name in names])
            formatter.end_section()
        options = [action for action in self._actions if action is not commands]
        formatter.start_section("options")
        formatter.add_arguments(options)
        formatter.end_section()
        formatter.add_text("foreread COMMAND --help lists the options of a command.")
        return formatter.format_help()


class Command(Protocol):
    """The interface of each module of foreread.cli.commands."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Run it and return the exit code."""


def command_module(name: str) -> Command:
    """Return the module of a sub-command."""
    module: Command = import_module(f"foreread.cli.commands.{name}")
    return module


def build_parser(names: Sequence[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Return the parser; only the sub-commands in ``names`` get their arguments."""
    # From 3.14 on argparse colours its help, which the streams here would escape.
    plain: dict[str, Any] = {"color": False} if sys.version_info >= (3, 14) else {}
    parser = Parser(
        prog="foreread",
        **plain,
        formatter_class=partial(argparse.HelpFormatter, max_help_position=15),
        description="Find the readahead window that starts an application fastest.",
    )
    parser.add_argument("--version", action="version", version=f"foreread {VERSION}")
    parser.add_argument(
        "--print-completion",
        choices=("bash", "zsh", "fish", "tcsh"),
        help="print a shell completion script",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    for name, summary in COMMANDS.items():
        sentence = f"{summary[:1].upper()}{summary[1:]}."
        sub = commands.add_parser(name, help=summary, description=sentence)
        if name in names:
            command_module(name).add_arguments(sub)
            add_json(sub, default=False)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run foreread and return its exit code: 0 done, 1 failed, 2 wrong usage."""
    with escaped_output():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(argv: list[str]) -> int:
    wanted = [word for word in argv[:1] if word in COMMANDS]
    parser = build_parser(wanted)
    for old, now in REPLACED.items():
        if argv[: len(old.split())] == old.split():
            parser.error(f"foreread {old} is gone; type: foreread {now}")
    args = parser.parse_args(argv)
    if args.command is None and not args.print_completion:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    return _run(args)


def _print_completion(shell: str) -> int:
    import shtab  # noqa: PLC0415  (needed for this only)

    if shell not in shtab.SUPPORTED_SHELLS:
        from foreread.error import ArgumentError  # noqa: PLC0415  (on failure only: numpy)

        text = f"the installed shtab writes no completion for {shell}"
        raise ArgumentError(text, "install a later one: pip install 'shtab>=1.9'")
    parser = build_parser()
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, files: object) -> None:
    """Offer files for each argument that takes no word of a list, as a shell does by itself."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                _complete_files(sub, files)
        elif action.nargs != 0 and action.choices is None:
            vars(action)["complete"] = files


def _run(args: argparse.Namespace) -> int:
    try:
        if args.print_completion:
            code = _print_completion(args.print_completion)
        else:
            check_outputs(args)
            with orderly_exit():  # whatever a command makes for a moment is removed again
                code = command_module(args.command).run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has exited (| head): no message is needed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except UsageError as error:
        print(f"foreread {args.command}: {printable(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return _die_of_interrupt()
    except (Exception, SystemExit) as error:
        if not isinstance(error, _reported()):
            raise
        return _complain(error)


def _reported() -> tuple[type[BaseException], ...]:
    """Return the exceptions that end in one line; all others are bugs, with a traceback."""
    # Imported on failure only: the emulator's base brings numpy.
    from foreread.error import ERRORS  # noqa: PLC0415

    return (*ERRORS, Interrupted, OSError)


def _die_of_interrupt() -> NoReturn:
    """End as a program does that SIGINT killed, so that a calling shell stops too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
    raise SystemExit(128 + signal.SIGINT)


def _complain(error: BaseException) -> int:
    remedy = getattr(error, "remedy", None) or _os_remedy(error)
    text = f"foreread: {_message(error)}" + (f" -- {remedy}" if remedy else "")
    # One line, whatever a hostile file name holds.
    print(printable(text), file=sys.stderr)
    return EXIT_USAGE if isinstance(error, _usage_errors()) else EXIT_FAILED


def _usage_errors() -> tuple[type[BaseException], ...]:
    """Return what the library raises for arguments that make no sense."""
    from foreread import error as of_library  # noqa: PLC0415  (on failure only: numpy)
    from foreread.analyzer import error as of_analyzer  # noqa: PLC0415

    return (of_analyzer.ArgumentError, of_library.ArgumentError)


def _message(error: BaseException) -> str:
    """Return the error's message; an OSError without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _os_remedy(error: BaseException) -> str:
    code = error.errno if isinstance(error, OSError) else None
    return {
        errno.ENOSPC: "free some space, or write to another place with -o",
        errno.EACCES: "run as root, or give a path that you may read or write",
        errno.EPERM: "run as root",
        errno.EROFS: "write to another place with -o",
    }.get(code or 0, "check the path")
