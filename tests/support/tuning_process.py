"""A campaign in a process of its own, and one that is killed again and again.

``run PATH N`` begins or resumes the campaign PATH; evaluations are noted in PATH.calls before they
end, and the one after N evaluations does not end. ``kills FOLDER N SEED`` runs campaigns to their
end in children that it kills at random moments, N times, looking at the store after each; prints
how many campaigns that took.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import tuning
from waiting import random_moment, take_time

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.store.store import Store, StoreError
from studies.tuning.landscape import Landscape

LANDSCAPE = Landscape(tuning.table())


class Noted:
    """Draws from the landscape, and notes that it did; hangs after so many evaluations."""

    def __init__(self, calls: Path, number: int | None) -> None:
        self._calls = calls
        self._left = number

    def reseed(self, seed: int) -> None:
        LANDSCAPE.reseed(seed)

    def evaluate(self, chromosome: tuning.Chromosome, scenario: str) -> Attempt:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                signal.pause()
        take_time(0.002)
        with self._calls.open("ab", buffering=0) as calls:
            calls.write(b".")
        return LANDSCAPE.evaluate(chromosome, scenario)


def run(path: Path, seed: int = 7, number: int | None = None) -> None:
    """Run the campaign in ``path`` to its end, or for so many evaluations; make it if need be."""
    spec = tuning.spec(seed=seed)
    with Store.resume(path) if path.exists() else Store.create(path, spec) as store:
        evaluator = Noted(path.with_suffix(".calls"), number)
        Campaign(store, tuning.RandomSearch(seed), evaluator, Rules(patience=None)).run()


def held(path: Path) -> list[object]:
    """Return all that the store holds but for times."""
    with Store.read(path) as store:
        made = [
            (one.number, key_of(one.chromosome), one.scenario, one.repeat, one.seed, one.attempt)
            for one in store.evaluations()
        ]
        return [made, store.generations(), store.ended]


def kills(folder: Path, number: int, seed: int) -> int:
    """Kill campaigns ``number`` times, asserting what must hold; return how many campaigns."""
    rng, killed = random.Random(seed), 0
    for done in range(100 * number):
        path = folder / f"{done}.tuning"
        killed += _killed_to_its_end(path, done, number - killed, rng)
        whole = path.with_name(f"{done}-whole.tuning")
        run(whole, done)
        assert held(path) == held(whole), path
        if killed == number:
            return done + 1
    raise AssertionError(f"campaigns end before they are killed: {killed} were")


def _killed_to_its_end(path: Path, seed: int, most: int, rng: random.Random) -> int:
    """Run one campaign, killing it up to ``most`` times; return how often it was killed."""
    calls, killed, before = path.with_suffix(".calls"), 0, []
    for _ in range(most + 1):
        pid = os.fork()
        if pid == 0:
            run(path, seed)
            os._exit(0)
        if killed < most:
            random_moment(rng, most_s=0.1)
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if status == 0:
            return killed
        assert status == signal.SIGKILL, status
        killed += 1
        if not path.exists():  # killed before it was made
            continue
        made, generations, ended = held(path)
        assert made[: len(before)] == before
        assert [one[0] for one in made] == list(range(1, len(made) + 1))
        assert ended is None or len(generations) > 0
        lost = (len(calls.read_bytes()) if calls.exists() else 0) - len(made)
        assert 0 <= lost <= killed, "a kill loses the running evaluation at most"
        before = made
    raise AssertionError("killed more often than asked for")


def main() -> int:
    """Do what the arguments say."""
    if sys.argv[1] == "kills":
        print(kills(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
        return 0
    try:
        run(Path(sys.argv[2]), number=int(sys.argv[3]))
    except KeyboardInterrupt:
        return 130
    except StoreError as error:
        print(f"{error}\n{error.remedy}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
