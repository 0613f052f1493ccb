"""TUNING files of campaigns on a landscape of known effects."""

from __future__ import annotations

import math
import random
from pathlib import Path

from tuner_landscapes import SPACE, log_cost

from foreread.analyzer.tuner.campaign.campaign import Campaign, Rules
from foreread.analyzer.tuner.campaign.campaign_setup import CampaignSetup
from foreread.analyzer.tuner.engines.recipe import load_recipe
from foreread.analyzer.tuner.engines.stopping import Budget
from foreread.analyzer.tuner.evaluation import Attempt, key_of
from foreread.analyzer.tuner.findings.confirming import ConfirmingRuns
from foreread.analyzer.tuner.findings.results import Results, read_results
from foreread.analyzer.tuner.store.records import Board, Spec
from foreread.analyzer.tuner.store.store import Store

_made: dict[str, bytes] = {}  # contents of TUNING files
BASE_S = {"idle": 0.6, "reader": 7.9}


class KnownLandscape:
    """An evaluator: ``log_cost`` with a reader; idle, bfq costs instead of saving."""

    def __init__(self, noise: float = 0.01, contended: float = 0.02) -> None:
        self.noise = noise
        self.contended = contended
        self.made = 0
        self._seed = 0

    def reseed(self, seed: int) -> None:
        self._seed = seed

    def evaluate(self, chromosome, scenario):
        self.made += 1
        rng = random.Random(f"{self._seed}/{key_of(chromosome)}/{scenario}")
        if rng.random() < self.contended:
            return Attempt("contended", notes=("others read <b>meanwhile</b>",))
        cost = log_cost(chromosome)
        if scenario == "idle":
            cost = 0.15 if chromosome["scheduler"] == "bfq" else 0.3 * cost
        return Attempt("ok", BASE_S[scenario] * math.exp(cost + rng.gauss(0, self.noise)))


def spec_of(scenarios=("reader",), recipe="start-up", seed=1, space=SPACE, **changes) -> Spec:
    ground = CampaignSetup(load_recipe(recipe), space)
    fields = {
        "board": Board("board", "6.1.0-25-amd64", 4096, ("sda",)),
        "scenarios": scenarios,
        "default": space.default(),
        "sampler": recipe,
        "recipe": ground.recipe_text,
        "space": ground.space_text,
        "seed": seed,
        "command": ("app", "--with", "$(hostile) <b>'words'</b>"),
    }
    return Spec(**{**fields, **changes})


def tuned(
    path: Path, scenarios=("reader",), runs=120, confirm=True, recipe="start-up", **changes
) -> Results:
    """Write a TUNING file, of a search of so many runs, and return what it holds.

    The same file is made once in a worker, and copied.
    """
    key = repr((scenarios, runs, confirm, recipe, changes))
    if key not in _made:
        results = _tuned(path, scenarios, runs, confirm, recipe, **changes)
        _made[key] = path.read_bytes()
        return results
    path.write_bytes(_made[key])
    return read_results(path)


def _tuned(path: Path, scenarios, runs: int, confirm: bool, recipe: str, **changes) -> Results:
    with Store.create(path, spec_of(scenarios, recipe, **changes)) as store:
        ground, evaluator = CampaignSetup.of(store.spec), KnownLandscape()
        rules = Rules(budget=Budget(evaluations=runs))
        Campaign(store, ground.engine(store.spec.seed), evaluator, rules).run()
        if confirm:
            ConfirmingRuns(store, evaluator).run()
        return Results.of(store)
