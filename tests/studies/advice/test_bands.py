"""The band of savings with a list: learnt from other applications than the one that is judged."""

import pytest

from studies.advice.bands import HEAD, is_within, judged, unexplained, with_lists


def row(error, deviation=0.0):
    return {"error": error, "deviation": deviation, "seconds": 1.0}


def test_only_what_the_draws_do_not_explain_is_learnt():
    assert unexplained([row(0.05, 0.03), row(-0.05, 0.03)]) == pytest.approx(0.04)
    assert unexplained([row(0.01, 0.03)]) == 0.0


def test_a_start_is_judged_by_the_errors_of_other_applications():
    starts = {"a-vim": [row(0.5)], "b-vim": [row(0.4)], "a-perl": [row(0.01)]}
    found = {one[0]: dict(zip(HEAD, one, strict=True)) for one in judged(starts)}
    assert found["a-vim"]["learnt deviation"] == "1.00 %"
    assert found["b-vim"]["in the band"] == "0"
    assert found["a-perl"]["in the band"] == "1"
    assert found["all"]["in the band"] == "1"


def test_the_band_joins_the_draws_and_the_rest():
    assert is_within(row(0.08, 0.03), 0.04)
    assert not is_within(row(0.083, 0.03), 0.04)


def test_a_row_s_error_is_that_of_its_saving():
    rows = [
        {"list": None, "later": [], "saved": 0, "seconds": [1.0], "predicted": 1.1},
        {"list": "l", "later": [], "saved": 0.3, "seconds": [0.8], "predicted": 0.8}
        | {"deviation": 0.01},
        {"list": "l", "later": [[0.1, 64]], "seconds": [0.7]},
    ]
    (found,) = with_lists({"rows": rows})
    assert found == {"error": pytest.approx(0.1), "deviation": 0.01, "seconds": 0.8}
