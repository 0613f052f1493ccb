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
    constraints = checked(results)
    refused = [refusal for constraint in constraints for refusal in constraint.refused]
    texts: list[str] = [
        sentence for constraint in constraints for sentence in sentences(constraint)
    ]
    section = Section("constraints", "Writes and memory")
    section.blocks.append(Bullets(texts, warning=bool(refused)))
    if not refused:
        return section
    rows = [
        [
            refusal.figures.constraint.name,
            refusal.figures.scenario,
            number(refusal.figures.default),
            number(refusal.figures.limit),
            number(refusal.figures.value),
            count(refusal.figures.runs),
            change_text(refusal.change),
            genes_text(results.space, refusal.chromosome),
        ]
        for refusal in refused[:MOST_ROWS]
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
