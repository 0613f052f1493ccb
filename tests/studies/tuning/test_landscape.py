"""Measured landscapes: what they draw, their optimum, and hostile files."""

import json
from statistics import median

import msgspec
import pytest
import tuning
from msgspec import structs

from studies.tuning.landscape import Landscape, LandscapeError, Row, read_landscape, write_table

TABLE = tuning.table()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "landscape.json"
    write_table(path, TABLE)
    return path


def test_a_table_is_read_as_it_was_written(path):
    assert read_landscape(path).table == TABLE
    assert len(path.read_text().splitlines()) > len(TABLE.rows)


def test_every_draw_is_a_measured_repeat_and_all_come_up():
    landscape = Landscape(TABLE)
    measured = dict(zip(map(str, tuning.SPACE.enumerate()), TABLE.rows, strict=True))
    for chromosome in tuning.SPACE.enumerate():
        drawn = set()
        for seed in range(40):
            landscape.reseed(seed)
            drawn.add(landscape.evaluate(chromosome, "reader").value)
        assert drawn == set(measured[str(chromosome)].values["reader"])


def test_the_same_seed_draws_the_same_whatever_was_drawn_before():
    first, second = Landscape(TABLE), Landscape(TABLE)
    second.reseed(1)
    second.evaluate(tuning.BEST, "idle")
    draws = []
    for landscape in (first, second):
        landscape.reseed(5)
        draws.append([landscape.evaluate(c, "idle") for c in tuning.SPACE.enumerate()])
    assert draws[0] == draws[1]


def test_the_optimum_is_of_the_least_geometric_mean_of_medians():
    landscape = Landscape(TABLE)
    assert landscape.optimum == tuning.BEST
    assert landscape.regret(tuning.BEST) == 0
    assert landscape.points == len(TABLE.rows) == tuning.SPACE.size

    def mean(chromosome):
        row = TABLE.rows[list(tuning.SPACE.enumerate()).index(chromosome)]
        return (median(row.values["idle"]) * median(row.values["reader"])) ** 0.5

    default = tuning.SPACE.default()
    expected = mean(default) / mean(tuning.BEST) - 1
    assert landscape.regret(default) == pytest.approx(expected)


def test_of_rates_the_highest_is_best():
    landscape = Landscape(structs.replace(TABLE, objective="rate"))
    assert landscape.optimum["scheduler"] == "none"
    assert landscape.regret(tuning.BEST) > 0


def test_a_point_that_was_not_measured_is_invalid():
    landscape = Landscape(structs.replace(TABLE, rows=TABLE.rows[1:]))
    (missing,) = [c for c in tuning.SPACE.enumerate() if list(c.values()) == TABLE.rows[0].alleles]
    assert landscape.evaluate(missing, "idle").status == "invalid"
    assert landscape.evaluate({"other": 1}, "idle").status == "invalid"


ROW = TABLE.rows[0]
DEFAULT = tuning.SPACE.default()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "schema 2"),
        ({"rows": [*TABLE.rows, ROW]}, "twice"),
        ({"rows": [*TABLE.rows, Row([4, "bfq"], ROW.values)]}, "one allele for each gene"),
        ({"rows": [*TABLE.rows, Row([5, "bfq", 1], ROW.values)]}, "not a valid point"),
        ({"rows": [*TABLE.rows, Row([4, "none", 1], ROW.values)]}, "not a valid point"),
        ({"rows": [Row(ROW.alleles, {"idle": [1.0]})]}, "has not the scenarios idle, reader"),
        ({"rows": [ROW]}, "the default was not measured"),
        ({"rows": []}, "Expected `array`"),
        ({"rows": [Row(ROW.alleles, {"idle": [], "reader": [1.0]})]}, "Expected `array`"),
        ({"rows": [Row(ROW.alleles, {"idle": [0.0], "reader": [1.0]})]}, "Expected `float`"),
        ({"rows": [Row(ROW.alleles, {"idle": [1e300], "reader": [1.0]})]}, "Expected `float`"),
        ({"genes": [tuning.WINDOW, tuning.WINDOW]}, "there twice"),
        ({"genes": [tuning.IDLE]}, "depends on scheduler"),
        ({"scenarios": ["idle", "idle"]}, "has not the scenarios"),
        ({"objective": "size"}, "Invalid enum value"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_hostile_tables_are_refused(tmp_path, changes, message):
    document = {**msgspec.to_builtins(TABLE), **msgspec.to_builtins(changes)}
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(document))
    with pytest.raises(LandscapeError, match=message) as raised:
        read_landscape(path)
    assert raised.value.remedy


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 99999, b'{"rows": NaN}'])
def test_hostile_files_are_refused(tmp_path, content):
    path = tmp_path / "hostile.json"
    path.write_bytes(content)
    with pytest.raises(LandscapeError, match="is not a landscape"):
        read_landscape(path)
    with pytest.raises(LandscapeError, match="is not a landscape"):
        read_landscape(tmp_path)
    with pytest.raises(LandscapeError, match="is not a landscape"):
        read_landscape(tmp_path / "none")
