"""Main effects, on a landscape whose effects are known."""

import math
import random
from statistics import median

import pytest
from tuner_landscapes import BEST, SPACE, USELESS, anything, bred, run, scattered

from foreread.analyzer.tuner.findings.compare import Run, Runs
from foreread.analyzer.tuner.findings.effects import main_effects
from foreread.analyzer.tuner.space.genes import Gene, Space

SEEDS = range(12)


def effect(effects, gene):
    return next(one for one in effects.genes if one.gene == gene)


@pytest.fixture(scope="module", params=[scattered, bred], ids=["scattered", "bred"])
def found(request):
    return [main_effects(Runs(request.param(seed)), SPACE) for seed in SEEDS]


def test_a_useless_gene_seldom_matters(found):
    """At most one campaign in twenty may claim any of them; of twelve, two are in the tolerance."""
    claims = [
        any(effect.verdict == "matters" for effect in one.genes if effect.gene in USELESS)
        for one in found
    ]
    assert sum(claims) <= 2


@pytest.mark.thorough
def test_the_true_effect_of_bfq_is_within_its_interval():
    """Against mq-deadline with slice_idle at its own default."""
    truth = 0.75 - 1
    levels = [effect(main_effects(Runs(scattered(s)), SPACE), "scheduler").of("bfq") for s in SEEDS]
    assert sum(level.low <= truth <= level.high for level in levels) >= 11


def test_genes_that_matter_are_found(found):
    for gene in ("scheduler", "window"):
        verdicts = [effect(one, gene).verdict for one in found]
        assert verdicts.count("matters") >= 7 and "not shown" not in verdicts[:3]
        assert all(one.genes.index(effect(one, gene)) < 4 for one in found)


def test_levels_say_which_way():
    found = main_effects(Runs(scattered(1)), SPACE)
    bfq, kyber = (effect(found, "scheduler").of(name) for name in ("bfq", "kyber"))
    assert bfq.high < 0 and kyber.low < 0 < kyber.high
    assert effect(found, "window").of(4).low > 0
    assert effect(found, "slice_idle").of(0).effect == pytest.approx(-0.1, abs=0.05)


def test_the_noise_is_that_of_repeats():
    assert main_effects(Runs(scattered(2, noise=0.05)), SPACE).noise == pytest.approx(0.05, rel=0.2)
    assert main_effects(Runs([run(BEST, random.Random(0))]), SPACE).noise is None


def test_genes_predict_their_own_effect_and_no_noise():
    assert main_effects(Runs(scattered(0)), SPACE).explained > 0.8
    of_noise = []
    for seed in SEEDS:  # fewer chromosomes than alleles: the fit itself is close to each of them
        rng = random.Random(seed)
        runs = [Run(anything(rng), "reader", math.exp(rng.gauss(0, 0.1))) for _ in range(10)]
        of_noise.append(main_effects(Runs(runs), SPACE).explained)
    assert median(of_noise) < 0.1


def test_a_correlated_gene_without_effect_gets_no_effect():
    """Useless0 is 0 in most good chromosomes: its mean by level would speak for it."""
    rng = random.Random(3)
    runs = []
    for _ in range(80):
        scheduler = rng.choice(["bfq", "mq-deadline"])
        along = 0 if (scheduler == "bfq") == (rng.random() < 0.85) else 2
        chromosome = SPACE.repair({**anything(rng), "scheduler": scheduler, "useless0": along})
        runs += [run(chromosome, rng) for _ in range(2)]
    by_level = {
        allele: sum(math.log(r.cost) for r in runs if r.chromosome["useless0"] == allele)
        / sum(r.chromosome["useless0"] == allele for r in runs)
        for allele in (0, 2)
    }
    assert by_level[0] < by_level[2] - 0.1
    found = main_effects(Runs(runs), SPACE)
    assert effect(found, "useless0").verdict == "not shown"
    assert abs(effect(found, "useless0").of(0).effect) < 0.03
    assert effect(found, "scheduler").verdict == "matters"


def test_genes_that_always_changed_together_are_inseparable():
    rng = random.Random(4)
    pairs = [("bfq", 0), ("mq-deadline", 2)] * 30
    chromosomes = [
        SPACE.repair({**anything(rng), "scheduler": s, "slice_idle": 8, "useless0": u})
        for s, u in pairs
    ]
    found = main_effects(Runs([run(c, rng) for c in chromosomes * 2]), SPACE)
    for gene, other in (("scheduler", "useless0"), ("useless0", "scheduler")):
        assert effect(found, gene).verdict == "cannot be told"
        assert effect(found, gene).inseparable_from == (other,)
    assert effect(found, "useless1").verdict == "not shown"


def test_a_level_of_few_chromosomes_has_no_estimate():
    runs = scattered(5)
    rare = SPACE.repair({"useless0": 7 % 4, "useless1": 3})
    kept = [one for one in runs if one.chromosome["useless1"] != 3]
    found = main_effects(Runs([*kept, run(rare, random.Random(5))]), SPACE)
    level = effect(found, "useless1").of(3)
    assert level.chromosomes == 1 and level.low is None and not level.stands_out(0.0)


def test_an_effect_below_the_noise_does_not_matter():
    gene = Gene(name="g", kind="boolean", default=0)
    space, rng = Space((gene,)), random.Random(6)
    runs = [
        Run({"g": g}, "idle", math.exp(rng.gauss(0.02 * g, 0.05)))
        for g in (0, 1)
        for _ in range(99)
    ]
    found = main_effects(Runs(runs), space).genes[0]
    # One chromosome of each level: nothing can be determined, however often it is run.
    assert found.verdict == "cannot be told"
    assert not found.levels[0].stands_out(0.0)


def test_scenarios_are_distinguished():
    """A gene that only matters in one scenario has half its effect over both."""
    rng = random.Random(7)
    runs = scattered(7)
    idle = [Run(one.chromosome, "idle", math.exp(rng.gauss(5, 0.02))) for one in runs]
    both = [*runs, *idle]
    whole, reader, quiet = (main_effects(Runs(both), SPACE, s) for s in (None, "reader", "idle"))
    assert not any(one.verdict == "matters" for one in quiet.genes)
    of_reader = effect(reader, "scheduler").of("bfq").effect
    assert math.log1p(effect(whole, "scheduler").of("bfq").effect) == pytest.approx(
        math.log1p(of_reader) / 2, abs=0.02
    )
    heavy = main_effects(Runs(both, {"reader": 9}), SPACE)
    assert math.log1p(effect(heavy, "scheduler").of("bfq").effect) == pytest.approx(
        math.log1p(of_reader) * 0.9, abs=0.02
    )


def test_the_same_runs_give_the_same_figures():
    assert main_effects(Runs(bred(8)), SPACE) == main_effects(Runs(bred(8)), SPACE)


def test_no_effects_when_nothing_was_varied():
    found = main_effects(Runs([run(BEST, random.Random(0))] * 3), SPACE)
    assert found.genes == () and found.chromosomes == 1
    assert main_effects(Runs([]), SPACE).genes == ()


def test_more_genes_than_chromosomes_is_not_an_error():
    genes = tuple(Gene(name=f"g{i}", kind="integer", highest=9, default=0) for i in range(20))
    space, rng = Space(genes), random.Random(9)
    runs = [
        Run({g.name: rng.randrange(10) for g in genes}, "idle", rng.uniform(1, 2)) for _ in range(8)
    ]
    found = main_effects(Runs(runs), space)
    assert not any(one.verdict == "matters" for one in found.genes)
