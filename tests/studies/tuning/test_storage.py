"""studies/tuning/storage.py: what is measured, and the paper's algorithm on a table."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from foreread.boards.target import Result
from studies.tuning import storage, storage_places, storage_runs, storage_search
from studies.tuning.landscape import Row, Table, read_landscape, write_table
from studies.tuning.storage_chromosomes import (
    SCHEDULER,
    configurations,
    defaults,
    is_valid,
    storage_space,
)
from studies.tuning.storage_rules import FILE_SYSTEMS, today
from studies.tuning.storage_trial import Measured

FOLDER = Path(__file__).parents[3] / "studies/tuning"
RULES = today(384 << 20)
SCHEDULERS = ("mq-deadline", "bfq", "none")


def worth(chromosome):
    """A landscape whose best is nilfs2, as the paper's was."""
    bases = {"nilfs2": 3000, "ext2": 1700, "ext4": 1400}
    value = bases.get(chromosome["file_system"], 1000)
    return value * (1.1 if chromosome["mount"] == "noatime" else 1) + chromosome["block_size"] / 9e4


@pytest.fixture
def landscape(tmp_path):
    rules = storage_places.a_few(RULES)
    first = defaults(rules)
    points = first + [one for one in configurations(rules) if one not in first]
    rows = [Row(list(one.values()), {"mailserver": [worth(one)]}) for one in points]
    genes = list(storage_space(rules).genes)
    table = Table(
        board="made up", objective="rate", scenarios=["mailserver"], genes=genes, rows=rows
    )
    write_table(tmp_path / "landscape.json", table)
    return tmp_path / "landscape.json"


def test_the_part_has_every_default_and_the_documented_size():
    rules = storage_places.a_few(RULES)
    points = list(configurations(rules))
    assert {one["file_system"] for one in points} == set(FILE_SYSTEMS)
    assert all(one in points for one in defaults(RULES))
    assert len(points) == sum(one.count for one in rules.values()) == 158
    assert all(one in list(configurations(RULES)) for one in points[::10])


@pytest.mark.parametrize(
    "name, part, schedulers, points",
    [
        ("mailserver", "fewer", (), 50),
        ("few", "few", (), 158),
        ("fileserver", "fewer", (), 50),
        ("schedulers", "plain", SCHEDULERS, 24),
    ],
)
def test_stored_landscapes_are_complete(name, part, schedulers, points):
    kept = read_landscape(FOLDER / f"raw/storage-{name}.json")
    rules = storage_places.PARTS[part](RULES)
    assert kept.space == storage_space(rules, schedulers)
    valid = [one for one in kept.space.enumerate() if is_valid(one, rules)]
    assert kept.points == len(valid) == points
    assert all(one in storage_runs.points_of(kept) for one in valid)


def test_the_smaller_parts_have_every_default_too():
    parts = storage_places.PARTS
    counts = {name: sum(one.count for one in part(RULES).values()) for name, part in parts.items()}
    assert counts == {"all": 1956, "few": 158, "fewer": 50, "plain": 8}
    for part in parts.values():
        points = list(configurations(part(RULES)))
        assert all(one in points for one in defaults(RULES))
    assert {one["mount"] for one in configurations(parts["fewer"](RULES))} == {"relatime"}


