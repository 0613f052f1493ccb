"""The contest of the search: start-up against samplers of others, confirmation included.

    python -m studies.tuning.contest [--seeds N] [--only NAME,…] [--places NAME,…] [-o FILE]

Eight measured landscapes and six made-up boards of 37 genes. All contestants have the same number
of runs, the same first chromosomes (one gene at a time: the default and the predicted window, as in
``foreread tune``), the same rule of belief (the model of start-up, judged.py), and leave out the
same genes that cannot act. FILE gets a line for each landscape, contestant and seed; those that it
has are not made again, so that a contest can be interrupted and continued, with more seeds or
contestants.

A line has the regret of the chromosome believed best after so many runs, ``looks``: 5 % and 10 % of
the runs that measuring everything took, or 50, 75 and 105. ``confirmed`` is that after the
confirmation, which begins when only its runs are left of the budget: 10 % of all runs, or 150.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from foreread.analyzer.tuner.campaign.budget import shared
from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.engine import Engine
from foreread.analyzer.tuner.engines.judged import Judged
from foreread.analyzer.tuner.engines.recipe import RecipeError, Sampler, StartUp
from foreread.analyzer.tuner.engines.samplers import make_sampler
from foreread.analyzer.tuner.engines.start_up import StartUpEngine
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt, chromosome_of
from foreread.analyzer.tuner.findings.confirming import ConfirmingRuns
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome, Space
from foreread.analyzer.tuner.space.mechanisms import absent, without
from foreread.analyzer.tuner.store.records import Spec
from foreread.analyzer.tuner.store.store import Store
from studies.tuning.competition import Ground, spec_on
from studies.tuning.peers import CatCma, Smac
from studies.tuning.starts import CLOSE, SHARES, landscape_of, lines_of, predicted_in
from studies.tuning.study_recipes import load_recipe
from studies.tuning.whole_catalogue import WholeCatalogue

HERE = Path(__file__).parent
RAW = HERE / "raw"
PROGRAMS = {"madplay": "start-up", "php": "start-up-php"}
SETS = (("idle",), ("reader",), ("writer",), ("idle", "reader", "writer"))
BOARDS = (*((number, False) for number in range(3)), *((number, True) for number in range(3, 6)))
BOARD_LOOKS = (50, 75, 105)
BOARD_BUDGET = 150
OTHERS = ("random", "one-gene", "multivariate-tpe", "gaussian-process")  # recipes of samplers
CONTESTANTS = ("start-up", *OTHERS, "cat-cma", "smac")
KNOWN = 2  # founders that one gene at a time begins at: the default, and the predicted window
FIRST = 3  # runs of the default that show which genes cannot act


@dataclass(frozen=True)
class Place:
    """A landscape; ``looks``: the numbers of runs after which regret is noted."""

    name: str
    ground: Ground
    looks: tuple[int, ...]
    budget: int
    predicted: Mapping[int, float] | None = None


def places() -> Iterator[tuple[str, Callable[[], Place]]]:
    """Yield every place by name, and what makes it."""
    for number, quiet in BOARDS:
        name = f"{'quiet ' * quiet}board {number}"
        yield name, partial(_board, name, number, quiet)
    for program, stem in PROGRAMS.items():
        for scenarios in SETS:
            name = f"{program}: {', '.join(scenarios)}"
            yield name, partial(_measured, name, stem, scenarios)


def _board(name: str, number: int, quiet: bool) -> Place:
    return Place(name, WholeCatalogue(number, quiet=quiet), BOARD_LOOKS, BOARD_BUDGET)


def _measured(name: str, stem: str, scenarios: Sequence[str]) -> Place:
    lines = lines_of(stem)
    whole = sum(line["scenario"] in scenarios for line in lines)
    looks = tuple(round(share * whole) for share in SHARES)
    predicted = predicted_in(RAW / f"{stem}-predicted.json")
    return Place(name, landscape_of(lines, scenarios), looks, looks[-1], predicted)


def engine_of(contestant: str, place: Place, seed: int) -> Engine:
    """Return a contestant's engine; raises RecipeError for a package that is not installed."""
    recipe, space = load_recipe("start-up"), place.ground.space
    assert isinstance(recipe, StartUp)
    ours = partial(StartUpEngine, recipe, space, seed, predicted=place.predicted)
    if contestant == "start-up":
        return ours()
    default = space.default()
    runs = [
        (scenario, place.ground.evaluate(default, scenario)) for scenario in place.ground.scenarios
    ]
    missing = absent((scenario, attempt.metrics) for scenario, attempt in runs * FIRST)
    first = ours()
    first.inform(dict.fromkeys(place.ground.scenarios, 1.0), default, missing)
    founders = [default, *first.ask()]
    proposes = _proposing(contestant, without(space, missing), seed, founders)
    return Judged(proposes, ours())


