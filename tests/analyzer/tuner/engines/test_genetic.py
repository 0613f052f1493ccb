import msgspec
import pytest
from tuner_spaces import BOARD

from foreread.analyzer.tuner import RecipeError, Scored, make_engine
from foreread.analyzer.tuner.engines.niches import cells, inside
from foreread.analyzer.tuner.space.genes import Gene, Space
from studies.tuning.study_recipes import load_recipe

LIBRARY, STORAGE, IOPERF = map(load_recipe, ("genetic-library", "storage-v1", "ioperf"))
SHARES = Space(
    tuple(
        Gene(name=name, kind="bits", highest=100, default=50)
        for name in ("read_share", "random_share", "swappiness")
    )
)


def tell(engine, worth):
    """Tell ``worth(chromosome)`` of all that the engine asks; return what it asked."""
    asked = engine.ask()
    engine.tell([Scored(chromosome, worth(chromosome)) for chromosome in asked])
    return asked


def changed(recipe, **changes):
    return msgspec.structs.replace(recipe, **changes)


def still(recipe):
    """Return the recipe without mutations."""
    mutation = msgspec.structs.replace(recipe.mutation, rate=0.0, last_rate=None, adapts=None)
    return changed(recipe, mutation=mutation)


def test_the_better_half_stays_and_breeds_intermediate_values():
    engine = make_engine(still(LIBRARY), BOARD, 3)
    asked = tell(engine, lambda chromosome: chromosome["ratio"])
    best = sorted(asked, key=lambda chromosome: -chromosome["ratio"])[:4]
    following = engine.ask()
    assert following[:4] == best
    lowest = min(parent["ratio"] for parent in best)
    assert all(child["ratio"] >= lowest for child in following[4:])


def test_the_mutation_rate_follows_average_fitness_within_bounds():
    engine = make_engine(LIBRARY, BOARD, 1)
    rates = []
    for average in (100, 100, 96, 90, *[1 / 2**n for n in range(12)], *range(1, 14)):
        engine.tell([Scored(chromosome, average) for chromosome in engine.ask()])
        rates.append(engine.mutation_rate)
    adapts = LIBRARY.mutation.adapts
    assert rates[:4] == [0.15, 0.15, 0.15, pytest.approx(0.2)]  # 4 % less is within the threshold
    assert rates[14] == adapts.highest and rates[-1] == adapts.lowest


def test_a_gene_comes_back_into_the_first_child():
    engine = make_engine(LIBRARY, BOARD, 1)
    good = BOARD.default() | {"window": 16}
    engine.reintroduce(good)
    assert engine.ask()[0] == good


def test_roulette_purges_the_invalid_in_one_generation():
    engine = make_engine(still(STORAGE), BOARD, 2)
    tell(engine, lambda chromosome: float(chromosome["flag"]))
    assert all(chromosome["flag"] == 1 for chromosome in engine.ask())


def test_a_genetic_algorithm_ends_with_its_last_generation():
    engine = make_engine(changed(STORAGE, generations=3), BOARD, 2)
    assert [len(tell(engine, lambda _: 1.0)) for _ in range(4)] == [80, 80, 80, 0]


def test_every_niche_keeps_its_two():
    engine = make_engine(IOPERF, SHARES, 5)
    asked = tell(engine, lambda chromosome: 1 + chromosome["read_share"])
    assert len(asked) == 50
    for _ in range(20):
        tell(engine, lambda chromosome: 1 + chromosome["read_share"])
    alive = [one.chromosome for one in engine.pool]
    assert len(alive) == 50
    for cell in cells(IOPERF.niches):
        assert sum(inside(chromosome, cell) for chromosome in alive) >= 2


def test_the_best_survive_and_only_children_are_asked():
    recipe = changed(IOPERF, niches=None)
    engine = make_engine(recipe, SHARES, 5)
    best = 0
    for _ in range(15):
        asked = tell(engine, lambda chromosome: 1 + chromosome["swappiness"])
        best = max(best, *(chromosome["swappiness"] for chromosome in asked))
        assert engine.pool[0].chromosome["swappiness"] == best
    assert best > 97 and len(asked) < 70


def test_rates_go_from_the_first_to_the_last():
    engine = make_engine(IOPERF, SHARES, 5)
    sizes, rates = [], []
    for _ in range(50):
        assert tell(engine, lambda _: 1.0)
        sizes.append(len(engine.ask()))
        rates.append(engine.mutation_rate)
    assert not tell(engine, lambda _: 1.0)
    assert rates[0] < 0.11 and rates[-1] == pytest.approx(0.25)
    assert rates == sorted(rates)
    assert 0.9 * 50 <= sizes[0] <= 0.9 * 50 + 15


def test_niches_of_genes_that_are_not_there_are_refused():
    with pytest.raises(RecipeError, match="random_share"):
        make_engine(IOPERF, BOARD, 1)
    narrow = Gene(name="read_share", kind="integer", lowest=5, highest=50, default=5)
    with pytest.raises(RecipeError, match="holds no allele"):
        make_engine(IOPERF, Space((narrow, *SHARES.genes[1:])), 1)
