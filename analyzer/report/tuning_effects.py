"""The figures of the genes' effects: their intervals, default against best, the Pareto front."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILLION,
    Canvas,
    axes,
    drawable,
    legend,
)
from foreread.analyzer.report.wording import shortened
from foreread.analyzer.tuner.engines.racing import NEGLIGIBLE
from foreread.analyzer.tuner.findings.compare import Runs
from foreread.analyzer.tuner.findings.effects import Effects, GeneEffect, LevelEffect
from foreread.analyzer.tuner.findings.pareto import front, points
from foreread.analyzer.tuner.findings.results import Results

MOST_GENES = 10  # with intervals drawn
MOST_PAIRS = 3  # of scenarios
_LABEL = 22  # characters of a tick's label


def effects_plot(effects: Effects) -> Plot | None:
    """Return the intervals of the genes that matter, or that cannot be determined; None without
    any.
    """
    genes = [gene for gene in effects.genes if gene.verdict != "not shown"]
    shown = [g for g in genes if any(level.low is not None for level in g.levels)][:MOST_GENES]
    if not shown:
        return None
    rows = sum(len(_estimated(gene)) + 1 for gene in shown)
    return Plot(
        name="gene-effects",
        title="Effects of the genes that matter or may",
        caption="What each level costs against the gene's default, with 95 % intervals that hold "
        "together. Values left of 0 save time. The grey band is the noise of a single run. "
        "Hollow: the gene "
        "cannot be separated from others.",
        height_in=0.75 + 0.19 * rows,
        draw=partial(_effects, genes=shown, noise=max(effects.noise or 0.0, NEGLIGIBLE)),
    )


def _estimated(gene: GeneEffect) -> list[LevelEffect]:
    return [level for level in gene.levels if level.low is not None]


def _effects(canvas: Canvas, genes: Sequence[GeneEffect], noise: float) -> None:
    ax = axes(canvas, left=2.1, top=0.1)
    ax.axvspan(-100 * noise, 100 * noise, color="#e8e8e8", zorder=0)
    ax.axvline(0, color=GREY, linewidth=0.8)
    labels, at = [], 0
    for gene in genes:
        labels.append((at, f"{shortened(gene.gene, _LABEL)} (default {gene.default})"))
        for level in _estimated(gene):
            at += 1
            labels.append((at, shortened(str(level.level), _LABEL)))
            _interval(ax, at, level, gene.verdict == "matters", noise)
        at += 1
    ax.set_ylim(at - 0.4, -0.6)
    ax.set_yticks([y for y, _ in labels], [drawable(text) for _, text in labels])
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}".replace("-", "−")))
    ax.set_xlabel("change of the cost (%)")


def _interval(ax: Axes, at: int, level: LevelEffect, matters: bool, noise: float) -> None:
    if level.low is None or level.high is None:
        return
    stands_out = matters and level.stands_out(noise)
    colour = (GREEN if level.effect < 0 else VERMILLION) if stands_out else GREY
    ax.plot([100 * level.low, 100 * level.high], [at, at], color=colour, linewidth=1.4)
    face = colour if matters else "white"
    ax.plot(100 * level.effect, at, "o", color=colour, markerfacecolor=face, markersize=4)


def default_against_best(results: Results) -> Plot | None:
    """Return default against best by scenario; None before anything was measured."""
    runs = results.confirming if results.confirming.all else results.runs
    if not runs.all:
        return None
    return Plot(
        name="default-against-best",
        title="Default against best",
        caption="Each dash is a run, each dot a median. 1 is the default's median in that "
        "scenario.",
        height_in=0.75 + 0.42 * len(results.spec.scenarios),
        draw=partial(_against, runs=runs, results=results),
    )


def _against(canvas: Canvas, runs: Runs, results: Results) -> None:
    ax = axes(canvas, left=1.3, top=0.36)
    default = results.space.default()
    named = [
        (name, chromosome, colour)
        for (name, chromosome), colour in zip(results.rows, (GREY, BLUE, VERMILLION), strict=False)
    ]
    scenarios = results.spec.scenarios
    for number, (name, chromosome, colour) in enumerate(named):
        y = [row + 0.24 * (number - (len(named) - 1) / 2) for row in range(len(scenarios))]
        medians = []
        for at, scenario in zip(y, scenarios, strict=True):
            reference = median(runs.costs(default, scenario) or [1.0])
            costs = [cost / reference for cost in runs.costs(chromosome, scenario)]
            ax.plot(costs, [at] * len(costs), "|", color=colour, markersize=6)
            medians.append(median(costs) if costs else float("nan"))
        ax.plot(medians, y, "o", color=colour, label=name)
    ax.set_ylim(len(scenarios) - 0.5, -0.5)
    ax.set_yticks(range(len(scenarios)), [drawable(shortened(s, _LABEL)) for s in scenarios])
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("cost, in parts of the default's")
    legend(ax)


def pareto_plots(results: Results) -> list[Plot]:
    """Return a figure for each pair of scenarios, of the first few."""
    pairs = list(combinations(range(len(results.runs.scenarios)), 2))[:MOST_PAIRS]
    names = results.runs.scenarios
    return [
        Plot(
            name="tuning-pareto" + (f"-{number}" if len(pairs) > 1 else ""),
            title=f"{names[a]} against {names[b]}",
            caption="Each dot is a chromosome, by its medians in parts of the default's. No "
            "chromosome is better in both scenarios than those on the line.",
            height_in=2.9,
            draw=partial(_pareto, results=results, pair=(a, b)),
        )
        for number, (a, b) in enumerate(pairs, 1)
    ]


def _pareto(canvas: Canvas, results: Results, pair: tuple[int, int]) -> None:
    ax = axes(canvas, top=0.36)
    runs = results.runs
    default = results.space.default()
    names = [runs.scenarios[i] for i in pair]
    reference = [median(runs.costs(default, name) or [1.0]) for name in names]
    in_pair = Runs([run for run in runs.all if run.scenario in names])
    positions = points(in_pair)
    order = [in_pair.scenarios.index(name) for name in names]

    def place(costs: Sequence[float]) -> tuple[float, float]:
        x, y = (costs[i] / r for i, r in zip(order, reference, strict=True))
        return x, y

    ax.plot(*zip(*(place(p.costs) for p in positions), strict=True), ".", color=GREY, markersize=4)
    on = sorted(place(point.costs) for point in front(positions))
    ax.plot(*zip(*on, strict=True), "o-", color=BLUE, markersize=4, label="Pareto front")
    ax.plot(1, 1, "D", color="none", markeredgecolor=BLACK, markersize=8, label="default")
    changes = [
        results.confirming.change(results.confirmed.chromosome, default, name) for name in names
    ]
    proposed = [1 + change.effect for change in changes if change is not None]
    if len(proposed) == 2:
        edge = {"color": "none", "markeredgecolor": VERMILLION}
        ax.plot(*proposed, "s", markersize=9, label="proposed", **edge)  # type: ignore[arg-type]
    ax.set_xlabel(drawable(f"{shortened(names[0], _LABEL)} (default = 1)"))
    ax.set_ylabel(drawable(f"{shortened(names[1], _LABEL)} (default = 1)"))
    legend(ax)
