"""Limits on reads of a disk in other cgroups; a measurement outside of these is not limited."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from foreread.boards.target import Target

_HERE = Path(__file__).parent
_TIMEOUT_S = 60.0
_MOST_ANSWER = 1 << 16


@dataclass(frozen=True)
class Limit:
    """A cgroup's limit on reads: its directory, and the line that the kernel shows."""

    folder: str
    line: str

    def warning(self, command: list[str]) -> str:
        """Return the warning, with the way to run ``command`` within the limit."""
        inside = f'echo $$ >{shlex.quote(self.folder)}/cgroup.procs; exec "$@"'
        again = shlex.join(["sh", "-c", inside, "sh", *command])
        return (
            f"reads of this disk are limited in the cgroup {self.folder} ({self.line}), and this "
            "measurement runs outside of it: it measures the disk without that limit. "
            f"To measure with the limit, run: {again}"
        )


def limits_elsewhere(target: Target, disk: str) -> list[Limit]:
    """Return the limits on reads of a disk that do not hold for commands run on the target."""
    words = ["sh", "-c", (_HERE / "limits.sh").read_text(), "sh", disk]
    answer = target.run(words, timeout_s=_TIMEOUT_S).stdout[:_MOST_ANSWER]
    return parse(os.fsdecode(answer))


def parse(answer: str) -> list[Limit]:
    """Return the limits of other cgroups in what limits.sh printed."""
    own: list[str] = []
    limits: list[Limit] = []
    for line in answer.splitlines():
        key, _, rest = line.partition(" ")
        if key == "own":
            own.append(rest.rstrip("/") + "/")
        elif key == "limit" and rest.count(" ") >= 2:
            folder, path, text = rest.split(" ", 2)
            inside = any(each.startswith(path.rstrip("/") + "/") for each in own)
            if not inside:
                limits.append(Limit(folder, " ".join(text.split())))
    return list(dict.fromkeys(limits))
