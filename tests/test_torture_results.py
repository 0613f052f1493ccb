"""A torture that was ended is continued where it ended, if it is the same torture."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
COMMIT = "0123456789" * 4
OTHER = "9" * 40
# For each commit and seed makes one more of three cases; prints how many there were before.
RUN = """
import json, os, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from killing import Case
from results import results
for os.environ["COMMIT"], seed in json.loads(sys.argv[1]):
    made = results(Path("torture.json"), seed, ["record"], 3)
    number = len(made.cases)
    made.add(Case(number, "record", "KILL", "parent", 0.5, "record", alive=True))
    if number == 2:
        made.end()
    print("before", number)
    made.summary()
"""


def earlier_cases(folder, *runs):
    """Make one case in each run, named by its commit and seed; return how many were there."""
    git = folder / "git"
    git.write_text('#!/bin/sh\necho "$COMMIT"\n')
    git.chmod(0o755)
    paths = [str(TESTS / "torture"), str(TESTS / "support"), str(TESTS.parent)]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(runs), *paths],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = [line.split() for line in done.stdout.splitlines()]
    return [int(words[1]) for words in said if words[0] == "before"]


@pytest.mark.thorough
def test_ended_torture_is_continued_until_it_is_whole(tmp_path):
    same = COMMIT, 1
    assert earlier_cases(tmp_path, same, same, same) == [0, 1, 2]
    record = json.loads((tmp_path / "torture.json").read_text())
    assert (record["runs"], record["whole"], record["kills"], record["alive"]) == (3, True, 3, 3)
    assert earlier_cases(tmp_path, same) == [0]


@pytest.mark.thorough
def test_another_torture_begins_anew(tmp_path):
    changed = f"{COMMIT}-dirty"
    runs = [(COMMIT, 1), (COMMIT, 2), (OTHER, 2), (changed, 2), (changed, 2), ("", 2), ("", 2)]
    assert earlier_cases(tmp_path, *runs) == [0] * len(runs)
