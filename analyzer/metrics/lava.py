"""Metrics as calls of ``lava-test-case``, for the shell of a LAVA test.

LAVA reads the results from the console: an id has no space and no ``>``, and is a folder's name.
https://docs.lavasoftware.org/lava/writing-tests.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

from foreread.analyzer.metrics.metric import Metric, title_of

_HEAD = "# Source this in a LAVA test: it reports the results of foreread.\n"
_MOST = 100  # characters of an id


def lava(metrics: Sequence[Metric]) -> bytes:
    """Return a line of POSIX sh for each metric; one above the limit has the result ``fail``."""
    lines: dict[str, str] = {}
    for metric in metrics:
        words = f"{metric.name} {metric.labels['window']} {title_of(metric.labels)}"
        case = _id(words)
        if case in lines:
            case += f"-{crc32(words.encode(errors='surrogatepass')):08x}"
        result = "fail" if metric.failed else "pass"
        lines[case] = (
            f"lava-test-case {case} --result {result} --units {metric.unit} "
            f"--measurement {metric.value!r}\n"
        )
    return "".join([_HEAD, *lines.values()]).encode()


def _id(words: str) -> str:
    """Return words as the id of a test case, which begins with a letter: no option, no dot file."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", words).strip("-")[:_MOST]
