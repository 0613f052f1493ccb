import pytest

from foreread.analyzer.tuner.engines.recipe import RecipeError, decode_recipe, recipe_names
from studies.tuning.study_recipes import RECIPES, load_recipe, study_names

GOOD = (RECIPES / "ioperf.toml").read_text()


@pytest.mark.parametrize("name", [*recipe_names(), *study_names()])
def test_every_recipe_reads_and_has_its_files_name(name):
    recipe = load_recipe(name)
    assert recipe.name == name and recipe.source


def test_the_papers_figures():
    library, ioperf, storage = map(load_recipe, ("genetic-library", "ioperf", "storage-v1"))
    assert (library.replaces, library.crossover.kind) == ("worse-half", "blend")
    assert (ioperf.crossover.rate, ioperf.crossover.last_rate) == (0.9, 0.7)
    assert (ioperf.mutation.rate, ioperf.mutation.last_rate) == (0.1, 0.25)
    assert (ioperf.chromosome, ioperf.population, ioperf.niches.least) == ("bits", 50, 2)
    assert (storage.population, storage.parents, storage.generations) == (80, "roulette", 200)
    assert (storage.crossover.kind, storage.crossover.rate) == ("single-point", 0.9)
    assert storage.mutation.rate == 0.02 and not storage.repair


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("population = 50", "population = 1", "population"),
        ("population = 50", "people = 50", "people"),
        ("population = 50", "population = 49", "too small for its niches"),
        ("rate = 0.9", "rate = 1.9", r"crossover\.rate"),
        ("rate = 0.9", "rate = nan", r"crossover\.rate"),
        ("generations = 50", "generations = 0", "last_rate needs generations"),
        ('kind = "single-point"', 'kind = "uniform"', "bits are crossed"),
        ('of = "chromosomes"', 'of = "genes"', "need mutation of"),
        ('replaces = "worst"', 'replaces = "all"', "niches need"),
        ('algorithm = "genetic"', 'algorithm = "magic"', "magic"),
        (
            "population = 50",
            "population = 50\nturns = 1\nfingerprints = {decay = 0.9}",
            "turns must be 2",
        ),
        ("[niches]", "[niches", "ioperf: "),
    ],
)
def test_invalid_recipes_are_refused(old, new, message):
    assert old in GOOD
    with pytest.raises(RecipeError, match=message) as caught:
        decode_recipe(GOOD.replace(old, new, 1).encode(), "ioperf")
    assert caught.value.remedy


def test_hostile_nesting_is_refused():
    with pytest.raises(RecipeError):
        decode_recipe(b"x = " + b"[" * 100_000, "deep")


def test_a_recipe_may_be_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert load_recipe(str(path)) == load_recipe("ioperf")


@pytest.mark.parametrize("name", ["nonsense", "../recipes/ioperf", "missing.toml"])
def test_a_recipe_that_is_not_there_is_reported_with_those_that_are(name):
    with pytest.raises(RecipeError):
        load_recipe(name)
