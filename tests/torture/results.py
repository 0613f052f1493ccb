"""The cases of a torture: a record that is written after each of them, and a summary.

A run that ended before its last case is continued by the next run of the same commit with the same
arguments on the same kernel: what a case does depends on the seed and its number alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path

from killing import Case

from bench import ROOT
from foreread.boards.base.written import write_whole

_FIELDS = {one.name for one in fields(Case)}


@dataclass
class Results:
    """All cases so far; ``of`` names the seed, the parts and the commit."""

    file: Path
    of: dict[str, object]
    cases: list[Case] = field(default_factory=list)
    runs: int = 0  # that were ended before
    earlier_s: float = 0.0  # in those
    whole: bool = False
    began: float = field(default_factory=time.monotonic)

    def add(self, case: Case) -> None:
        """Print the case, and write the record."""
        self.cases.append(case)
        print(case.line(), flush=True)
        self.write()

    def end(self) -> None:
        """Write the record of a torture that has had all its cases."""
        self.whole = True
        self.write()

    def write(self) -> None:
        """Write the record."""
        kills = [case for case in self.cases if case.signal != "-"]
        document = {
            **self.of,
            "whole": self.whole,
            "runs": self.runs + 1,
            "kills": len(kills),
            "alive": sum(case.alive for case in kills),
            "in_force": sum(case.in_force for case in kills),
            "changes_left": sum(not case.passed for case in self.cases),
            "seconds": round(self._seconds(), 1),
            "cases": [case.document() for case in self.cases],
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.file, json.dumps(document, indent=1).encode() + b"\n")

    def summary(self) -> str:
        """Return the numbers by part, and in all."""
        kills = [case for case in self.cases if case.signal != "-"]
        alive = [case for case in kills if case.alive]
        signals = Counter(f"{case.signal} {case.victim}" for case in alive)
        took = Counter(case.recovery for case in self.cases)
        runs = f", {self.runs + 1} runs" if self.runs else ""
        lines = [
            "",
            f"{'part':12} cases  kills  while alive      while changed  s a case  left",
            *(
                f"{part:12} {_summary([case for case in self.cases if case.part == part])}"
                for part in dict.fromkeys(case.part for case in self.cases)
            ),
            f"{'all':12} {_summary(self.cases)}",
            f"alive at: {_named(signals)}",
            f"{len(self.cases)} cases, {len(kills)} kills, {len(alive)} while alive, "
            f"in {self._seconds() / 60:.1f} min{runs}",
            f"recovery: {_named(took)}",
            f"changes left: {sum(not case.passed for case in self.cases)}",
            f"the record: {self.file}",
        ]
        return "\n".join(lines)

    def _seconds(self) -> float:
        return self.earlier_s + time.monotonic() - self.began


def results(file: Path, seed: int, parts: list[str], kills: int) -> Results:
    """Return those in the file if they are of the same torture and not whole, else none."""
    about = {"seed": seed, "parts": parts, "planned": kills, "commit": _commit()}
    of = {**about, "kernel": os.uname().release}
    try:
        earlier = json.loads(file.read_text())
        same = {key: earlier[key] for key in of} == of and not earlier["whole"]
        if not same or not of["commit"] or str(of["commit"]).endswith("-dirty"):
            return Results(file, of)
        cases = [Case(**{key: case[key] for key in _FIELDS}) for case in earlier["cases"]]
        return Results(file, of, cases, earlier["runs"], earlier["seconds"])
    except (OSError, ValueError, LookupError, TypeError):  # another version's, or torn
        return Results(file, of)


def _commit() -> str:
    """Return the commit of the tree, with "-dirty" if it was changed since; empty without git."""
    words = ["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _named(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counter.items()))


def _summary(cases: list[Case]) -> str:
    kills = [case for case in cases if case.signal != "-"]
    alive = sum(case.alive for case in kills)
    in_force = sum(case.in_force for case in kills)
    share, changed = (100 * part / max(1, len(kills)) for part in (alive, in_force))
    mean_s = sum(case.seconds for case in cases) / max(1, len(cases))
    left = sum(not case.passed for case in cases)
    return (
        f"{len(cases):5}  {len(kills):5}  {alive:5} ({share:3.0f} %)    {in_force:5} "
        f"({changed:3.0f} %)  {mean_s:8.1f}  {left:4}"
    )
