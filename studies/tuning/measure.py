"""Measure a whole space of settings once, so that tuners can compete on real figures.

Every combination of scheduler, its nr_requests, window and swappiness is tried in every scenario
on an emulated board, whose start-up times are the guest's own and do not depend on this machine's
load. One trial a combination and round; rounds are shuffled, so that no drift favours a setting. A
scenario evicts pages of running programs, which later starts find or not: so each has a board of
its own in each round. Trials are lines of the raw file once made: what is stopped goes on where it
was. A start that was ended once is not tried again: it takes longest, and would be ended again.

    python -m studies.tuning.measure [--landscape madplay|php] [--rounds N] [--minutes N]
        [SCENARIO...]
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from tempfile import NamedTemporaryFile

from foreread.boards.emulated.live import EmulatedTarget, LiveOptions
from foreread.boards.target import Target, TargetError

HERE = Path(__file__).parent
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
NR_REQUESTS = (2, 64)  # what a scheduler has on a disk that takes one request, and more
WINDOWS_KB = (8, 16, 32, 64, 128, 256, 512, 1024)
SWAPPINESS = (0, 60, 200)
LIMIT_S = 20  # guest seconds, after which a start is ended
BATCH = 12  # trials that one command on the board makes
_SEED = 5
_FOLDER = "/run/study"
_BATCH_S = 900.0
_DISCARDED = ("none", "none", 128, 60)  # the first runs after a boot read more

Setting = tuple[str, int | str, int, int]  # scheduler, nr_requests, read_ahead_kb, swappiness
Point = tuple[str, str, int | str, int, int]  # the scenario, and the setting


@dataclass(frozen=True)
class Study:
    """What is started where: ``rounds`` by scenario; memory leaves ``room_mib``."""

    raw: Path
    board: LiveOptions
    command: tuple[str, ...]
    rounds: Mapping[str, int]
    room_mib: int = 8


_MADPLAY = Study(
    raw=HERE / "raw/start-up.jsonl",
    board=LiveOptions("x86_64", kernel="6.12", memory_mib=244),
    command=("madplay", "-Q", "-o", "null:", "-t", "1", "/sample.mp3"),
    # Quiet ones need no third; one in memory takes as long as all others together.
    rounds={"idle": 2, "reader": 3, "writer": 3, "memory": 1},
    room_mib=1,
)
STUDIES = {
    "madplay": _MADPLAY,
    # Its first three rounds are those of "madplay".
    "writer": replace(_MADPLAY, raw=HERE / "raw/start-up-writer.jsonl", rounds={"writer": 8}),
    "php": Study(
        raw=HERE / "raw/start-up-php.jsonl",
        board=LiveOptions("arm64", packages=("php8.2-cli",), latency_ns=100_000, ns_per_kib=25_000),
        command=("php8.2", "-r", "echo 1;"),
        rounds={"idle": 2, "reader": 3, "writer": 2},
    ),
}


@dataclass(frozen=True)
class Measured:
    """One start, and what the disk and the swap did meanwhile; ``status`` 137 is the limit's."""

    scenario: str
    scheduler: str
    nr_requests: int | str
    read_ahead_kb: int
    swappiness: int
    status: int
    guest_ns: int
    requests: int
    sectors: int
    swapped_in: int
    swapped_out: int

    @property
    def point(self) -> Point:
        """Return the scenario and the settings of the trial."""
        return self.scenario, self.scheduler, self.nr_requests, self.read_ahead_kb, self.swappiness


