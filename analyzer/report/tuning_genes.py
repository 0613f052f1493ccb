"""The report's sections on which genes matter, and on what one scenario or aim costs another."""

from __future__ import annotations

from foreread.analyzer.report.blocks import Block, Column, Figure, Paragraph, Section, Table
from foreread.analyzer.report.tuning_effects import effects_plot, pareto_plots
from foreread.analyzer.report.tuning_wording import change_text, several, value_text
from foreread.analyzer.report.wording import count, percent
from foreread.analyzer.tuner.campaign.weights import weights_text
from foreread.analyzer.tuner.findings.compare import Change
from foreread.analyzer.tuner.findings.constraints import number
from foreread.analyzer.tuner.findings.effects import Effects, GeneEffect, LevelEffect, main_effects
from foreread.analyzer.tuner.findings.pareto import disagree
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.findings.trades import Trade, Trades, genes_text, trades
from foreread.boards.base.counted import plural

MOST_POINTS = 12  # of a front's table


def matter(results: Results) -> Section:
    """Return the main effects; without blocks where no gene was varied."""
    section = Section("genes", "Which genes matter")
    effects = results.effects
    if not effects.genes:
        return section
    noise = "unknown" if effects.noise is None else percent(effects.noise)
    section.blocks.append(
        Paragraph(
            f"Main effects over {plural(effects.chromosomes, 'chromosome')}, all genes fitted at "
            f"once{_explained(effects)}. "
            f"A gene matters when the interval of a level excludes 0 and its effect is larger "
            f"than the noise of a run ({noise}). The intervals are simultaneous, at 95 %. The "
            "search tried good values more often than others, so each effect holds with good "
            "values of the other genes. Levels that were rarely tried, and genes that always "
            "changed together, cannot be estimated. These effects come from the search; the "
            "results above were measured separately."
        )
    )
    plot = effects_plot(effects)
    section.blocks.extend([Figure(plot)] if plot else [])
    section.blocks.append(_effects_table(effects.genes))
    section.blocks.extend(_effects_by_scenario(results))
    return section


def _explained(effects: Effects) -> str:
    """Return the quality of the fit; empty if there are too few chromosomes to estimate it."""
    if not any(level.low is not None for gene in effects.genes for level in gene.levels):
        return ""
    return f"; leave-one-out R²: {percent(effects.explained)}"


def _effects_table(genes: tuple[GeneEffect, ...]) -> Table:
    columns = [
        Column("gene", "left", share=1.5),
        Column("default"),
        Column("largest effect at"),
        Column("effect"),
        Column("from"),
        Column("to"),
        Column("chromosomes", share=1.3),
        Column("", "left", share=1.8),
    ]
    rows = [[g.gene, str(g.default), *_level_cells(g.largest), _verdict(g)] for g in genes]
    marked = frozenset(i for i, gene in enumerate(genes) if gene.verdict == "matters")
    return Table(columns, rows, "Relative effect on the cost; negative values save time.", marked)


def _level_cells(level: LevelEffect) -> list[str]:
    figures = (level.effect, level.low, level.high)
    return [
        str(level.level),
        *(percent(figure, signed=True) for figure in figures),
        count(level.chromosomes),
    ]


def _verdict(gene: GeneEffect) -> str:
    if gene.inseparable_from:
        return f"inseparable from {', '.join(gene.inseparable_from)}"
    if gene.verdict == "cannot be told":
        return "too few chromosomes to estimate"
    return gene.verdict


def _effects_by_scenario(results: Results) -> list[Block]:
    """Return the effects in each scenario of the genes that matter in one of them."""
    scenarios = results.spec.scenarios
    if not several(results):
        return []
    effects = [main_effects(results.runs, results.space, scenario) for scenario in scenarios]
    by_name = [{gene.gene: gene for gene in effect.genes} for effect in effects]
    matter = [
        name
        for name in results.space.names
        if any(name in genes and genes[name].verdict == "matters" for genes in by_name)
    ]
    if not matter:
        return []
    rows = [
        [name, str(level), *(_cell(genes.get(name), level) for genes in by_name)]
        for name in matter
        for level in [_most_telling(name, by_name).level]
    ]
    columns = [Column("gene", "left"), Column("at"), *(Column(name) for name in scenarios)]
    return [Table(columns, rows, "The same by scenario, where a gene matters in one of them.")]


def _most_telling(name: str, by_name: list[dict[str, GeneEffect]]) -> LevelEffect:
    genes = [genes[name] for genes in by_name if name in genes and genes[name].verdict == "matters"]
    return max((gene.largest for gene in genes), key=lambda level: abs(level.effect))


def _cell(gene: GeneEffect | None, level: object) -> str:
    effect = (
        next((gene_level for gene_level in gene.levels if gene_level.level == level), None)
        if gene
        else None
    )
    if effect is None or effect.low is None:
        return "–"
    return change_text(Change(effect.effect, effect.low, effect.high))


def disagreement(results: Results) -> Section:
    """Return the front of all aims; without blocks where no aim costs another one."""
    section = Section("pareto", "Where scenarios disagree")
    traded, apart = trades(results), disagree(results.runs)
    if not (traded.front and (apart or traded.paid)):
        return section
    section.blocks.append(Paragraph(f"{_what_is_traded(traded, apart)} {_chosen(results, traded)}"))
    if apart:
        section.blocks.extend(Figure(plot) for plot in pareto_plots(results))
    scenarios = results.spec.scenarios
    rows = [
        [
            *(_aims_text(results, traded, trade, scenario) for scenario in scenarios),
            genes_text(results.space, trade.chromosome),
        ]
        for trade in traded.front[:MOST_POINTS]
    ]
    columns = [*(Column(scenario) for scenario in scenarios), Column("genes", "left", share=4)]
    more = "" if len(traded.front) <= MOST_POINTS else f" The first {MOST_POINTS} are shown."
    section.blocks.append(Table(columns, rows, f"The Pareto front: medians of the search.{more}"))
    return section


def _what_is_traded(traded: Trades, apart: bool) -> str:
    parts = ["The best settings of one scenario cost more in another."] if apart else []
    by_quantity: dict[str, list[str]] = {}
    for aim in traded.paid:
        if aim.counter is not None:
            by_quantity.setdefault(aim.counter.quantity, []).append(aim.scenario)
    parts += [
        f"The best settings of the search have more {quantity} than the default in "
        f"{', '.join(scenarios)}."
        for quantity, scenarios in by_quantity.items()
    ]
    return " ".join(parts)


def _chosen(results: Results, traded: Trades) -> str:
    weights = weights_text(results.standings.weights)
    several_kinds = any(aim.counter is not None for aim in traded.aims)
    beaten = "every aim in every scenario" if several_kinds else "every scenario"
    return (
        f"No chromosome is better in {beaten} than these "
        f"{plural(len(traded.front), 'chromosome')}; the best of them depends on the weight of "
        "each scenario (tune --weigh). The settings "
        f"above {f'have the weights {weights}' if weights else 'give all the same weight'}."
    )


def _aims_text(results: Results, traded: Trades, trade: Trade, scenario: str) -> str:
    """Return the figures of a chromosome in a scenario."""
    return "; ".join(
        value_text(results, value)
        if aim.counter is None
        else f"{number(value)} {aim.counter.quantity}"
        for aim, value in zip(traded.aims, trade.values, strict=True)
        if aim.scenario == scenario
    )
