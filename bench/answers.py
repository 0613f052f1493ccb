"""How long a user waits for an answer about the shipped capture, start of Python included.

    python bench/answers.py                              # predict, advise and report
    python bench/answers.py advise --before ../other     # beside another checkout, in turns

Prints JSON: of each command the least wall and CPU seconds of several processes (the processor time
of all threads, which does not count what else runs), and the peak of resident MiB. ``--before`` is
a checkout with built extensions, such as one of the last release; ``times`` is how much less
processor time this one takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
EXAMPLE = "examples/python-start/python-start"
COMMANDS = {
    "predict": ["predict", f"{EXAMPLE}.capture.tar.xz", "--json"],
    "predict-loads": [
        *("predict", f"{EXAMPLE}.capture.tar.xz", "--json"),
        *("--load", "reader", "--load", "writer"),
    ],
    "advise": ["advise", f"{EXAMPLE}.capture.tar.xz", "--json"],
    "report": ["report", f"{EXAMPLE}.capture.tar.xz", f"{EXAMPLE}.sweep.json", "-o", "report"],
}
MAIN = "import sys; from foreread.cli.main import main; sys.exit(main())"
Took = tuple[float, float, float]  # wall s, CPU s, peak MiB


def took(tree: Path, words: list[str], folder: str) -> Took:
    """Return what one process takes that executes a command of a checkout in a folder."""
    words = [str(HERE / word) if word.startswith("examples/") else word for word in words]
    kept = {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(tree)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench/answers.py: {words[0]} failed: {process.returncode}")
    wall = time.perf_counter() - begin
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def least(several: list[Took]) -> dict[str, float]:
    """Return the least of each figure of several processes."""
    wall, cpu, peak = (min(column) for column in zip(*several, strict=True))
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mib": round(peak, 1)}


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", choices=[*COMMANDS, []], metavar="COMMAND")
    parser.add_argument("--before", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    trees = {"now": HERE} | ({"before": args.before.resolve()} if args.before else {})
    results = {}
    for command in args.commands or COMMANDS:
        runs: dict[str, list[Took]] = {name: [] for name in trees}
        for _ in range(args.repeat):
            for name, tree in trees.items():
                with tempfile.TemporaryDirectory() as folder:
                    runs[name].append(took(tree, COMMANDS[command], folder))
        figures: dict[str, object] = {name: least(own) for name, own in runs.items()}
        if "before" in runs:
            cpu = {name: min(cpu for _, cpu, _ in own) for name, own in runs.items()}
            figures["times"] = round(cpu["before"] / cpu["now"], 2)
        results[command] = figures
    print(json.dumps({"repeat": args.repeat, "commands": results}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
