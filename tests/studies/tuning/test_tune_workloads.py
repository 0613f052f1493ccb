"""The studies of IOPerf and of fingerprints count right, on landscapes made up for it."""

import json

import pytest

from foreread.boards.target import TargetError
from foreread.tracer.remote.bios import SUMS
from studies.tuning import (
    fingerprint_table,
    fingerprint_trials,
    fingerprints,
    genetic_library,
    ioperf,
    ioperf_figures,
    workload_board,
)
from studies.tuning.workload import Done, Seen, Workload


def measured(name, one, rate):
    """Return a workload's second under a chromosome; what the disk counts goes with the rate."""
    read, random = name.endswith("read"), name.startswith("random")
    bios = {"reads": 100 * read, "writes": 100 * (not read), "sectors": rate // 512}
    bios |= {"followers": 99, "distances": 9900 * random, "jumps": 99 * random}
    counters = {"reads": 0, "read_sectors": 0, "writes": 0, "written_sectors": 0, "waited_ms": 900}
    counters |= {"reads": 100, "read_sectors": rate // 512} if read else {}
    counters |= {} if read else {"writes": 100, "written_sectors": rate // 512}
    return fingerprint_trials.Measured(name, one, rate, 1.0, counters, bios)


def landscape(rate):
    """Return a table whose rates a function of workload and chromosome says."""
    return fingerprint_table.Table(
        [
            measured(name, one, rate(name, one))
            for name in fingerprint_trials.WORKLOADS
            for one in fingerprint_trials.SPACE.enumerate()
        ]
    )


def opposite_windows(name, one):
    """Return a rate: sequential workloads want the largest window, random ones the smallest."""
    wanted = 512 if name.startswith("sequential") else 16
    return 10_000_000 if one["read_ahead_kb"] == wanted else 3_000_000


@pytest.mark.parametrize("ranked", ["counters", "rate"])
def test_a_flat_landscape_has_converged_at_once(ranked):
    table = landscape(lambda name, one: 1_000_000)
    recipe = fingerprints.recipe_ranked("genetic-library", ranked)
    taken = fingerprints.converge(table, recipe, 1, table.run)
    assert all(one == {"converged": 0, "found": 0} for passes in taken.values() for one in passes)


def test_unreached_goals_count_whole_phases(monkeypatch):
    table = landscape(lambda name, one: 1_000_000)
    monkeypatch.setattr(fingerprints, "CLOSE", 1.1)
    recipe = fingerprints.recipe_ranked("genetic-library", "counters")
    taken = fingerprints.converge(table, recipe, 1, table.run, generations=2)
    assert taken["random read"] == [{"converged": 16, "found": 16}] * 2


def rare_genes(name, one):
    """Return a rate: each pattern wants three genes to have one allele, none of them extreme."""
    wanted = {"read_ahead_kb": 64, "max_sectors_kb": 64, "scheduler": "bfq"}
    if name.startswith("random"):
        wanted = {"read_ahead_kb": 128, "max_sectors_kb": 64, "scheduler": "kyber"}
    return 100_000 * 3 ** sum(one[gene] == allele for gene, allele in wanted.items())


@pytest.mark.thorough
def test_genes_that_come_back_are_found_sooner():
    table = landscape(rare_genes)
    rows = fingerprints.summary(table, "rate", seeds=6)
    changed = [rows["random read"]["found"], rows["sequential read"]["found"]]
    assert sum(row["second_pass"] for row in changed) < sum(row["without"] for row in changed)
    assert "| random read |" in fingerprints.as_markdown(rows, "rate")
    json.dumps(rows)


def test_given_fingerprints_are_those_of_the_workloads():
    table = fingerprints.distinguished(landscape(rare_genes))
    names = [*table.described("sequential write")["fingerprints"]]
    assert names == ["write-sequential-large"]
    assert [*table.described("random read")["fingerprints"]] == ["read-random-large"]


def test_the_landscape_tells_which_genes_act():
    table = landscape(opposite_windows)
    said = table.described("random read")
    assert said["effects"] == {
        "scheduler": pytest.approx(0),
        "max_sectors_kb": pytest.approx(0),
        "read_ahead_kb": pytest.approx(0.7),
        "nr_requests": pytest.approx(0),
    }
    assert said["fingerprints"] == said["fingerprints_published"] == {"read-random-large": 84}
    assert said["worst_of_best"] == 0.3
    assert said["within_5_percent"] == 0.25
    assert said["best"]["read_ahead_kb"] == 16
    with pytest.raises(ValueError, match="335 trials"):
        fingerprint_table.Table(table.of("random read")[:1])


def test_a_trial_is_kept_and_comes_back_as_it_was():
    one = measured("random read", fingerprint_trials.SPACE.default(), 500_000)
    line = json.loads(json.dumps(fingerprint_trials.as_line(one)))
    assert fingerprint_trials.of_line(line) == one
    assert one.scored().metrics["disk.reads"] == 100
    assert str(one.snapshot.fingerprint()) == "read-random-large"


def test_a_trial_is_made_on_a_file_system_mounted_anew(monkeypatch):
    said = []

    class Target:
        def __init__(self, *_):
            pass

        def run(self, words):
            said.append(words[0])

        def close(self):
            said.append("closed")

    def run_watched(target, ground, workload, seconds, settings, disk):
        said.append((workload, settings, disk))
        counters = {f"disk.{name}": 5.0 for name in fingerprint_trials._COUNTERS}
        return Done(768000, 0.5, 3, 0.1), Seen(counters, dict.fromkeys(SUMS, 11))

    monkeypatch.setattr(workload_board, "EmulatedTarget", Target)
    monkeypatch.setattr(fingerprint_trials, "lay_out", lambda *_: said.append("laid out"))
    monkeypatch.setattr(fingerprint_trials, "run_watched", run_watched)
    with fingerprint_trials.Trials() as trials:
        one = trials.run("random read", fingerprint_trials.SPACE.default())
    *before, (workload, settings, disk), closed = said
    assert before == ["mkdir", "mke2fs", "mount", "laid out", "umount", "mount"]
    assert (workload.random_share, disk, closed) == (100, "slow1", "closed")
    assert settings[0] == ("/sys/block/slow1/queue/scheduler", "mq-deadline")
    assert (one.rate, one.counters["waited_ms"], one.bios["jumps"]) == (1_536_000, 5, 11)


def test_live_runs_are_compared_with_the_table():
    table = landscape(opposite_windows)
    faster = landscape(lambda name, one: 2 * opposite_windows(name, one))
    found = fingerprints.confirmed(table, faster.run, generations=2)
    assert found["runs"] == 2 * 4 * 2 * 8
    assert found["rate_of_the_tables"] == {"median": 2, "least": 2, "most": 2}
    assert found["live"].keys() == found["on_the_table"].keys()


def test_the_genetic_library_reaches_the_possible_gain_on_average():
    table = landscape(opposite_windows)
    found = genetic_library.summary(table, "rate", seeds=2)
    possible = 10_000_000 / 3_000_000 - 1  # the default's window is the best one nowhere
    assert found["possible"]["average"] == pytest.approx(possible)
    for row in found["workloads"].values():
        assert row["best_child"] == pytest.approx(possible)
        assert 0 < row["tuning"] < possible
    assert "| average |" in genetic_library.as_markdown(found, "rate")


def done(rate, latency=1.0):
    return {"transferred_bytes": rate, "seconds": 1.0, "requests": 1, "latency_s": latency}


def row(tuned, latency, within, **more):
    return {
        "workload": {"read_share": 100},
        "chromosome": {"scheduler": "bfq", "read_ahead_kb": 256},
        "within_clearance": within,
        "default": done(100),
        "tuned": done(tuned, latency),
        **more,
    }


def test_ioperf_counts_what_improved():
    rows = [row(150, 1.1, True, again=done(110)), row(90, 0.8, False)]
    found = ioperf_figures.summary(rows)
    assert found["all"]["workloads"] == 2
    assert found["all"]["productivity_improved"] == 0.5
    assert found["all"]["productivity_gain"] == pytest.approx(0.2)
    assert found["all"]["latency_gain"] == pytest.approx(0.05)
    assert found["all"]["both_improved"] == 0
    assert found["within_clearance"]["productivity_gain"] == pytest.approx(0.5)
    assert found["reads 95-100 %"] == found["all"] and "reads 0-4 %" not in found
    assert found["bfq applied"] == found["window 0-256 KiB applied"] == found["all"]
    assert found["default_again"]["workloads"] == 1
    text = ioperf_figures.table(found)
    assert "| the paper | 1000 | 88.2% | +29.63% |" in text
    assert "| within clearance | 1 | 100.0% | +50.00% " in text


def test_gain_is_bounded_by_the_disks_throughput():
    rows = [row(1, 1.0, True), row(1, 1.0, True) | {"default": done(1 << 30)}]
    costs = {"latency_ns": 1_000_000, "ns_per_kib": 50_000}
    found = ioperf_figures.ceiling(rows, costs)
    assert found["bytes_per_second"] == pytest.approx(17.7e6, rel=1e-3)
    assert found["above"] == 1
    assert found["gain"] == pytest.approx((found["bytes_per_second"] / 100 - 1) / 2)


def climbed(best, fresh, first):
    """Return a row whose default window is 128 KiB; runs by their rates."""

    def at(rate, window):
        return {"scheduler": "bfq", "read_ahead_kb": window, **done(rate)}

    return row(
        80,
        1.0,
        True,
        workload={"processes": 1, "read_share": 100, "random_share": 0, "request_kib": 4},
        headroom={
            "tried": [at(100, 128), at(first, 64)],
            "best": {"scheduler": "bfq", "read_ahead_kb": best},
            "fresh_default": [done(90), done(110)],
            "fresh_best": [done(rate) for rate in fresh],
        },
    )


def test_ioperf_counts_no_run_that_chose_a_setting():
    rows = [climbed(64, (105, 115), 150), climbed(128, (), 90), row(150, 1.0, True)]
    rows[0]["settings"] = [{"set": {}, **done(160)}]
    found = ioperf_figures.headroom(rows)
    assert found["found"]["workloads"] == 2
    assert found["found"]["productivity_gain"] == pytest.approx(0.05)
    assert found["found"]["productivity_improved"] == 0.5
    assert found["lent"]["productivity_gain"] == pytest.approx(-0.05)
    assert found["tuned"]["productivity_gain"] == pytest.approx(-0.2)
    assert found["first_runs"] == pytest.approx(0.25)
    assert (found["larger_than"]["0.05"], found["larger_than"]["0.2963"]) == (0.5, 0)
    gains = {one["setting"]: one["gain"] for one in found["settings"]}
    assert gains == {"bfq, 64 KiB": pytest.approx(0.2), "bfq, 128 KiB": 0}
    assert found["found_windows"] == {"64": 1, "128": 1}
    (grid,) = found["grid"]
    assert (grid["every_setting"], grid["climb"]) == (pytest.approx(0.6), pytest.approx(0.5))
    assert "| found | 2 | 50.0% | +5.0% ± 5.0% |" in ioperf_figures.headroom_table(found)
    assert ioperf_figures.headroom([row(150, 1.0, True)]) == {}


class Board:
    """Stands in for a board; ``fails`` so many times before it answers."""

    booted = fails = 0

    def __init__(self, *_):
        Board.booted += 1

    def read_knob(self, path):
        if Board.fails:
            Board.fails -= 1
            raise TargetError("gone", "boot it")
        return f"value of {path}"

    def close(self):
        pass


@pytest.fixture
def runs(monkeypatch):
    """Stand-ins for boards, which do any run: the list of their runs."""
    made = []

    def run(board, ground, workload, seconds, settings):
        made.append((workload, tuple(settings)))
        return Done(1000 + len(made), 1.0, 10, 0.1)

    monkeypatch.setattr(workload_board, "EmulatedTarget", Board)
    monkeypatch.setattr(workload_board, "lay_out", lambda *_: None)
    monkeypatch.setattr(workload_board, "run", run)
    monkeypatch.setattr(workload_board, "_WARMING_RUNS", 0)
    monkeypatch.setattr(Board, "booted", 0)
    return made


WORKLOAD = Workload(1, 50, 50, 64)


def test_a_study_that_was_killed_asks_for_what_is_missing_only(runs, tmp_path):
    raw = tmp_path / "raw.jsonl"
    with workload_board.workload_board(raw, 1.0, str) as board:
        first = [board.run((), WORKLOAD), board.run((), WORKLOAD, repeat=1), board.knob("/a")]
    with raw.open("a") as file:
        file.write('{"asked": {"knob": "/b"}, "ans')  # the kill -9
    with workload_board.workload_board(raw, 1.0, str) as board:
        assert [
            board.run((), WORKLOAD),
            board.run((), WORKLOAD, repeat=1),
            board.knob("/a"),
        ] == first
        assert (Board.booted, len(runs)) == (1, 2)
        assert board.knob("/b") == "value of /b"
    assert Board.booted == 2
    assert [json.loads(line)["answer"] for line in raw.read_text().splitlines()][2:] == [
        "value of /a",
        "value of /b",
    ]


def test_a_board_that_is_lost_is_booted_anew(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(Board, "fails", 2)
    with workload_board.workload_board(tmp_path / "raw", 1.0, str) as board:
        assert board.knob("/a") == "value of /a"
        assert Board.booted == 3
        Board.fails = 3
        with pytest.raises(TargetError):
            board.knob("/b")


def test_every_scheduler_but_none_gets_the_same_queue(runs, tmp_path):
    queue = "/sys/block/slow0/queue/"
    with workload_board.workload_board(tmp_path / "raw", 1.0, str) as board:
        for settings in ((), [(f"{queue}scheduler", "bfq")], [(f"{queue}scheduler", "none")]):
            board.run(settings, WORKLOAD)
    asked = [dict(settings).get(f"{queue}nr_requests") for _, settings in runs]
    assert asked == ["128", "128", None]


def test_ioperf_from_learning_to_json(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Board, "read_knob", lambda self, path: KNOBS[path.rpartition("/")[2]])
    out = tmp_path / "out.json"
    words = ["--workloads", "4", "--generations", "2", "--noise", "2"]
    words += ["--headroom", "2", "--exhaustive", "1"]
    command = ["ioperf.py", *words, "--raw", str(tmp_path / "raw"), "-o", str(out)]
    monkeypatch.setattr("sys.argv", command)
    ioperf.main()
    first = json.loads(out.read_text())
    before = len(runs)
    assert len(first["population"]) == 50 and len(first["workloads"]) == 4
    assert first["default"] == {"scheduler": "bfq", "read_ahead_kb": 128, "swappiness": 60}
    assert [("again" in one, "settings" in one) for one in first["workloads"]] == [
        (True, True),
        (False, False),
        (True, False),
        (False, False),
    ]
    assert ["headroom" in one for one in first["workloads"]] == [True, True, False, False]
    assert "| the paper |" in capsys.readouterr().out
    ioperf.main()
    assert json.loads(out.read_text()) == first and len(runs) == before


KNOBS = {
    "scheduler": "none [bfq]",
    "read_ahead_kb": "128",
    "swappiness": "60",
    "osrelease": "6.12.0",
}