def read_raw(path: Path) -> list[Measured]:
    """Return the trials in the raw file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Measured(**json.loads(line)) for line in lines]


def all_settings() -> Iterator[Setting]:
    """Yield every combination; without a scheduler there is no nr_requests to choose."""
    for scheduler, nr_requests in itertools.product(SCHEDULERS, NR_REQUESTS):
        if scheduler != "none" or nr_requests == NR_REQUESTS[0]:
            depth = "none" if scheduler == "none" else nr_requests
            for window, swappiness in itertools.product(WINDOWS_KB, SWAPPINESS):
                yield scheduler, depth, window, swappiness


def todo(
    rounds: Mapping[str, int], done: list[Measured], missed: Counter[Point] | None = None
) -> Iterator[list[Point]]:
    """Yield the missing trials of one round and scenario at a time.

    ``rounds`` by scenario. ``missed`` counts trials that could not be made; each counts as made.
    """
    counts = Counter(trial.point for trial in done) + (missed or Counter())
    counts += Counter(
        {trial.point: rounds.get(trial.scenario, 0) for trial in done if trial.status != 0}
    )
    settings = list(all_settings())
    for number, scenario in itertools.product(range(max(rounds.values())), rounds):
        order = random.Random(_SEED + number).sample(settings, len(settings))
        points = [(scenario, *setting) for setting in order if number < rounds[scenario]]
        if pending := [point for point in points if counts[point] <= number]:
            yield pending


def prepare(board: Target, study: Study, scenario: str) -> None:
    """Bring the board what the trials need, and make the first runs in the scenario."""
    board.run(["mkdir", "-p", _FOLDER])
    board.push(HERE / "trials.sh", f"{_FOLDER}/trials.sh")
    with NamedTemporaryFile() as file:
        file.write((resources.files("foreread.tracer.remote") / "load.sh").read_bytes())
        file.flush()
        board.push(Path(file.name), f"{_FOLDER}/load.sh")
    make(board, study, [(scenario, *_DISCARDED)] * 3)


def make(board: Target, study: Study, points: list[Point]) -> list[Measured]:
    """Make the trials on the board in that order; report and leave out one that fails."""
    text = "".join(" ".join(map(str, point)) + "\n" for point in points)
    words = ["sh", f"{_FOLDER}/trials.sh", _FOLDER, str(study.room_mib), str(LIMIT_S)]
    words += study.command
    answer = board.run(words, stdin=text.encode(), timeout_s=_BATCH_S).stdout.decode()
    measured = []
    for line in answer.splitlines():
        if line.startswith("error "):
            print(line, flush=True)
            continue
        scenario, scheduler, depth, *numbers = line.split()
        nr_requests = "none" if depth == "none" else int(depth)
        measured.append(Measured(scenario, scheduler, nr_requests, *map(int, numbers)))
    return measured


def measure(study: Study, rounds: Mapping[str, int], end: float) -> None:
    """Add to the raw file what it lacks of those rounds, until ``end`` (monotonic seconds)."""
    missed: Counter[Point] = Counter()
    while time.monotonic() < end:
        pending = next(todo(rounds, read_raw(study.raw), missed), None)
        if pending is None:
            break
        # A board that fails is booted anew.
        with suppress(TargetError), EmulatedTarget(study.board, print) as board:
            prepare(board, study, pending[0][0])
            for at in range(0, len(pending), BATCH):
                batch = pending[at : at + BATCH]
                measured = make(board, study, batch)
                with study.raw.open("a") as raw:
                    raw.writelines(json.dumps(asdict(trial)) + "\n" for trial in measured)
                missed += Counter(batch) - Counter(trial.point for trial in measured)
                print(
                    f"{pending[0][0]}: {max(0, len(pending) - at - BATCH)} trials left", flush=True
                )
                if time.monotonic() > end:
                    break


def main() -> None:
    """Measure what is still missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--landscape", choices=STUDIES, default="madplay")
    parser.add_argument("--rounds", type=int, metavar="N", help="of each scenario")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="all that it has")
    args = parser.parse_args()
    study = STUDIES[args.landscape]
    if unknown := set(args.scenarios) - set(study.rounds):
        parser.error(f"no scenario {min(unknown)!r}: say {', '.join(study.rounds)}")
    rounds = {name: args.rounds or study.rounds[name] for name in args.scenarios or study.rounds}
    measure(study, rounds, time.monotonic() + args.minutes * 60)


if __name__ == "__main__":
    main()
