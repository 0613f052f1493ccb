"""The rates of alarms that the study's page has, which the simulation makes again."""

import re
from pathlib import Path

from studies.drift.simulate import CASES, table

PAGE = Path(__file__).parents[3] / "studies/drift/README.md"
RANDOM_ORDER, DRIFT = CASES[:3], CASES[4:]


def test_the_page_has_the_simulated_table_and_its_rates_are_those_promised():
    lines = table()
    assert "\n".join(lines) in PAGE.read_text()
    alarms = {line.split(" | ")[0][2:]: float(re.split(r" \| ", line)[1]) for line in lines[2:]}
    assert all(alarms[case.name] <= 5 for case in RANDOM_ORDER)
    assert all(alarms[case.name] == 100 for case in DRIFT)
