"""The report's sections of a tuning: what stands in them, and that hostile names stay text."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest
from tuned_stores import tuned
from tuner_landscapes import SPACE

from foreread.analyzer.report.blocks import Bullets, Figure, Paragraph, Table
from foreread.analyzer.report.page import render
from foreread.analyzer.report.pdf import write_pdf
from foreread.analyzer.report.style import drawing
from foreread.analyzer.report.tuning import tuning_sections

HOSTILE = "reader:/<script>alert(1)</script>$\\frac{a}{"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuned") / "app.tuning"
    return tuned(path, ("idle", "reader"), runs=240, recipe="genetic-library")


def sections(results):
    return {section.anchor: section for section in tuning_sections(results)}


def of_kind(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_without_a_tuning_there_is_no_section():
    assert tuning_sections(None) == []


def test_the_answer_is_that_of_the_confirmation(results):
    section = sections(results)["tuned"]
    answer = of_kind(section, Paragraph)[0].text
    change = results.confirmed.over_default
    assert f"−{abs(100 * change.effect):.0f} %" in answer and "geometric mean" in answer
    kept, by_scenario = of_kind(section, Table)
    assert {row[0] for row in kept.rows} == {gain.gene for gain in results.confirmed.gains}
    assert [row[:2] for row in by_scenario.rows] == [
        [scenario, settings]
        for scenario in ("idle", "reader")
        for settings in ("default", "tuned", "best of the search")
    ]
    assert all(int(row[5]) >= 5 for row in by_scenario.rows)


def test_all_tables_have_a_cell_for_each_column(results):
    for section in sections(results).values():
        for table in of_kind(section, Table):
            assert {len(row) for row in table.rows} == {len(table.columns)}


def test_genes_that_matter_are_marked(results):
    table = of_kind(sections(results)["genes"], Table)[0]
    by_name = {effect.gene: effect.verdict for effect in results.effects.genes}
    marked = {table.rows[number][0] for number in table.marked}
    assert marked == {gene for gene, verdict in by_name.items() if verdict == "matters"}
    assert "scheduler" in {row[0] for row in table.rows}


def test_scenarios_that_disagree_have_a_front(results):
    """With a reader bfq saves, idle it costs."""
    section = sections(results)["pareto"]
    table = of_kind(section, Table)[0]
    cells = [row[-1] for row in table.rows]
    assert any("scheduler bfq" in cell for cell in cells)
    assert any("scheduler bfq" not in cell for cell in cells)
    alone = replace(results, search=[e for e in results.search if e.scenario == "reader"])
    assert not sections(alone)["pareto"].blocks


def test_every_gene_that_varied_has_a_picture(results):
    figures = of_kind(sections(results)["search"], Figure)
    assert figures[0].plot.name == "tuning-fitness"
    names = [figure.plot.name for figure in figures[1:]]
    assert names == [f"gene-convergence-{number}" for number in (1, 2)]
    with drawing():
        titles = [
            ax.get_title(loc="left")
            for figure in figures[1:]
            for ax in figure.plot.figure.findobj(lambda x: hasattr(x, "get_xaxis"))
        ]
    assert set(titles) == set(SPACE.names)


def test_runs_that_did_not_count_are_reported(results):
    bullets = of_kind(sections(results)["search"], Bullets)
    bad = sum(one.attempt.status == "contended" for one in [*results.search, *results.confirmation])
    assert bad > 0 and f"{bad} contended" in bullets[0].items[0] and bullets[0].warning


@pytest.mark.thorough
def test_unconfirmed_gains_are_reported_as_partly_luck(tmp_path):
    found = tuned(tmp_path / "app.tuning", runs=60, confirm=False)
    text = of_kind(sections(found)["tuned"], Paragraph)[0].text
    assert "not confirmed" in text and "luck" in text


def test_a_campaign_that_has_hardly_begun_is_drawn(tmp_path):
    for runs in (1, 6, 12):
        found = tuned(tmp_path / f"{runs}.tuning", runs=runs, confirm=False)
        shown = [one for one in tuning_sections(found) if one.blocks]
        with drawing():
            page = render("t", "s", shown, "")
        assert all(section.title in page for section in shown)


def test_a_recording_of_another_board_is_said_to_be_one(results, app):
    capture = app.capture
    [warning] = of_kind(tuning_sections(results, capture)[0], Bullets)
    assert warning.warning and warning.items[0].endswith(shlex.join(capture.command))
    board = replace(
        results.spec.board,
        kernel=capture.host.kernel,
        hardware=replace(results.spec.board.hardware, machine=capture.host.machine),
    )
    same = replace(results, spec=replace(results.spec, command=tuple(capture.command), board=board))
    assert not of_kind(tuning_sections(same, capture)[0], Bullets)


def test_a_campaign_whose_scenarios_had_no_turn_yet_has_its_course(tmp_path, app):
    scenarios = ("idle", "reader")
    found = tuned(tmp_path / "t", scenarios, runs=0, confirm=False, recipe="fingerprinting")
    assert not found.search
    assert [one.anchor for one in tuning_sections(found, app.capture)] == ["search"]


def test_hostile_names_stay_text(results, tmp_path):
    names = {"reader": HOSTILE, "idle": "idle"}
    forged = replace(
        results,
        spec=replace(results.spec, scenarios=tuple(names.values()), sampler="<b>x</b>"),
        search=[replace(one, scenario=names[one.scenario]) for one in results.search],
        confirmation=[replace(one, scenario=names[one.scenario]) for one in results.confirmation],
    )
    said = [section for section in tuning_sections(forged) if section.blocks]
    with drawing():
        page = render("t", "s", said, "")
        write_pdf(tmp_path / "t.pdf", "t", "s", said)
    assert "<script" not in page and "<b>x</b>" not in page
    assert "&lt;script&gt;" in page and not re.search(r"\bnan\b", page)
