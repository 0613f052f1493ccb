"""The three experiments of the 2010 paper again, on an emulated board.

    python -m studies.paper.run [-o DIR] [player] [browser] [tv] [squashfs]

Of each, one cold run is recorded at read_ahead_kb=0. From it F² + G² picks the quasi-optimal
window, and the kernel's emulation the one of the fewest seconds on a device. The paper's list of
windows is measured; the optimisation that the picks miss is printed beside the paper's.
DIR/paper.json has it all, the captures are beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from foreread.analyzer.predict.seconds import LADDER
from studies.paper.answer import Answer, Outcome, Row, answer, measured_text, summary_text
from studies.paper.experiments import BOARD, DEVICES, EXPERIMENTS, PAGE_KIB, Device, Experiment

TARGET = f"paper-{os.getpid()}"  # what the board is called that is started and stopped here


def foreread(*words: object) -> str:
    """Run a command of foreread and return its stdout; what it tells goes to stderr as it comes."""
    line = [sys.executable, "-m", "foreread", *map(str, words)]
    return subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout


def board_words(experiment: Experiment, device: Device) -> list[object]:
    """Return the options of a board with the application and a disk of the device's cost."""
    words: list[object] = ["--fs", experiment.fs, "--memory-mib", experiment.memory_mib]
    words += ["--latency-us", device.latency_us, "--ns-per-kib", device.ns_per_kib]
    return words + [word for name in experiment.packages for word in ("--package", name)]


def record(experiment: Experiment, capture: Path) -> None:
    """Record one cold run on a live board, by its serial port.

    An ssh server would hold libc in memory, which is cold in the runs that are measured.
    """
    words = board_words(experiment, DEVICES[0])
    board = json.loads(foreread("boards", "start", BOARD, "--name", TARGET, *words, "--json"))
    try:
        end_ssh_server(board)
        words = ["--target", board["console"], "--allow-warm", "--json", "-o", capture]
        foreread("record", *words, "--", *experiment.command)
    finally:
        foreread("boards", "stop", TARGET)


def end_ssh_server(board: dict[str, str]) -> None:
    """End it through itself: ssh then says, by 255, that the connection was lost."""
    url = urlsplit(board["url"])
    files = ["-i", board["identity"], "-o", f"UserKnownHostsFile={board['known_hosts']}"]
    login = ["ssh", *files, "-p", str(url.port), f"{url.username}@{url.hostname}"]
    line = [*login, "busybox killall dropbear"]
    done = subprocess.run(line, stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 255:
        raise subprocess.CalledProcessError(done.returncode or 1, line)


def predict(capture: Path, device: Device, windows: Sequence[int]) -> dict[str, Any]:
    """Return what is predicted for a device of known cost from a capture made on any.

    The picks are among the ``windows`` and those that foreread replays by default.
    """
    kib = ",".join(str(window * PAGE_KIB) for window in sorted({*windows, *LADDER}))
    cost = capture.with_name(f"{device.name}.toml")
    cost.write_text(device.as_toml())
    words = ("--model", "linux", "--windows", kib, "--device-model", cost, "--json")
    prediction: dict[str, Any] = json.loads(foreread("predict", capture, *words))
    return prediction


def measure(experiment: Experiment, device: Device, windows: list[int], repeat: int) -> list[Row]:
    """Return what cold runs took, a row for each window."""
    kib = ",".join(str(window * PAGE_KIB) for window in windows)
    runs = ["--windows", kib, "--repeat", repeat, "--time-out", 3600, "--json"]
    words = [*board_words(experiment, device), *runs, "--", *experiment.command]
    results = json.loads(foreread("boards", "run", BOARD, *words))["runs"]
    return [
        _row(window, [run for run in results if run["read_ahead_kb"] == window * PAGE_KIB])
        for window in windows
    ]


def _row(window: int, runs: list[dict[str, int]]) -> Row:
    seconds = [run["guest_ns"] / 1e9 for run in runs]
    requests = median(run["requests"] for run in runs)
    pages = median(run["read_kib"] for run in runs) / PAGE_KIB
    return Row(window, median(seconds), requests, pages, seconds)


def run(name: str, folder: Path, repeat: int) -> Outcome:
    """Make one experiment and print its tables as they come."""
    begin = time.monotonic()
    experiment, capture = EXPERIMENTS[name], folder / f"{name}.capture"
    print(f"\n== {name}: {experiment.title}", flush=True)
    record(experiment, capture)
    predictions = {device.name: predict(capture, device, experiment.windows) for device in DEVICES}
    answers: list[Answer] = []
    for device in DEVICES:
        total = predictions[device.name]["total"]
        picked = (total["quasi_optimal"], total["predicted_best"])
        rows = measure(experiment, device, sorted({*experiment.windows, *picked} - {None}), repeat)
        answers.append(answer(device.name, rows, total, experiment.default))
        print(f"\n{device}\n{measured_text(answers[-1], experiment.paper)}", flush=True)
    return Outcome(name, experiment, predictions, answers, time.monotonic() - begin)


def main() -> int:
    """Run the named experiments, all by default, and print the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help=", ".join(EXPERIMENTS))
    parser.add_argument("-o", "--output", type=Path, default=Path("paper-out"), metavar="DIR")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="cold runs a window (1)")
    args = parser.parse_args()
    for name in set(args.names) - set(EXPERIMENTS):
        parser.error(f"no experiment {name!r}: say {', '.join(EXPERIMENTS)}")
    if args.output.exists():
        parser.error(f"{args.output} exists already: give another folder with -o, or remove it")
    args.output.mkdir(parents=True)
    outcomes: list[Outcome] = []
    try:
        for name in args.names or EXPERIMENTS:
            outcomes.append(run(name, args.output, args.repeat))
            document = json.dumps([asdict(outcome) for outcome in outcomes], indent=1)
            (args.output / "paper.json").write_text(document + "\n")
    except subprocess.CalledProcessError as error:  # foreread has said what went wrong
        return error.returncode
    except KeyboardInterrupt:
        return 130
    print(f"\n{summary_text(outcomes)}\n\nAll of it: {args.output / 'paper.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
