"""The page of the study has the table that the simulation makes."""

from pathlib import Path

from studies.drift.simulate import ALARMS, CASES, rates, table

PAGE = Path(__file__).parents[3] / "studies/drift/README.md"


def test_the_page_has_the_simulated_table():
    assert "\n".join(table()) in PAGE.read_text()
