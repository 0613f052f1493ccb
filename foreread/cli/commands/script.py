"""``foreread script``: the boot script or udev rule that applies window or genes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypedDict

from msgspec import UNSET

from foreread.analyzer.apply import ApplyPlan, Script, script
from foreread.analyzer.apply.make import replay_of
from foreread.analyzer.apply.plan import DEFAULT_ATTEMPTS, STATE_DIR
from foreread.analyzer.predict.criterion import PUBLISHED
from foreread.analyzer.tuner.findings.results import read_results
from foreread.analyzer.tuner.store.store_file import is_store
from foreread.boards.base.outputs import check_folder
from foreread.boards.base.printable import printable
from foreread.boards.emulated.live import EmulatedTarget
from foreread.boards.open import LOCAL, open_target
from foreread.boards.origin import origins_of
from foreread.boards.target import Target, TargetError
from foreread.cli.arguments import UsageError, whole_number
from foreread.cli.arguments.allow import add_allow
from foreread.cli.arguments.capture import add_capture
from foreread.cli.arguments.load import add_load
from foreread.cli.arguments.model import add_criterion, add_image, add_model, question_of
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.recording import recording_of
from foreread.cli.arguments.target import add_target, target_words, tell
from foreread.cli.arguments.windows import window_kb
from foreread.documents.script import (
    CheckedDocument,
    InstalledPart,
    PrefetchPart,
    ScriptDocument,
    UninstalledDocument,
    WrittenSetting,
)
from foreread.machine.install import install
from foreread.recording.words import command_line
from foreread.tracer.doctor.examine import examine
from foreread.tracer.formats.boot_files import RULE
from foreread.tracer.install.init_system import INITS
from foreread.tracer.install.install import Installed, check_installed, uninstall

AUTO = "auto"
_TRIGGER = "udevadm trigger --action=change --subsystem-match=block"


class _Counted(TypedDict):
    attempts: int
    state_dir: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_capture(parser, nargs="?", metavar="CAPTURE|TUNING")
    add_model(parser)
    add_image(parser)
    add_criterion(parser)
    add_load(parser)
    add_output(
        parser,
        "-o",
        "--output",
        metavar="DIR",
        check=check_folder,
        help="folder to write the files to",
    )
    parser.add_argument(
        "--read-ahead-kb",
        type=window_kb,
        metavar="N",
        help="set this window instead of the predicted one",
    )
    parser.add_argument(
        "--after-boot-kb",
        type=window_kb,
        metavar="N",
        help="switch to this window when the board has booted",
    )
    parser.add_argument(
        "--after-seconds",
        type=int,
        metavar="S",
        help="the boot is over S seconds after its start (default: when the last init script or "
        "multi-user.target has been reached, and the script is called with `boot-done`)",
    )
    parser.add_argument(
        "--attempts",
        type=partial(whole_number, least=0, most=99, what="a number of boots"),
        metavar="N",
        help="leave the board's defaults after N boots in a row that did not reach the end of the "
        f"boot (default: {DEFAULT_ATTEMPTS}; 0: never)",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        help="folder on the board where hung boots are counted; it must survive a power cut and be "
        f"writable when the script runs (default: {STATE_DIR})",
    )
    parser.add_argument(
        "--disk",
        action="append",
        default=[],
        dest="disks",
        metavar="DEV=NAME",
        type=_disk,
        help="for a trace of another tool, which has numbers of disks only: name of the disk DEV "
        "(major:minor), or a directory where it is mounted; repeatable",
    )
    parser.add_argument(
        "--prefetch",
        metavar="LIST",
        type=Path,
        help="also read the files in this list while booting (from `foreread prefetch`)",
    )
    parser.add_argument(
        "--replayer",
        metavar="FILE",
        type=Path,
        help="program that reads the list: foreread-prefetch.c compiled for the board (default: a "
        "shell script, which needs dd)",
    )
    parser.add_argument(
        "--no-restore",
        action="store_true",
        help="`stop` keeps the new values (default: it restores the old ones)",
    )
    add_allow(parser, "durability")
    _add_installing(parser)


def _disk(text: str) -> tuple[str, str]:
    """Return number and name of a disk, as an argument's type."""
    dev, _, name = text.partition("=")
    if not dev or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not DEV=NAME, for example 254:6=dm-6")
    return dev, name


