"""The report's sections on a tuning of the board: its gain, and how it was found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from statistics import median

from foreread.analyzer.report.blocks import (
    Block,
    Bullets,
    Column,
    Figure,
    Paragraph,
    Section,
    Table,
)
from foreread.analyzer.report.tuning_constraints import constraints
from foreread.analyzer.report.tuning_effects import default_against_best
from foreread.analyzer.report.tuning_genes import disagreement, matter
from foreread.analyzer.report.tuning_plots import convergence_plots, fitness_plot
from foreread.analyzer.report.tuning_wording import change_text, cost_name, several, value_text
from foreread.analyzer.report.wording import count, shell_words
from foreread.analyzer.tuner.evaluation import key_of
from foreread.analyzer.tuner.findings.confirm import Gain, differing
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome
from foreread.analyzer.tuner.store.records import Spec
from foreread.boards.base.counted import plural
from foreread.tracer.formats.capture import NO_METADATA, Metadata

_ENDED = {
    "finished": "the recipe was complete",
    "nothing new": "it proposed nothing new",
    "noise": "further gains were below the noise",
    "evaluations": "it reached the limit of runs",
    "seconds": "it reached the time limit",
    None: "it was interrupted; continue it with --resume",
}


def tuning_sections(results: Results | None, capture: Metadata = NO_METADATA) -> list[Section]:
    """Return the sections of a tuning; empty ones have no blocks.

    ``capture``: of the recording, if the report is also about one.
    """
    if results is None:
        return []
    if results.takes_turns:
        outcomes = [
            _of_turn(number, contest, section)
            for number, contest in enumerate(results.contests, 1)
            for section in (_brought(contest), constraints(contest), matter(contest))
        ]
    else:
        outcomes = [
            _brought(results),
            constraints(results),
            matter(results),
            disagreement(results),
        ]
    sections = [*outcomes, _course(results)]  # turns without a run have no section
    sections[0].blocks[:0] = _other_than(results.spec, capture)
    return sections


def _of_turn(number: int, results: Results, section: Section) -> Section:
    """Return a section of the ``number``-th scenario that took turns; its figures have names."""
    (scenario,) = results.spec.scenarios
    blocks = [
        Figure(replace(block.plot, name=f"{block.plot.name}-turn-{number}"))
        if isinstance(block, Figure)
        else block
        for block in section.blocks
    ]
    return Section(f"{section.anchor}-turn-{number}", f"{section.title}: {scenario}", blocks)


def _brought(results: Results) -> Section:
    plot = default_against_best(results)
    figures = [Figure(plot)] if plot else []
    blocks = [Paragraph(_answer(results)), *_kept(results), *_lost(results)]
    blocks += [_by_scenario(results), *figures]
    return Section("tuned", "Result of tuning on the board", blocks)


def _other_than(spec: Spec, capture: Metadata) -> list[Block]:
    """Return a warning where a tuning is not of the start that was recorded."""
    host = capture.host
    if host is None:
        return []
    pairs = [
        ("command", shell_words(list(spec.command)), shell_words(capture.command or [])),
        ("kernel", spec.board.kernel, host.kernel),
        ("machine", spec.board.hardware.machine, host.machine),
    ]
    items = [
        f"the tuning was made with another {what} than the recording: {tuned}, not {recorded}"
        for what, tuned, recorded in pairs
        if tuned and tuned != recorded
    ]
    return [Bullets(items, warning=True)] if items else []


def _answer(results: Results) -> str:
    """Return the outcome in a sentence or two."""
    confirmed = results.confirmed
    change = confirmed.over_default
    if not differing(results.space, results.winner) and confirmed.answer == "default":
        return "No chromosome was better than the board's original settings."
    if confirmed.to_run or change is None:
        searched = results.runs.change(results.winner, results.space.default())
        return (
            f"The best chromosome of the search changes {cost_name(results)} by "
            f"{change_text(searched)}. This is not confirmed: the search selects lucky runs, so "
            "the estimate is too good. To confirm it, repeat `foreread tune` with --resume."
        )
    if not confirmed.gains:
        return (
            "The confirming runs show no gene of the best chromosome to be better than its "
            "default: the gain in the search was random. Keep the board's settings."
        )
    if confirmed.answer == "predicted":
        return (
            f"With the predicted window alone, {cost_name(results)} changes by "
            f"{change_text(change)} against the defaults. No further gene is shown to be better "
            "than its default."
        )
    genes = "the gene" if len(confirmed.gains) == 1 else f"the {len(confirmed.gains)} genes"
    mean = ", as the geometric mean over the scenarios" if several(results) else ""
    return (
        f"With {genes} below set, {cost_name(results)} changes by {change_text(change)} against "
        f"the defaults{mean}{_against_window(results)}. All other genes keep their defaults; "
        f"compared with the best "
        f"chromosome of the search, the change is {change_text(confirmed.over_winner)}. Both "
        "were measured after "
        "the search, by runs of their own."
    )


def _against_window(results: Results) -> str:
    change = results.confirmed.over_predicted
    if change is None:
        return ""
    return f", and by {change_text(change)} against the predicted window alone"


def compared(results: Results) -> list[tuple[str, Chromosome]]:
    """Return the compared chromosomes: the rows of the result, and the winner of the search."""
    by_key = {key_of(chromosome): (name, chromosome) for name, chromosome in results.rows}
    by_key.setdefault(key_of(results.winner), ("best of the search", results.winner))
    return list(by_key.values())


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
                    *(value_text(results, f(costs)) if costs else "–" for f in (median, min, max)),
                    count(len(costs)),
                    "" if name == "default" else change_text(change),
                ]
            )
    columns = [
        Column("scenario", "left", share=1.4),
        Column("settings", "left", share=1.4),
        *(Column(title) for title in ("median", "least", "most", "runs")),
        Column("against the default (95 % interval)", share=2.4),
    ]
    of = "confirmation" if results.confirming.all else "search"
    return Table(columns, rows, f"Default and best compared, from the runs of the {of}.")


def _kept(results: Results) -> list[Block]:
    gains = results.confirmed.gains
    if not gains:
        return []
    columns = [Column("gene", "left"), Column("set to"), Column("default"), Column("proven")]
    columns.append(Column("effect (95 % interval)", share=2))
    rows = [
        [gain.gene, str(gain.allele), str(gain.default), *_proof(results, gain)] for gain in gains
    ]
    caption = (
        "The genes to set. Effect of one gene: measured cost with all of them, compared with the "
        "cost when this gene has its default. Genes that are proven only together have the effect "
        "of all of them."
    )
    return [Table(columns, rows, caption)]


def _proof(results: Results, gain: Gain) -> tuple[str, str]:
    if gain.alone:
        return "alone", change_text(gain.change)
    return "only together", change_text(results.confirmed.together)


def _lost(results: Results) -> list[Block]:
    """Return what a power cut may lose with the settings, as a warning."""
    lost = [f"{loss[0].upper()}{loss[1:]}" for loss in results.losses]
    return [Bullets(lost, warning=True)] if lost else []


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
    statuses = Counter(
        evaluation.attempt.status for evaluation in [*results.search, *results.confirmation]
    )
    bad = [f"{number:,} {status}" for status, number in statuses.most_common() if status != "ok"]
    items = [f"runs that were discarded and repeated: {', '.join(bad)}"] if bad else []
    if results.standings.drifts:
        times = plural(len(results.standings.drifts), "time")
        items.append(
            f"the machine changed {times} during tuning: the default's time changed; each run is "
            "compared with the default measured in the same period"
        )
    items += [f"{gene} was not tuned: {why}" for gene, why in results.left_out.items()]
    items += [f"{gene} was tuned {why}" for gene, why in results.space.limited.items()]
    return [Bullets(items, warning=bool(bad or results.standings.drifts))] if items else []
