"""Arguments of ``foreread fingerprint`` that say when new patterns are learnt."""

from __future__ import annotations

import argparse
import re

from foreread.tuning.learning import RUNS


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    group = parser.add_argument_group("learn new patterns")
    group.add_argument(
        "--learn-at",
        metavar="HH:MM-HH:MM",
        type=_time,
        action="append",
        default=[],
        help="with --watch and one --apply TUNING: note workloads in TUNING that match no learnt "
        "pattern, and search settings for them at this time of the day (of this machine) while "
        f"there is no workload: up to {RUNS} cold runs that simulate the noted one, and runs that "
        "confirm the result; repeatable (default: never)",
    )
    group.add_argument(
        "--learn-writes",
        metavar="FOLDER",
        type=_folder,
        help="folder on the target in which workloads that write are simulated, a few MiB a run "
        "(default: they are not learnt)",
    )


def _time(text: str) -> tuple[int, int]:
    """Return the minutes of the day in ``22:00-05:30``."""
    match = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])", text)
    begin, until = (
        (60 * int(match[1]) + int(match[2]), 60 * int(match[3]) + int(match[4]))
        if match
        else (0, 0)
    )
    if begin == until:
        raise argparse.ArgumentTypeError(f"{text!r}: write a time of the day such as 02:00-05:00")
    return begin, until


def _folder(text: str) -> str:
    if not (text.startswith("/") and text.isprintable()):
        raise argparse.ArgumentTypeError(f"{text!r}: write an absolute path")
    return text
