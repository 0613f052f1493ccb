"""The figures of a tuning: which there are, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean, median

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analyzer.report.plots import Plot
from analyzer.report.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    VERMILLION,
    Canvas,
    axes,
    drawable,
    legend,
)
from analyzer.report.wording import shortened
from analyzer.tuner.compare import Runs
from analyzer.tuner.effects import Effects, GeneEffect, LevelEffect
from analyzer.tuner.genes import Chromosome, Gene, applies
from analyzer.tuner.levels import Level, levels_of
from analyzer.tuner.pareto import front, points
from analyzer.tuner.racing import NEGLIGIBLE
from analyzer.tuner.results import Results

PANELS = 6  # genes a figure
COLUMNS = 2
MOST_STEPS = 48  # along the axis of generations; more are taken together
MOST_GENES = 10  # with intervals drawn
MOST_PAIRS = 3  # of scenarios
_LABEL = 22  # characters of a tick's label
Step = Sequence[tuple[Chromosome, float]]


def fitness_plot(results: Results) -> Plot:
    """Return fitness by generation."""
    return Plot(
        name="tuning-fitness",
        title="Fitness by generation",
        caption="Fitness is the default's time over the chromosome's: 1 is as fast as the default. "
        "Each dot is a chromosome; those that failed or were invalid are at 0.",
        height_in=2.75,
        draw=partial(_fitness, generations=results.generations),
    )


def _fitness(canvas: Canvas, generations: Sequence[Step]) -> None:
    ax = axes(canvas, top=0.36)
    every = [(n, fitness) for n, step in enumerate(generations) for _, fitness in step]
    ax.plot(*zip(*every, strict=True), ".", color=SKY, markersize=3, rasterized=True)
    best = np.maximum.accumulate([max(fitness for _, fitness in step) for step in generations])
    ax.plot(range(len(best)), best, color=BLACK, drawstyle="steps-post", label="best so far")
    steps = _steps(generations)
    middles = [fmean(numbers) for numbers, _ in steps]
    means = [fmean(fitness for _, fitness in step) for _, step in steps]
    ax.plot(middles, means, "--", color=VERMILLION, label="average")
    ax.axhline(1.0, color=GREY, linewidth=0.8, linestyle=":", label="default")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("generation")
    ax.set_ylabel("fitness")
    legend(ax)


def _steps(generations: Sequence[Step]) -> list[tuple[range, list[tuple[Chromosome, float]]]]:
    """Return generations taken together to at most MOST_STEPS, with their numbers."""
    size = -(-len(generations) // MOST_STEPS)
    return [
        (
            range(begin, min(begin + size, len(generations))),
            [one for step in generations[begin : begin + size] for one in step],
        )
        for begin in range(0, len(generations), size)
    ]


@dataclass(frozen=True)
class _Picture:
    """How often each level of a gene was tried, by generation: shares, levels × steps."""

    gene: Gene
    levels: Sequence[Level]
    default: Level
    shares: np.ndarray[tuple[int, int], np.dtype[np.float64]]


def convergence_plots(results: Results) -> list[Plot]:
    """Return the figures of alleles by generation: a picture for each gene that was varied."""
    pictures = [one for gene in results.space.genes if (one := _picture(gene, results))]
    several = len(pictures) > PANELS
    parts = [pictures[at : at + PANELS] for at in range(0, len(pictures), PANELS)]
    return [
        Plot(
            name="gene-convergence" + (f"-{number}" if several else ""),
            title="Alleles by generation" + (f" ({number} of {len(parts)})" if several else ""),
            caption="The darker, the more of the chromosomes of that generation had the value. The "
            "diamond at the left is the default, the triangle at the right the winner's value.",
            height_in=1.55 * -(-len(part) // COLUMNS) + 0.2,
            draw=partial(_convergence, pictures=part, results=results),
        )
        for number, part in enumerate(parts, 1)
    ]


def _picture(gene: Gene, results: Results) -> _Picture | None:
    tried = [
        chromosome[gene.name]
        for step in results.generations
        for chromosome, _ in step
        if applies(gene, chromosome)
    ]
    default, others = levels_of(tried, gene.default)
    if not others:
        return None
    numbers = [one for one in [default, *others] if isinstance(one.alleles[0], int)]
    words = [one for one in [default, *others] if isinstance(one.alleles[0], str)]
    levels = [*sorted(numbers, key=lambda one: one.alleles[0]), *words]
    counts = [
        [
            sum(c[gene.name] in level.alleles and applies(gene, c) for c, _ in step)
            for level in levels
        ]
        for _, step in _steps(results.generations)
    ]
    sizes = [[max(len(step), 1)] for _, step in _steps(results.generations)]
    return _Picture(gene, levels, default, (np.array(counts) / np.array(sizes)).T)


def _convergence(canvas: Canvas, pictures: Sequence[_Picture], results: Results) -> None:
    rows = -(-len(pictures) // COLUMNS)
    panels = canvas.subfigures(rows, COLUMNS, squeeze=False)
    for number, picture in enumerate(pictures):
        ax = axes(
            panels[number // COLUMNS, number % COLUMNS], left=1.25, right=0.2, top=0.28, bottom=0.38
        )
        _draw_picture(ax, picture, results)


def _draw_picture(ax: Axes, picture: _Picture, results: Results) -> None:
    name = picture.gene.name
    last = len(results.generations) - 0.5
    ax.imshow(
        picture.shares,
        aspect="auto",
        origin="lower",
        cmap="Blues",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(-0.5, last, -0.5, len(picture.levels) - 0.5),
    )
    ax.set_title(drawable(shortened(name, 40)), loc="left", pad=3)
    ax.set_yticks(
        range(len(picture.levels)),
        [drawable(shortened(str(level), _LABEL)) for level in picture.levels],
        size=6 if len(picture.levels) > 8 else 7,
    )
    ax.grid(visible=False)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.tick_params(axis="x", labelsize=7)
    ax.set_xlim(-0.5, last)
    at = picture.levels.index(picture.default)
    _mark(ax, -0.5, at, "D", ORANGE)
    winner = results.winner[name]
    if applies(picture.gene, results.winner):
        on = next((i for i, one in enumerate(picture.levels) if winner in one.alleles), None)
        if on is not None:
            _mark(ax, last, on, "<", VERMILLION)


def _mark(ax: Axes, x: float, y: float, marker: str, colour: str) -> None:
    """Draw a mark that may stand on the frame."""
    edge = {"markeredgecolor": BLACK, "markeredgewidth": 0.6}
    ax.plot(x, y, marker, color=colour, markersize=5, clip_on=False, **edge)  # type: ignore[arg-type]


def effects_plot(effects: Effects) -> Plot | None:
    """Return the intervals of the genes that matter, or that cannot be told; None without any."""
    genes = [gene for gene in effects.genes if gene.verdict != "not shown"]
    shown = [g for g in genes if any(one.low is not None for one in g.levels)][:MOST_GENES]
    if not shown:
        return None
    rows = sum(len(_told(gene)) + 1 for gene in shown)
    return Plot(
        name="gene-effects",
        title="Effects of the genes that matter or may",
        caption="What each level costs against the gene's default, with 95 % intervals that hold "
        "together. Left of 0 saves. The grey band is the noise of a single run. Hollow: the gene "
        "cannot be told from others.",
        height_in=0.75 + 0.19 * rows,
        draw=partial(_effects, genes=shown, noise=max(effects.noise or 0.0, NEGLIGIBLE)),
    )


def _told(gene: GeneEffect) -> list[LevelEffect]:
    return [level for level in gene.levels if level.low is not None]


def _effects(canvas: Canvas, genes: Sequence[GeneEffect], noise: float) -> None:
    ax = axes(canvas, left=2.1, top=0.1)
    ax.axvspan(-100 * noise, 100 * noise, color="#e8e8e8", zorder=0)
    ax.axvline(0, color=GREY, linewidth=0.8)
    labels, at = [], 0
    for gene in genes:
        labels.append((at, f"{shortened(gene.gene, _LABEL)} (default {gene.default})"))
        for level in _told(gene):
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
        caption="Each dash is a run, each dot a median. One is the default's median of that "
        "scenario.",
        height_in=0.75 + 0.42 * len(results.spec.scenarios),
        draw=partial(_against, runs=runs, results=results),
    )


def _against(canvas: Canvas, runs: Runs, results: Results) -> None:
    ax = axes(canvas, left=1.3, top=0.36)
    default = results.space.default()
    named = [("default", default, GREY), ("best of the search", results.winner, BLUE)]
    if results.confirmed.gains:
        named.append(("only what matters", results.confirmed.chromosome, VERMILLION))
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
            caption="Each dot is a chromosome, by its medians in parts of the default's. No other "
            "is better in both scenarios than one on the line.",
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
    found = points(in_pair)
    order = [in_pair.scenarios.index(name) for name in names]

    def place(costs: Sequence[float]) -> tuple[float, float]:
        x, y = (costs[i] / r for i, r in zip(order, reference, strict=True))
        return x, y

    ax.plot(*zip(*(place(p.costs) for p in found), strict=True), ".", color=GREY, markersize=4)
    on = sorted(place(point.costs) for point in front(found))
    ax.plot(*zip(*on, strict=True), "o-", color=BLUE, markersize=4, label="Pareto front")
    ax.plot(1, 1, "D", color="none", markeredgecolor=BLACK, markersize=8, label="default")
    chosen = results.confirmed.chromosome if results.confirmed.gains else results.winner
    costs = [median(in_pair.costs(chosen, n)) for n in names if in_pair.costs(chosen, n)]
    if len(costs) == 2:
        at = [cost / r for cost, r in zip(costs, reference, strict=True)]
        ax.plot(*at, "s", color="none", markeredgecolor=VERMILLION, markersize=9, label="proposed")
    ax.set_xlabel(drawable(f"{names[0]}: in parts of the default's"))
    ax.set_ylabel(drawable(f"{names[1]}: in parts"))
    legend(ax)
