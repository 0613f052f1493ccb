"""The report's sections on what was tuned on the board: what it brings, how it was found."""

from __future__ import annotations

from collections import Counter
from statistics import median

from analyzer.report.blocks import Block, Bullets, Column, Figure, Paragraph, Section, Table
from analyzer.report.tuning_plots import (
    convergence_plots,
    default_against_best,
    effects_plot,
    fitness_plot,
    pareto_plots,
)
from analyzer.report.wording import count, percent, plural, seconds
from analyzer.tuner.compare import Change
from analyzer.tuner.confirm import differing
from analyzer.tuner.effects import GeneEffect, LevelEffect, main_effects
from analyzer.tuner.genes import Chromosome
from analyzer.tuner.pareto import disagree, front, points
from analyzer.tuner.results import Results

MOST_POINTS = 12  # of a front's table
_ENDED = {
    "finished": "the recipe had finished",
    "nothing new": "it proposed nothing new",
    "noise": "what it still gained was below the noise",
    "evaluations": "its evaluations were used up",
    "seconds": "its time was used up",
    None: "it was interrupted, and can be resumed",
}


def tuning_sections(results: Results | None) -> list[Section]:
    """Return the sections of a tuning; those with nothing to say have no blocks."""
    if results is None:
        return []
    return [_brought(results), _matter(results), _disagreement(results), _course(results)]


def _brought(results: Results) -> Section:
    plot = default_against_best(results)
    figures = [Figure(plot)] if plot else []
    blocks = [Paragraph(_answer(results)), *_kept(results), _by_scenario(results), *figures]
    return Section("tuned", "What tuning on the board brings", blocks)


def _answer(results: Results) -> str:
    """Return the outcome in a sentence or two."""
    confirmed = results.confirmed
    change = confirmed.over_default
    if not differing(results.space, results.winner):
        return "No chromosome was better than the settings that the board had."
    if confirmed.to_run or change is None:
        found = results.runs.change(results.winner, results.space.default())
        return (
            f"The best chromosome of the search takes {_change(found)} of the default's time. "
            "That was not confirmed: the search picked it because its runs were good, so that "
            "part of it is luck. `foreread tune --resume` confirms it."
        )
    if not confirmed.gains:
        return (
            "Runs made to confirm it show no gene of the best chromosome to be better than its "
            "default: what the search had seen was luck. The board is best left as it is."
        )
    genes = plural(len(confirmed.gains), "gene")
    what = "time" if results.spec.objective == "seconds" else "cost"
    return (
        f"{genes.capitalize()} set as below: {_change(change)} of the default's {what}"
        + (", as the geometric mean over the scenarios" if _several(results) else "")
        + ". All other genes stay at their defaults, for nothing is lost by that: beside the best "
        f"chromosome of the search it is {_change(confirmed.over_winner)}. Measured by runs of its "
        "own, after the search."
    )


def _several(results: Results) -> bool:
    return len(results.spec.scenarios) > 1


def _change(change: Change | None) -> str:
    """Return a change with its interval: "−12 % (−14 % to −9.8 %)"."""
    if change is None:
        return "–"
    text = percent(change.effect, signed=True)
    if change.low is None or change.high is None:
        return text
    return f"{text} ({percent(change.low, signed=True)} to {percent(change.high, signed=True)})"


def compared(results: Results) -> list[tuple[str, Chromosome]]:
    """Return what is held against each other: the default, the winner, and what is left of it."""
    named = [("default", results.space.default()), ("best of the search", results.winner)]
    if results.confirmed.gains:
        named.append(("only what matters", results.confirmed.chromosome))
    return list({str(sorted(one.items())): (name, one) for name, one in reversed(named)}.values())[
        ::-1
    ]


def _by_scenario(results: Results) -> Table:
    runs = results.confirming if results.confirming.all else results.runs
    named = compared(results)
    default = results.space.default()
    rows = []
    for scenario in results.spec.scenarios:
        for name, chromosome in named:
            costs = runs.costs(chromosome, scenario)
            change = runs.change(chromosome, default, scenario)
            rows.append(
                [
                    scenario,
                    name,
                    *(_value(results, f(costs)) if costs else "–" for f in (median, min, max)),
                    count(len(costs)),
                    "" if name == "default" else _change(change),
                ]
            )
    columns = [
        Column("scenario", "left", share=1.4),
        Column("settings", "left", share=1.4),
        *(Column(title) for title in ("median", "least", "most", "runs")),
        Column("against the default (95 % interval)", share=2.4),
    ]
    of = "confirmation" if results.confirming.all else "search"
    return Table(columns, rows, f"Default against best, by the runs of the {of}.")


def _value(results: Results, cost: float) -> str:
    """Return a cost as the objective has it."""
    return seconds(cost) if results.spec.objective == "seconds" else f"{1 / cost:,.4g}"


def _kept(results: Results) -> list[Block]:
    gains = results.confirmed.gains
    if not gains:
        return []
    columns = [Column("gene", "left"), Column("set to"), Column("default")]
    columns.append(Column("what it does (95 % interval)", share=2))
    rows = [[g.gene, str(g.allele), str(g.default), _change(g.change)] for g in gains]
    caption = (
        "The genes that matter. What one does: the cost with all of them, against the cost with "
        "this one back at its default, measured."
    )
    return [Table(columns, rows, caption)]