@pytest.mark.thorough
def test_five_runs_and_others_on_a_landscape(landscape, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(storage_search, "TPE_PROPOSALS", 20)
    out = tmp_path / "figures.json"
    words = ["compete", str(landscape), "--generations", "12", "--seeds", "2", "-o", str(out)]
    assert storage.main(words) == 0
    said = capsys.readouterr().out
    assert "default   1400/s ext4 4096 256 32768 relatime ordered" in said
    assert "best      3300/s nilfs2 4096" in said
    assert "| nilfs2 | 8 | 3,000 | 3,300 | +10.0 % | +135.7 % | nilfs2 4096 2048 noatime" in said
    document = json.loads(out.read_text())
    assert [run["seed"] for run in document["runs"]] == [1, 2, 3, 4, 5]
    assert document["best"]["regret"] == 0 < document["default"]["regret"]
    default = document["default"]["per_second"]
    assert all(run["per_second"] >= default for run in document["runs"])
    found = sum(run["regret"] == 0 for run in document["runs"])
    assert f"global best found in {found} of 5 runs" in said
    assert [one["name"] for one in document["searches"]] == list(storage_search.SEARCHES)
    assert all(one["seeds"] == 2 for one in document["searches"])
    effects = {one["gene"]: one for one in document["effects"]}
    assert effects["mount"]["pairs"] == 79
    best = document["best"]["chromosome"]
    atime = worth({**best, "mount": "relatime"})
    assert effects["mount"]["largest"] == pytest.approx(worth(best) / atime - 1, rel=1e-4)
    assert effects["journal"]["largest"] == 0
    assert "| nilfs2 | 4 | +10.0 % | +10.0 % | +10.0 % |" in said
    chance = document["searches"][-1]
    assert chance["found"] == 2 and chance["measured"] == [document["points"]] * 2


def test_a_search_measures_each_file_system_once_and_no_other_combination(landscape):
    table = read_landscape(landscape)
    course = storage_search.search(table, "paper", 3, generations=20)
    assert 7 <= course.measured <= table.points
    assert course.measured < course.proposed
    assert list(course.regrets) == sorted(course.regrets, reverse=True)
    assert course.regrets[-1] == table.regret(course.best)
    assert course.regret(course.until_best) == course.regrets[-1] == course.regret(10**6)
    assert course.until_best == 1 or course.regret(course.until_best - 1) > course.regrets[-1]
    assert list(course.generations) == sorted(course.generations)
    assert course.generations[:7] == [1] * 7  # the defaults


def test_without_the_defaults_most_of_the_first_population_is_not_a_file_system(landscape):
    table = read_landscape(landscape)
    of = {
        name: storage_search.search(table, name, 1, generations=1)
        for name in storage_search.SEARCHES[:3]
    }
    assert of["paper, unseeded"].measured < of["paper"].measured
    assert of["paper, all valid at first"].proposed == of["paper, all valid at first"].measured


def test_a_file_that_is_not_a_landscape_is_one_line(tmp_path, capsys):
    (tmp_path / "x").write_text("{}")
    assert storage.main(["compete", str(tmp_path / "x")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


class Bench:
    def __init__(self):
        self.asked = []

    def run(self, file_system):
        self.asked.append(file_system)
        if file_system.kind == "xfs":
            return Measured("invalid", "mkfs.xfs: no")
        return Measured("ok", "", 100, 4096, 2.0, 5.0)


def test_a_chromosome_that_is_not_a_file_system_touches_no_disk():
    bench = Bench()
    evaluator = storage_places.StorageEvaluator({"loop": bench}, RULES)
    default = defaults(RULES)[0]
    tried = evaluator.evaluate({**default, SCHEDULER: "bfq"}, "mailserver")
    assert (tried.status, tried.value, tried.metrics["latency_ns"]) == ("ok", 50.0, 5.0)
    assert bench.asked[0].scheduler == "bfq"
    assert evaluator.evaluate({**default, "special": "notail"}, "mailserver").status == "invalid"
    assert len(bench.asked) == 1
    refused = evaluator.evaluate(defaults(RULES)[3], "mailserver")
    assert (refused.status, refused.notes) == ("invalid", ("mkfs.xfs: no",))


KNOBS = {
    "/sys/class/block/sda/size": f"{384 << 11}",
    "/sys/class/block/sdb/size": f"{64 << 11}",
    "/sys/class/block/sda/queue/scheduler": "none [mq-deadline] bfq",
    "/sys/class/block/sdb/queue/scheduler": "[none] mq-deadline",
}
ANSWERS = {"cat": b"nodev\tproc\n\text4\n\txfs\n", "uname": b"6.1\n"}


class Machine:
    """A target with two disks and two file systems."""

    def run(self, words, **_more):
        return Result(0, ANSWERS.get(words[0], b""), b"")

    def read_knob(self, path):
        return KNOBS[path]


def test_rules_follow_the_smallest_disk_and_the_kernel():
    place = storage_places.Place(Machine(), {"ssd": "/dev/sda"}, "x")
    assert set(place.rules()) == {"ext4", "xfs"}
    both = storage_places.Place(Machine(), {"a": "/dev/sda", "b": "/dev/sdb"}, "x")
    assert set(both.rules()) == {"ext4"}
    assert place.schedulers == ("mq-deadline", "none", "bfq")
    assert both.schedulers == ("mq-deadline", "none")


def here(monkeypatch, place, bench, parts):
    """Have the study at a place, on a bench."""
    monkeypatch.setattr(place.__class__, "benches", lambda *_: {"loop": bench})
    monkeypatch.setattr(storage, "PARTS", parts)
    monkeypatch.setattr(storage, "_place", lambda _options: nullcontext(place))


def test_schedulers_are_measured_with_every_file_system(tmp_path, monkeypatch):
    file, bench = tmp_path / "landscape.json", Bench()
    small = {"ext4": storage_places.plain(RULES)["ext4"]}
    place = storage_places.Place(Machine(), {"loop": "/dev/sda"}, "a machine")
    here(monkeypatch, place, bench, {"plain": lambda _rules: small})
    words = ["measure", "mailserver", "-o", str(file), "--part", "plain", "--v2"]
    assert storage.main(words) == 0
    assert len(bench.asked) == 2 * 3  # ext4 with its journal, and without
    assert {one.scheduler for one in bench.asked} == {"mq-deadline", "none", "bfq"}
    table = read_landscape(file)
    assert table.space.default() == {**defaults(RULES)[0], SCHEDULER: "mq-deadline"}
    assert list(bench.asked[0].mount) == ["relatime", "data=ordered"]
    course = storage_search.search(table, "paper", 1, generations=3)
    assert course.measured <= table.points == 6


def test_a_table_that_cannot_be_written_is_one_line(tmp_path, monkeypatch, capsys):
    place = storage_places.Place(Machine(), {"loop": "/dev/sda"}, "a machine")
    here(monkeypatch, place, Bench(), storage_places.PARTS)
    words = ["measure", "mailserver", "-o", str(tmp_path / "no folder" / "landscape.json")]
    assert storage.main(words) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "no folder" in said


def test_measuring_goes_on_where_it_was(tmp_path, monkeypatch):
    file, bench = tmp_path / "landscape.json", Bench()
    small = {"ext4": storage_places.a_few(RULES)["ext4"]}
    place = storage_places.Place(Machine(), {"loop": "/dev/sda"}, "a machine")
    here(monkeypatch, place, bench, {"few": lambda _rules: small})
    words = ["measure", "mailserver", "-o", str(file)]
    assert storage.main(words) == 0
    assert len(bench.asked) == 48
    document = json.loads(file.read_text())
    document["rows"] = document["rows"][:30]
    file.write_text(json.dumps(document))
    assert storage.main(words) == 0
    assert len(bench.asked) == 48 + 18
    assert storage.main([*words, "--repeat", "2"]) == 0
    assert len(bench.asked) == 66 + 48
    assert read_landscape(file).points == 48


@pytest.mark.parametrize(
    "words", [["tune", "x", "-o", "y"], ["measure"], ["tune", "mailserver"], []], ids=str
)
def test_wrong_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        storage.main(words)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err
