"""A number of runs or a time, as an argument."""

from __future__ import annotations

import argparse
import re

from foreread.analyzer.tuner.engines.stopping import Budget

_SECONDS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_time(text: str) -> float:
    """Return the seconds of a time with its unit: ``500ms``, ``10s``, ``2m``, ``1h`` or ``1d``."""
    match = re.fullmatch(r"([0-9]{1,9})(ms|[smhd])", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r}: write a time such as 500ms, 10s or 2m")
    return int(match[1]) * float(_SECONDS[match[2]])


def parse_budget(text: str) -> Budget:
    """Return the budget in ``200`` (runs), ``90s``, ``30m``, ``2h`` or ``1d``."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    if not match or not int(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r}: write a number of runs, or a time such as 2h")
    if match[2]:
        return Budget(seconds=parse_time(text))
    return Budget(evaluations=int(match[1]))
