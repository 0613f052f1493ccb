"""``foreread doctor``: what works here, and how to fix what does not."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from foreread.cli import printable
from tracer.doctor import Diagnosis, examine
from tracer.journal import Restored, restore_leftovers


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--restore",
        action="store_true",
        help="put back what a killed foreread left changed, then say what works",
    )


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis; exit 1 if nothing can be recorded here."""
    restored = restore_leftovers() if args.restore else []
    diagnosis = examine()
    if args.json:
        document = {"schema": 1, **asdict(diagnosis), "can_record": diagnosis.can_record}
        print(json.dumps({**document, "restored": [asdict(one) for one in restored]}))
    else:
        print("\n".join([*_restored_text(restored, args.restore), *_text(diagnosis)]))
    return 0 if diagnosis.can_record else 1


def _restored_text(restored: list[Restored], asked: bool) -> list[str]:
    if asked and not restored:
        return ["nothing was left to restore", ""]
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
        lines.append(f"recording works here, with back-end {diagnosis.backend}")
    else:
        lines.append("recording does not work here: see the remedies above")
    return [printable(line) for line in lines]
