import random
from random import Random

import pytest
from deap import base, tools
from hypothesis import given
from hypothesis import strategies as st
from tuner_spaces import BOARD, chromosomes, spaces

from foreread.analyzer.tuner.engines import operators
from foreread.analyzer.tuner.space.genes import NONE, Gene, Space

RNGS = st.integers(0, 1 << 30).map(Random)
PARENTS = spaces().flatmap(
    lambda space: st.tuples(st.just(space), *[chromosomes(space).map(space.repair)] * 2)
)


def as_genes(space, child):
    return child.keys() == set(space.names) and all(
        child[gene.name] in gene.alleles or child[gene.name] == NONE for gene in space.genes
    )


@given(PARENTS, RNGS)
def test_crossover_stays_among_the_genes_alleles_and_repairs_into_the_space(parents, rng):
    space, one, other = parents
    children = [
        operators.blend(space, one, other, rng),
        *operators.single_point(space, one, other, rng),
        *operators.uniform(space, one, other, rng),
        operators.random_child(space, rng),
        *operators.spread(space, 3, rng),
        operators.average(space, [one, other]),
    ]
    for child in children:
        assert as_genes(space, child)
        assert space.valid(space.repair(child))
    assert space.valid(children[5])


@given(PARENTS, RNGS)
def test_swapping_crossovers_lose_no_allele(parents, rng):
    space, one, other = parents
    for cross in (operators.single_point, operators.uniform):
        for name in space.names:
            pair = [child[name] for child in cross(space, one, other, Random(rng.random()))]
            assert sorted(map(str, pair)) == sorted(map(str, [one[name], other[name]]))


@given(PARENTS, RNGS)
def test_a_blend_lies_between_its_parents(parents, rng):
    space, one, other = parents
    child = operators.blend(space, one, other, rng)
    for gene in space.genes:
        ends = (one[gene.name], other[gene.name])
        if gene.ordered and NONE not in ends:
            assert min(ends) <= child[gene.name] <= max(ends)
        else:
            assert child[gene.name] in ends


@given(PARENTS, RNGS, st.sampled_from(["any", "new", "percent", "step", "flip"]))
def test_a_mutation_is_another_allele_wherever_there_is_one(parents, rng, how):
    space, one, _ = parents
    for gene in space.genes:
        mutant = operators.mutate(gene, one[gene.name], rng, how)
        assert mutant in gene.alleles or len(gene.alleles) == 1
        scaled = len(gene.alleles).bit_count() != 1  # two patterns may stand for one allele
        if len(gene.alleles) > 1 and not (how == "flip" and scaled):
            assert mutant != one[gene.name]


def test_mutations_reach_their_documented_alleles():
    gene = Gene(name="g", kind="integer", highest=1000, default=100)
    rng = Random(3)
    steps = {operators.mutate(gene, 100, rng, "step") for _ in range(50)}
    percent = [operators.mutate(gene, 100, rng, "percent") for _ in range(400)]
    new = [operators.mutate(gene, 100, rng, "new") for _ in range(400)]
    assert steps == {99, 101}
    assert min(percent) < 10 and 190 < max(percent) <= 200
    assert max(new) > 900
    assert operators.mutate(gene, 0, rng, "percent") == 1


def test_mutation_gives_every_other_allele_the_same_chance():
    gene = Gene(name="g", kind="categorical", choices=("a", "b", "c", "d"), default="a")
    rng = Random(1)
    drawn = [operators.mutate(gene, "b", rng, "new") for _ in range(3000)]
    assert {allele: round(drawn.count(allele) / 1000, 1) for allele in "abcd"} == {
        "a": 1.0,
        "b": 0.0,
        "c": 1.0,
        "d": 1.0,
    }


def test_genes_without_order_blend_by_chance_of_x():
    gene = Gene(name="g", kind="categorical", choices=("a", "b"), default="a")
    space, rng = Space((gene,)), Random(5)
    drawn = [operators.blend(space, {"g": "a"}, {"g": "b"}, rng)["g"] for _ in range(1000)]
    assert 450 < drawn.count("a") < 550


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_ranks_share_their_places(fitness):
    places = operators.ranks([float(value) for value in fitness])
    assert sum(places) == len(fitness) * (len(fitness) + 1) / 2
    for one, place in zip(fitness, places, strict=True):
        below, equal = sum(x < one for x in fitness), fitness.count(one)
        assert place == below + (equal + 1) / 2


class Individual(list):
    """What DEAP's operators work on."""

    def __init__(self, genes, fitness=0.0):
        super().__init__(genes)

        class Fitness(base.Fitness):
            weights = (1.0,)

        self.fitness = Fitness((fitness,))


FITNESS = [5.0, 0.0, 1.0, 3.0, 1.0]