def _proposing(contestant: str, space: Space, seed: int, founders: Sequence[Chromosome]) -> Engine:
    if contestant == "cat-cma":
        return CatCma(space, seed, founders)
    if contestant == "smac":
        return Smac(space, seed, founders)
    recipe = load_recipe(contestant)
    assert isinstance(recipe, Sampler)
    initial = founders[:KNOWN] if recipe.kind == "one-gene" else founders
    return make_sampler(recipe, space, seed, initial)


class _Watched:
    """A landscape that notes what is believed best; ``until``: runs of a search to be confirmed."""

    def __init__(self, place: Place, spec: Spec, until: int) -> None:
        self.believed: list[str] = []
        self.campaign: Campaign | None = None
        self.store: Store | None = None
        self.confirmed: Chromosome = {}
        self._place, self._spec, self._until = place, spec, until

    def reseed(self, seed: int) -> None:
        self._place.ground.reseed(seed)

    def evaluate(self, chromosome: Chromosome, scenario: str) -> Attempt:
        if self.campaign:
            self.believed.append(self.campaign.best)
        if len(self.believed) == self._until + 1:
            self.confirm()
        return self._place.ground.evaluate(chromosome, scenario)

    def confirm(self) -> None:
        """Confirm, in a copy of the store, what is believed best now."""
        assert self.campaign and self.store
        with Store.in_memory(self._spec) as copy:
            for evaluation in self.store.evaluations()[: self._until]:
                copy.add(evaluation)
            copy.add_generation(0, [], {}, self.campaign.best)
            copy.allow(self._place.budget - self._until)
            result = ConfirmingRuns(copy, self._place.ground, contest=Results.of(copy)).run()
        self.confirmed = result.chromosome


def contest(place: Place, contestant: str, seed: int) -> dict[str, Any]:
    """Return a line: what became of a contestant's search and of its confirmation."""
    ground, clock = place.ground, time.process_time()
    spec = spec_on(ground, contestant, seed)
    genes, runs = len(ground.space.genes), place.looks[-1]
    search = shared(Budget(place.budget), len(ground.scenarios), genes).search.evaluations
    watched = _Watched(place, spec, search or 0)
    with Store.in_memory(spec) as store:
        rules = Rules(Budget(evaluations=runs), patience=None)
        campaign = Campaign(store, engine_of(contestant, place, seed), watched, rules)
        watched.campaign, watched.store = campaign, store
        campaign.run()
        believed = [*watched.believed[1:], campaign.best]
        if not watched.confirmed:
            watched.confirm()
    at = [believed[min(look, len(believed)) - 1] for look in place.looks]
    return {
        "place": place.name,
        "contestant": contestant,
        "seed": seed,
        "looks": {
            str(look): round(ground.regret(chromosome_of(best)), 5)
            for look, best in zip(place.looks, at, strict=True)
        },
        "confirmed": round(ground.regret(watched.confirmed), 5),
        "seconds": round(time.process_time() - clock, 2),
    }


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the figures as Markdown: close seeds by look, and two medians of regret in per cent.

    The medians are those after the last look and after the confirmation.
    """
    names = [
        contestant
        for contestant in CONTESTANTS
        if any(line["contestant"] == contestant for line in lines)
    ]
    text = [f"| landscape | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for place in dict.fromkeys(name for name, _ in places()):
        cells = [
            _cell([o for o in lines if (o["place"], o["contestant"]) == (place, n)]) for n in names
        ]
        text.append(f"| {place} | {' | '.join(cells)} |")
    return "\n".join(text)


def _cell(some: Sequence[Mapping[str, Any]]) -> str:
    if not some:
        return "–"
    looks = list(some[0]["looks"])
    close = [sum(line["looks"][look] <= CLOSE for line in some) for look in looks]
    last = 100 * median(line["looks"][looks[-1]] for line in some)
    confirmed = 100 * median(line["confirmed"] for line in some)
    return f"{','.join(map(str, close))}/{len(some)}; {last:.1f}; {confirmed:.1f}"


def main() -> int:
    """Let them compete; append a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="of each (20)")
    parser.add_argument("--only", default="", metavar="NAME,…", help="contestants (all)")
    parser.add_argument("--places", default="", metavar="NAME;…", help="that begin so (all)")
    parser.add_argument("-o", "--output", type=Path, default=Path("contest.jsonl"), metavar="FILE")
    args = parser.parse_args()
    lines = args.output.read_text().splitlines() if args.output.exists() else []
    done = {tuple(json.loads(line)[k] for k in ("place", "contestant", "seed")) for line in lines}
    contestants = args.only.split(",") if args.only else CONTESTANTS
    begins = tuple(args.places.split(";"))
    for seed in range(args.seeds):
        for name, make in places():
            missing = [
                contestant for contestant in contestants if (name, contestant, seed) not in done
            ]
            if not name.startswith(begins) or not missing:
                continue
            place = make()
            for contestant in missing:
                try:
                    line = contest(place, contestant, seed)
                except RecipeError as error:
                    print(f"{contestant} is left out: {error}; {error.remedy}", flush=True)
                    continue
                with args.output.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
