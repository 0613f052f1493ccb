"""The frame of the tuning studies: landscapes from raw files, figures, tables."""

import itertools

import pytest

from studies.tuning import measure, run, starts

SCHEDULERS = ("none", "none"), *itertools.product(("bfq", "mq-deadline"), (2, 64))
WINDOWS, SWAPPINESS = (32, 128, 512), (0, 60)

COUNTS = ("requests", "sectors", "swapped_in", "swapped_out")


def lines(scenarios=("idle", "reader")):
    """bfq halves a start beside a reader; the window 32 saves a tenth, swappiness nothing."""
    return [
        {
            **{"scenario": scenario, "scheduler": scheduler, "nr_requests": depth},
            **{"read_ahead_kb": window, "swappiness": swappiness, "status": 0},
            "guest_ns": int(
                1e9
                * (0.9 if window == 32 else 1.0)
                * (0.5 if scheduler == "bfq" and scenario == "reader" else 1.0)
                * (1 + 0.001 * repeat)
            ),
        }
        for scenario, (scheduler, depth), window, swappiness, repeat in itertools.product(
            scenarios, SCHEDULERS, WINDOWS, SWAPPINESS, range(2)
        )
    ]


def test_gains_are_those_of_the_table():
    found = starts.gains(starts.landscape_of(lines(), ["reader"]))
    assert found["optimum"]["scheduler"] == "bfq" and found["best_window_alone"] == 32
    assert found["over_default"] == pytest.approx(0.55, abs=0.001)
    assert found["over_window_alone"] == pytest.approx(0.5, abs=0.001)
    assert found["seconds"]["best_window_alone"]["reader"] == pytest.approx(0.9, abs=0.001)


def test_a_start_that_was_given_up_counts_as_the_limit():
    slow = [{**line, "status": 137} if line["read_ahead_kb"] == 512 else line for line in lines()]
    landscape = starts.landscape_of(slow)
    worst = {"scheduler": "bfq", "nr_requests": 2, "read_ahead_kb": 512, "swappiness": 0}
    assert landscape.medians(worst) == {"idle": starts.LIMIT_S, "reader": starts.LIMIT_S}


def test_without_a_scheduler_there_are_no_requests_to_choose():
    landscape = starts.landscape_of(lines())
    assert landscape.points == 30
    bare = {one["nr_requests"] for one in landscape.space.enumerate() if one["scheduler"] == "none"}
    assert bare == {"none"}


def test_missing_measurements_are_reported():
    with pytest.raises(ValueError, match="1 combinations are not measured yet"):
        starts.landscape_of(lines()[2:])


def test_scenarios_count_together_with_and_without_memory_and_alone():
    assert starts.usual_sets(["idle", "memory", "reader"]) == [
        ["idle", "memory", "reader"],
        ["idle", "reader"],
        *(["idle"], ["memory"], ["reader"]),
    ]
    assert starts.usual_sets(["writer"]) == [["writer"]]


def test_every_study_names_scripts_with_a_folder_for_figures():
    for commands in run.STUDIES.values():
        assert all(script.endswith(".py") for script, *_ in commands)
        assert any("{out}" in word for command in commands for word in command)


def started(point, status=0):
    return measure.Measured(*point, status=status, guest_ns=1, **dict.fromkeys(COUNTS, 0))


def test_every_setting_once_a_round_and_scenario():
    settings = list(measure.all_settings())
    assert len(set(settings)) == len(settings) == (3 * 2 + 1) * 8 * 3
    assert {depth for scheduler, depth, *_ in settings if scheduler == "none"} == {"none"}
    parts = list(measure.todo({"idle": 1, "writer": 2}, []))
    assert [part[0][0] for part in parts] == ["idle", "writer", "writer"]
    assert all({one[1:] for one in part} == set(settings) for part in parts)


def test_a_study_resumes_and_yields_each_start_up_once():
    first, second, *_ = next(measure.todo({"reader": 1}, []))
    done = [started(first), started(second, status=137)]
    parts = list(measure.todo({"reader": 2}, done))
    assert [(first in part, second in part) for part in parts] == [(False, False), (True, False)]


@pytest.mark.parametrize("name", ["madplay", "php"])
def test_the_study_has_all_documented_measurements(name):
    study = measure.STUDIES[name]
    done = measure.read_raw(study.raw)
    assert list(measure.todo(study.rounds, done)) == []
    assert starts.landscape_of([vars(one) for one in done]).points == 168
    predicted = study.raw.with_name(f"{study.raw.stem}-predicted.json")
    assert 64 in starts.predicted_in(predicted)
