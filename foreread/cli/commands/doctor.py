"""``foreread doctor``: what works here, and how to fix what does not."""

from __future__ import annotations

import argparse

from boards.open import LOCAL, open_target
from foreread.cli.arguments import UsageError
from foreread.cli.arguments.target import add_target, tell
from foreread.cli.main import printable
from foreread.documents.doctor import DoctorDocument
from tracer.local.doctor import Diagnosis
from tracer.local.journal import Restored, restore_leftovers
from tracer.machines import diagnosis_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--restore",
        action="store_true",
        help="restore the settings that a killed foreread left changed, then check",
    )


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis; exit 1 if nothing can be recorded here."""
    if args.restore and args.target != LOCAL:
        raise UsageError(
            "--restore works on this machine only: the guard on a target restores its settings "
            "by itself"
        )
    restored = restore_leftovers() if args.restore else []
    with open_target(args.target, identity=args.identity, tell=tell) as target:
        diagnosis = diagnosis_of(target)
    if args.json:
        print(_document(diagnosis, restored).to_json())
    else:
        print("\n".join([*_restored_text(restored, args.restore), *_text(diagnosis)]))
    return 0 if diagnosis.can_record else 1


def _document(of: Diagnosis, restored: list[Restored]) -> DoctorDocument:
    return DoctorDocument(
        kernel=of.kernel,
        generation=of.generation,
        backend=of.backend,
        findings=of.findings,
        can_record=of.can_record,
        restored=restored,
    )


def _restored_text(restored: list[Restored], asked: bool) -> list[str]:
    if asked and not restored:
        return ["nothing to restore", ""]
    lines = [
        f"{one.knob}: {one.problem}" if one.problem else f"{one.knob} = {one.value}"
        for one in restored
    ]
    return [f"restored: {printable(line)}" for line in lines]


def _text(diagnosis: Diagnosis) -> list[str]:
    lines = []
    for finding in diagnosis.findings:
        lines.append(f"{'ok ' if finding.ok else '!! '} {finding.name}: {finding.detail}")
        if not finding.ok and finding.remedy:
            lines.append(f"      remedy: {finding.remedy}")
    if diagnosis.can_record:
        lines.append(f"recording works here with back-end {diagnosis.backend}")
    else:
        lines.append("recording does not work here: see the remedies above")
    return [printable(line) for line in lines]
