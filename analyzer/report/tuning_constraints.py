"""The report's section on the constraints of a tuning: what was refused, what was not checked."""

from __future__ import annotations

from foreread.analyzer.report.blocks import Bullets, Column, Section, Table
from foreread.analyzer.report.tuning_wording import change_text
from foreread.analyzer.report.wording import count
from foreread.analyzer.tuner.findings.constraints import checked, number, sentences
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.findings.trades import genes_text

MOST_ROWS = 12


def constraints(results: Results) -> Section:
    """Return the constraints in words, and a table of the chromosomes that violate one."""
    found = checked(results)
    refused = [one for constraint in found for one in constraint.refused]
    said: list[str] = [sentence for one in found for sentence in sentences(one)]
    section = Section("constraints", "Writes and memory")
    section.blocks.append(Bullets(said, warning=bool(refused)))
    if not refused:
        return section
    rows = [
        [
            one.figures.constraint.name,
            one.figures.scenario,
            number(one.figures.default),
            number(one.figures.limit),
            number(one.figures.value),
            count(one.figures.runs),
            change_text(one.change),
            genes_text(results.space, one.chromosome),
        ]
        for one in refused[:MOST_ROWS]
    ]
    columns = [
        *(Column(title, "left") for title in ("constraint", "scenario")),
        *(Column(title) for title in ("default", "limit", "refused", "runs")),
        Column("time against the default", share=2),
        Column("genes", "left", share=3),
    ]
    more = "" if len(refused) <= MOST_ROWS else f" The first {MOST_ROWS} are shown."
    caption = f"Chromosomes that were refused: medians of their runs.{more}"
    section.blocks.append(Table(columns, rows, caption))
    return section