def _matter(results: Results) -> Section:
    section = Section("genes", "Which genes matter")
    effects = results.effects
    if not effects.genes:
        return section
    noise = "unknown" if effects.noise is None else percent(effects.noise)
    section.blocks.append(
        Paragraph(
            f"Main effects over {plural(effects.chromosomes, 'chromosome')}, all genes fitted at "
            f"once; they explain {percent(effects.explained)} of what differs between chromosomes. "
            f"A gene matters when the interval of a level leaves out 0 and its effect is larger "
            f"than the noise of a run ({noise}). The intervals hold together: the chance that any "
            "of them is wrong is 5 %. The search tried good values more often than others, so an "
            "effect is that beside good values of the other genes; what it hardly tried, and what "
            "always came together, cannot be told."
        )
    )
    plot = effects_plot(effects)
    section.blocks.extend([Figure(plot)] if plot else [])
    section.blocks.append(_effects_table(effects.genes))
    section.blocks.extend(_effects_by_scenario(results))
    return section


def _effects_table(genes: tuple[GeneEffect, ...]) -> Table:
    columns = [
        Column("gene", "left", share=1.5),
        Column("default"),
        Column("largest effect at"),
        Column("effect"),
        Column("from"),
        Column("to"),
        Column("chromosomes"),
        Column("", "left", share=1.8),
    ]
    rows = [[g.gene, str(g.default), *_level_cells(g.largest), _verdict(g)] for g in genes]
    marked = frozenset(i for i, gene in enumerate(genes) if gene.verdict == "matters")
    return Table(columns, rows, "Effect on the cost, in parts of it; negative saves.", marked)


def _level_cells(level: LevelEffect) -> list[str]:
    figures = (level.effect, level.low, level.high)
    return [
        str(level.level),
        *(percent(figure, signed=True) for figure in figures),
        count(level.chromosomes),
    ]


def _verdict(gene: GeneEffect) -> str:
    if gene.inseparable_from:
        return f"cannot be told from {', '.join(gene.inseparable_from)}"
    if gene.verdict == "cannot be told":
        return "too few chromosomes to tell"
    return gene.verdict


def _effects_by_scenario(results: Results) -> list[Block]:
    """Return the effects in each scenario of the genes that matter in one of them."""
    scenarios = results.spec.scenarios
    if not _several(results):
        return []
    found = [main_effects(results.runs, results.space, scenario) for scenario in scenarios]
    by_name = [{gene.gene: gene for gene in one.genes} for one in found]
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
    effect = next((one for one in gene.levels if one.level == level), None) if gene else None
    if effect is None or effect.low is None:
        return "–"
    return _change(Change(effect.effect, effect.low, effect.high))


def _disagreement(results: Results) -> Section:
    section = Section("pareto", "Where scenarios disagree")
    if not disagree(results.runs):
        return section
    on = front(points(results.runs))
    scenarios = results.runs.scenarios
    section.blocks.append(
        Paragraph(
            "What is best in one scenario costs more in another. No chromosome is better in every "
            f"scenario than these {plural(len(on), 'chromosome')}; which of them is best depends "
            "on how much each scenario counts. The settings above count them alike."
        )
    )
    section.blocks.extend(Figure(plot) for plot in pareto_plots(results))
    on.sort(key=lambda point: point.costs)
    rows = [
        [*(_value(results, cost) for cost in point.costs), _difference(results, point.chromosome)]
        for point in on[:MOST_POINTS]
    ]
    columns = [*(Column(scenario) for scenario in scenarios), Column("genes", "left", share=4)]
    more = "" if len(on) <= MOST_POINTS else f" The first {MOST_POINTS} are shown."
    section.blocks.append(Table(columns, rows, f"The Pareto front: medians of the search.{more}"))
    return section


def _difference(results: Results, chromosome: Chromosome) -> str:
    """Return the genes in which a chromosome differs from the default."""
    genes = differing(results.space, chromosome)
    return ", ".join(f"{gene.name} {chromosome[gene.name]}" for gene in genes) or "the default"


def _course(results: Results) -> Section:
    section = Section("search", "How the search went")
    spec = results.spec
    section.blocks.append(
        Paragraph(
            f"{spec.sampler}, seed {spec.seed}: {plural(len(results.search), 'run')} of "
            f"{plural(len(results.runs.chromosomes), 'chromosome')} out of "
            f"{results.space.size:,} that are valid, in {plural(len(spec.scenarios), 'scenario')} "
            f"({', '.join(spec.scenarios)}) on {spec.board.name}"
            + (f", Linux {spec.board.kernel}" if spec.board.kernel else "")
            + f". The search ended because {_ENDED[results.ended]}."
        )
    )
    if results.generations:
        section.blocks.append(Figure(fitness_plot(results)))
        section.blocks.extend(Figure(plot) for plot in convergence_plots(results))
    section.blocks.extend(_warnings(results))
    return section


def _warnings(results: Results) -> list[Block]:
    statuses = Counter(one.attempt.status for one in [*results.search, *results.confirmation])
    bad = [f"{number:,} {status}" for status, number in statuses.most_common() if status != "ok"]
    items = [f"runs that did not count, and were made again: {', '.join(bad)}"] if bad else []
    if results.standings.drifts:
        times = plural(len(results.standings.drifts), "time")
        items.append(
            f"the machine became another {times} while it was tuned: the default took another time "
            "than before; runs are compared with the default of their time"
        )
    items += [f"{gene} was left out: {why}" for gene, why in results.space.left_out.items()]
    return [Bullets(items, warning=bool(bad or results.standings.drifts))] if items else []
