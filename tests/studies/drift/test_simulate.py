"""The rates of alarms that the study's page has, which the simulation makes again."""

from pathlib import Path

import pytest

from studies.drift.simulate import CASES, table

ROOT = Path(__file__).parents[3]
RANDOM_ORDER, LASTING, DRIFT = CASES[:3], CASES[3], CASES[4:]


@pytest.mark.thorough
def test_the_pages_have_the_simulated_rates_which_are_those_promised():
    lines = table()
    assert "\n".join(lines) in (ROOT / "studies/drift/README.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in lines[2:]]
    alarms = {name: float(alarmed) for name, alarmed, *_ in rows}
    medians = {name: commits for name, _, commits, *_ in rows}
    assert all(alarms[case.name] <= 5 for case in RANDOM_ORDER)
    assert all(alarms[case.name] == 100 for case in DRIFT)
    slow, fast = medians["0.1 % a commit"], medians["1 % a commit"]
    guide = " ".join((ROOT / "docs/howto/ci.md").read_text().split())
    assert f"a drift of 1 % a commit after {fast} commits" in guide
    assert f"one of 0.1 % after {slow}." in guide
    assert f"alarmed in {alarms[RANDOM_ORDER[0].name]} % of those without a drift" in guide
    assert f"alarmed in {alarms[LASTING.name]} % if half of the noise lasted" in guide
