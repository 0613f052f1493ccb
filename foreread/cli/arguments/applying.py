"""Arguments of ``foreread fingerprint`` that say which settings follow the workload."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from foreread.boards.base.outputs import check_file
from foreread.cli.arguments import whole_number
from foreread.cli.arguments.allow import add_allow
from foreread.cli.arguments.output import add_output
from foreread.cli.arguments.run import add_wait

_MOST_PERIODS = 1000
_MOST_PERCENT = 99

_periods = partial(whole_number, least=1, most=_MOST_PERIODS)


def add_applying(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    group = parser.add_argument_group("apply settings by workload")
    group.add_argument(
        "--apply",
        metavar="TUNING",
        type=Path,
        action="append",
        default=[],
        help="with --watch: apply the best settings of this file while a workload that it has "
        "learnt runs; repeatable",
    )
    add_allow(group, "durability")
    group.add_argument(
        "--patience",
        metavar="N",
        type=_periods,
        default=3,
        help="number of periods that a workload must last, and that the original values and then "
        "the settings must each be in force, before they are compared (default: 3)",
    )
    group.add_argument(
        "--worse-percent",
        metavar="P",
        type=partial(whole_number, least=1, most=_MOST_PERCENT, what="whole percent"),
        default=10,
        help="undo settings that lower throughput, or raise the latency of requests, by more than "
        "P percent compared with the original values (default: 10)",
    )
    group.add_argument(
        "--recheck",
        metavar="N",
        type=_recheck,
        default=60,
        help="measure the original values again after N periods, and try undone settings again "
        "after N periods; the number doubles while the result stays the same, up to 32 times; "
        "0: never (default: 60)",
    )
    add_output(
        group,
        "-o",
        "--output",
        metavar="FILE",
        check=check_file,
        help="write a shell script that applies the settings on a board without foreread (actions: "
        "start, stop, status)",
    )
    add_wait(group)


def _recheck(text: str) -> int:
    return 0 if text == "0" else _periods(text)
