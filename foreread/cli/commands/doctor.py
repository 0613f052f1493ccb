"""``foreread doctor``: what works here, and how to fix what does not."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from foreread.boards.base.printable import printable
from foreread.boards.base.written import write_whole
from foreread.boards.open import LOCAL, open_target
from foreread.boards.profile import read_profile, with_judgement
from foreread.boards.profile_toml import encode_profile
from foreread.boards.target import Target
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.output import add_check
from foreread.cli.arguments.profile import check_profile
from foreread.cli.arguments.run import add_wait
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.text.judging import judgement_text
from foreread.documents.doctor import DoctorDocument
from foreread.documents.judge import judge_document
from foreread.judging.judge import judge
from foreread.machine.diagnosis import diagnose
from foreread.recording.boot import remove_boot_hook
from foreread.tracer.doctor.examine import Diagnosis
from foreread.tracer.install.boot_hook import HOOK_FOLDER
from foreread.tracer.local.journal import restore_leftovers
from foreread.tracer.remote.judged import FOLDERS
from foreread.tracer.runs.restored import Restored


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "capture",
        nargs="?",
        metavar="CAPTURE",
        type=Path,
        help="also check whether the machine's memory holds the start of this capture",
    )
    add_target(parser)
    parser.add_argument(
        "--restore",
        action="store_true",
        help="restore the settings that a killed foreread left changed, then check; on a target: "
        "remove the hook that an interrupted record --boot left",
    )
    parser.add_argument(
        "--judge",
        action="store_true",
        help="compare the emulated readahead with the kernel of the machine: run generated "
        "programs there, cold, at several windows (needs root, up to two minutes)",
    )
    parser.add_argument(
        "--folder",
        metavar="DIR",
        help="with --judge: writable folder on the disk to judge (default: the first of "
        f"{', '.join(FOLDERS)} that is on a disk)",
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        type=Path,
        help="with --judge: board profile to store the result in, too",
    )
    add_check(parser, "profile", _check_profile)
    add_wait(parser, "with --judge: ")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis; exit 1 if nothing can be recorded here."""
    if args.judge:
        return _judge(args)
    if args.folder is not None or args.profile is not None or args.wait:
        raise UsageError("--folder, --profile and --wait are for --judge")
    with_start = _start_of(args.capture)
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        restored = _restored(args, target) if args.restore else []
        diagnosis = with_start(diagnose(target))
    if args.json:
        print(_document(diagnosis, restored).to_json())
    else:
        print("\n".join([*_restored_text(restored, args.restore), *_text(diagnosis)]))
    return 0 if diagnosis.can_record else 1


def _start_of(capture: Path | None) -> Callable[[Diagnosis], Diagnosis]:
    """Return what adds the start of a capture to a diagnosis; without a capture, nothing."""
    if capture is None:
        return lambda diagnosis: diagnosis
    # Most calls are about no start, and predict nothing.
    from foreread.machine.start_memory import predicted_start, with_start  # noqa: PLC0415

    return partial(with_start, prediction=predicted_start(capture), capture=capture)


def _check_profile(args: argparse.Namespace) -> None:
    if args.judge:
        check_profile(args.profile)


def _restored(args: argparse.Namespace, target: Target) -> list[Restored]:
    """Restore this machine; a target's guard does so itself, but a boot's hook may be left."""
    if args.target == LOCAL:
        return restore_leftovers()
    return [Restored(HOOK_FOLDER, "removed", "")] if remove_boot_hook(target) else []


def _judge(args: argparse.Namespace) -> int:
    """Judge the kernel; exit 1 if it is not confirmed."""
    if args.restore or args.capture is not None:
        other = "--restore" if args.restore else "CAPTURE"
        raise UsageError(f"--judge and {other} are two commands: repeat with one of them")
    done = judge(
        target=args.target,
        identity=args.identity,
        folder=args.folder,
        wait_s=args.wait,
        tell=tell,
    )
    if args.profile is not None:
        changed = with_judgement(read_profile(args.profile), done.kernel)
        write_whole(args.profile, encode_profile(changed).encode())
    print(judge_document(done).to_json() if args.json else judgement_text(done))
    return 0 if done.confirmed else 1


def _document(diagnosis: Diagnosis, restored: list[Restored]) -> DoctorDocument:
    return DoctorDocument(
        kernel=diagnosis.kernel,
        generation=diagnosis.generation,
        backend=diagnosis.backend,
        findings=diagnosis.findings,
        can_record=diagnosis.can_record,
        restored=restored,
    )


def _restored_text(restored: list[Restored], wanted: bool) -> list[str]:
    if wanted and not restored:
        return ["nothing to restore", ""]
    lines = [
        f"{each.knob}: {each.problem}" if each.problem else f"{each.knob} = {each.value}"
        for each in restored
    ]
    return [f"restored: {printable(line)}" for line in lines]


def _text(diagnosis: Diagnosis) -> list[str]:
    answer = f"recording works here with back-end {diagnosis.backend}"
    if not diagnosis.can_record:
        answer = "recording does not work here: see the remedies below"
    lines = [answer, ""]
    for finding in sorted(diagnosis.findings, key=lambda finding: finding.ok):
        lines.append(f"{'ok ' if finding.ok else '!! '} {finding.name}: {finding.detail}")
        if not finding.ok and finding.remedy:
            lines.append(f"      remedy: {finding.remedy}")
    return [printable(line) for line in lines]