def shares(indices):
    return [indices.count(index) / len(indices) for index in range(len(FITNESS))]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            lambda rng: operators.roulette(FITNESS, 20_000, rng),
            lambda people: tools.selRoulette(people, 20_000),
        ),
        (
            lambda rng: operators.tournament(FITNESS, 20_000, 3, rng),
            lambda people: tools.selTournament(people, 20_000, tournsize=3),
        ),
    ],
)
def test_selection_chooses_as_often_as_deap(ours, theirs):
    people = [Individual([index], value) for index, value in enumerate(FITNESS)]
    random.seed(11)
    expected = shares([person[0] for person in theirs(people)])
    assert shares(ours(Random(11))) == pytest.approx(expected, abs=0.015)


def test_truncation_chooses_whom_deap_chooses():
    people = [Individual([index], value) for index, value in enumerate(FITNESS)]
    assert operators.truncation(FITNESS, 4) == [person[0] for person in tools.selBest(people, 4)]


def test_single_point_makes_the_children_that_deap_makes():
    one = {name: number for number, name in enumerate(BOARD.names)}
    other = {name: -number - 1 for number, name in enumerate(BOARD.names)}
    ours = {
        tuple(child.values())
        for seed in range(60)
        for child in operators.single_point(BOARD, one, other, Random(seed))
    }
    theirs = set()
    for seed in range(60):
        random.seed(seed)
        pair = tools.cxOnePoint(Individual(one.values()), Individual(other.values()))
        theirs |= {tuple(child) for child in pair}
    assert ours == theirs


def test_uniform_swaps_as_often_as_deap():
    one, other = dict.fromkeys(BOARD.names, 0), dict.fromkeys(BOARD.names, 1)
    rng = Random(2)
    ours = sum(sum(operators.uniform(BOARD, one, other, rng)[0].values()) for _ in range(3000))
    random.seed(2)
    theirs = sum(
        sum(tools.cxUniform(Individual(one.values()), Individual(other.values()), 0.5)[0])
        for _ in range(3000)
    )
    assert ours == pytest.approx(theirs, rel=0.04)


def test_a_roulette_without_any_fitness_is_fair():
    drawn = operators.roulette([0.0, 0.0], 1000, Random(1))
    assert 450 < drawn.count(0) < 550


@given(spaces().flatmap(lambda space: st.tuples(st.just(space), chromosomes(space))))
def test_bits_stand_for_what_they_code(pair):
    space, chromosome = pair
    decoded = operators.decode(space, operators.encode(space, chromosome))
    for gene in space.genes:
        if chromosome[gene.name] in gene.alleles:
            assert decoded[gene.name] == chromosome[gene.name]


@given(spaces(), RNGS)
def test_every_pattern_of_bits_stands_for_an_allele(space, rng):
    length = len(operators.encode(space, space.default()))
    patterns = ["".join(rng.choice("01") for _ in range(length)) for _ in range(5)]
    for pattern in patterns:
        assert as_genes(space, operators.decode(space, pattern))


def test_ioperfs_table_1_is_coded_in_its_bits():
    ranges = {"processes": (1, 8), "reads": (0, 100), "size": (0, 2047), "window": (4, 1023)}
    genes = [
        Gene(name=name, kind="bits", lowest=low, highest=high, default=low)
        for name, (low, high) in ranges.items()
    ]
    assert [len(operators.encode_gene(gene, gene.default)) for gene in genes] == [3, 7, 11, 10]
    assert operators.encode_gene(genes[0], 8) == "111"
    assert [operators.decode_gene(genes[1], bits) for bits in ("0000000", "1111111")] == [0, 100]


def test_bits_cross_within_genes_and_flip_once():
    rng = Random(4)
    children = {operators.single_point_bits("0000", "1111", rng) for _ in range(60)}
    assert children == {("0111", "1000"), ("0011", "1100"), ("0001", "1110")}
    assert {operators.flip("010", rng) for _ in range(60)} == {"110", "000", "011"}


def test_a_spread_covers_each_genes_range_evenly():
    gene = Gene(name="g", kind="integer", highest=70, default=0)
    other = Gene(name="h", kind="integer", highest=7, default=0)
    children = operators.spread(Space((gene, other)), 8, Random(1))
    assert sorted(child["g"] for child in children) == [0, 10, 20, 30, 40, 50, 60, 70]
    assert sorted(child["h"] for child in children) == list(range(8))


def test_the_average_of_numbers_and_the_most_frequent_word():
    population = [
        BOARD.default() | {"window": window, "scheduler": scheduler}
        for window, scheduler in ((16, "kyber"), (64, "none"), (1024, "kyber"))
    ]
    mean = operators.average(BOARD, population)
    assert (mean["window"], mean["scheduler"], mean["slice_idle"]) == (128, "kyber", NONE)
    of_values = operators.average(BOARD, population, values=True)
    assert of_values == mean | {"window": 256}  # (16 + 64 + 1024) / 3 is 368