def _add_installing(parser: argparse.ArgumentParser) -> None:
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--install",
        action="store_true",
        help="install the udev rule on the target if udev runs and the rule is enough, else the "
        "script, to run at every boot",
    )
    action.add_argument(
        "--uninstall",
        action="store_true",
        help="restore the target's old values and remove the files that --install added",
    )
    action.add_argument(
        "--check",
        action="store_true",
        help="show whether the installed values are in force on the target, and which "
        "udev rule, tuned profile, service or script sets others",
    )
    add_target(parser)
    parser.add_argument(
        "--init",
        choices=(AUTO, *INITS),
        default=AUTO,
        help="init system of the target that starts the script, or udev for the rule (default: "
        "udev if it runs and the rule is enough, else detected from process 1)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="write a window that measured runs contradict; install on a board other than the "
        "recorded one; replace files that were changed since",
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and print the settings; install or remove them if requested."""
    _check_usage(args)
    if args.uninstall:
        return _uninstall(args)
    if args.check:
        return _check(args)
    written = _of_tuning(args) if is_store(args.capture) else _of_capture(args)
    plan, files = written.plan, written.files
    done = _install(args, plan) if args.install else None
    if args.json:
        print(_document(plan, files, done).to_json())
        return 0
    for setting in plan.settings:
        where = f"{setting.disk.name}/" if setting.disk else ""
        print(printable(f"{where}{setting.knob} = {setting.value}: {setting.reason}"))
    if plan.udev_is_enough:
        rule = args.output / RULE
        print(f"udev rule: {rule} (enough on a board with udev; the script does what it cannot)")
    print(f"script: {files[0]}\nhow to install: {args.output / 'INSTALL.md'}")
    if done:
        _print_installed(done, target_words(args))
    return 0


def _check_usage(args: argparse.Namespace) -> None:
    options = (
        *(args.capture, args.model, args.device_model, args.output),
        *(args.read_ahead_kb, args.after_boot_kb, args.after_seconds),
        *(args.prefetch, args.replayer, _published(args), args.allow or None),
        *(args.attempts, args.state_dir, args.disks or None, args.loads or args.weigh or None),
    )
    if args.uninstall or args.check:
        action = "--uninstall" if args.uninstall else "--check"
        if any(given is not None for given in options) or args.init != AUTO or args.no_restore:
            raise UsageError(f"{action} takes no options except --target and --force")
        return
    for given, name in ((args.capture, "CAPTURE"), (args.output, "-o DIR")):
        if given is None:
            raise UsageError(f"{name} is missing")
    if args.allow and not is_store(args.capture):
        raise UsageError("--allow is for a TUNING: a CAPTURE sets windows only")
    if args.replayer is not None and args.prefetch is None:
        raise UsageError("--replayer needs a list: add --prefetch LIST")
    if args.after_seconds is not None and args.after_boot_kb is None and args.attempts == 0:
        raise UsageError("--after-seconds with --attempts 0 needs a window: add --after-boot-kb N")
    if args.state_dir is not None and args.attempts == 0:
        raise UsageError("--state-dir cannot be used with --attempts 0")
    if not args.install and (args.target != LOCAL or args.init != AUTO):
        raise UsageError("--target and --init need --install, --uninstall or --check")


def _published(args: argparse.Namespace) -> str | None:
    """Return the criterion if it is not the default one."""
    return PUBLISHED if args.criterion == PUBLISHED else None


def _of_capture(args: argparse.Namespace) -> Script:
    if args.prefetch is not None:
        replay_of(args.prefetch, args.replayer)  # wrong files are refused before the prediction
    recording = recording_of(args.capture, args)
    return script(
        question_of(args).predicted(recording),
        args.output,
        capture=recording.capture,
        read_ahead_kb=args.read_ahead_kb,
        after_boot_kb=args.after_boot_kb,
        after_seconds=args.after_seconds,
        restore_on_stop=not args.no_restore,
        prefetch=args.prefetch,
        replayer=args.replayer,
        **_counted(args),
        disks=dict(args.disks),
        force=args.force,
        tell=tell,
    )


def _of_tuning(args: argparse.Namespace) -> Script:
    for given, name in (
        *((args.model, "--model"), (args.device_model, "--device-model")),
        *((args.read_ahead_kb, "--read-ahead-kb"), (args.after_boot_kb, "--after-boot-kb")),
        *((_published(args), "--criterion"), (args.disks or None, "--disk")),
        *((args.loads or None, "--load"), (args.weigh or None, "--weigh")),
    ):
        if given is not None:
            raise UsageError(f"{name} cannot be used with a TUNING, only with a CAPTURE")
    return script(
        read_results(args.capture),
        args.output,
        after_seconds=args.after_seconds,
        restore_on_stop=not args.no_restore,
        prefetch=args.prefetch,
        replayer=args.replayer,
        allow=args.allow,
        tell=tell,
        **_counted(args),
    )


def _counted(args: argparse.Namespace) -> _Counted:
    """Return how the script counts boots that did not end."""
    return {
        "attempts": DEFAULT_ATTEMPTS if args.attempts is None else args.attempts,
        "state_dir": args.state_dir or STATE_DIR,
    }


def _install(args: argparse.Namespace, plan: ApplyPlan) -> Installed:
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        if isinstance(target, EmulatedTarget):
            raise TargetError(
                f"{args.target} was booted for this command only and stops when the command ends",
                f"run `foreread boards start {args.target}`, then repeat this command",
            )
        init = None if args.init == AUTO else args.init
        return install(target, plan, init, force=args.force)


def _document(plan: ApplyPlan, files: Sequence[Path], done: Installed | None) -> ScriptDocument:
    settings = [
        WrittenSetting(s.disk.name if s.disk else None, s.knob, s.value, s.phase)
        for s in plan.settings
    ]
    return ScriptDocument(
        settings=settings,
        losses=list(plan.losses),
        files=[str(file) for file in files],
        prefetch=PrefetchPart(len(plan.prefetch.listing)) if plan.prefetch else UNSET,
        installed=_installed(done) if done else UNSET,
    )


def _installed(done: Installed) -> InstalledPart:
    manifest = done.manifest
    return InstalledPart(
        init=manifest.init,
        paths=manifest.paths,
        lines=manifest.lines,
        fits=done.fits,
        check=done.would_do,
        notes=done.notes,
    )


def _print_installed(done: Installed, target: list[str]) -> None:
    manifest = done.manifest
    print(f"installed for {manifest.init}; active from the next boot:")
    for path in manifest.files:
        print(f"  {path}")
    for path, to in manifest.links.items():
        print(f"  {path} -> {to}")
    for path, lines in manifest.lines.items():
        for line in lines:
            print(f"  {path}: {line}")
    print("values on the target:")
    for line in done.would_do:
        print(f"  {printable(line)}")
    for note in done.notes:
        print(f"note: {note}")
    undo = command_line(["script", "--uninstall", *target])
    start = f"{manifest.script} start" if manifest.script else _TRIGGER
    print(f"apply now, without a reboot: {start}")
    print(f"boot once without it: add foreread=off to the kernel command line\nundo: {undo}")


def _uninstall(args: argparse.Namespace) -> int:
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        removed = uninstall(target, force=args.force)
    if args.json:
        print(UninstalledDocument(removed=removed.paths, restored=removed.said).to_json())
        return 0
    for line in removed.said:
        print(printable(line))
    for path in removed.paths:
        print(f"removed: {path}")
    return 0


def _check(args: argparse.Namespace) -> int:
    """Print the status of the script or rule, else all windows; exit 1 if not all is as wanted."""
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        checked = check_installed(target)
        lines = checked.lines if checked else _windows(target)
    holds = checked is not None and checked.holds
    if args.json:
        script = checked.program if checked else None
        print(CheckedDocument(script=script, holds=holds, lines=lines).to_json())
        return 0 if holds else 1
    if checked is None:
        print("no boot script or udev rule of foreread is installed on the target; its windows:")
    for line in lines:
        print(printable(line))
    return 0 if holds else 1


def _windows(target: Target) -> list[str]:
    """Return each disk's window and what sets it."""
    disks = examine(target).disks
    origins = origins_of(target, [disk.knob for disk in disks])
    return [
        line
        for disk in disks
        for line in (
            f"{disk.knob}: {disk.read_ahead_kb}",
            *(f"{disk.knob}: {sentence}" for sentence in origins[disk.knob]),
        )
    ]
