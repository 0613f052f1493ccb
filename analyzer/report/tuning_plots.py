"""The figures of how a search went: fitness, and alleles, by generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from foreread.analyzer.report.plots import Plot
from foreread.analyzer.report.style import (
    BLACK,
    GREY,
    ORANGE,
    SKY,
    VERMILLION,
    Canvas,
    axes,
    drawable,
    legend,
)
from foreread.analyzer.report.wording import shortened
from foreread.analyzer.tuner.findings.results import Results
from foreread.analyzer.tuner.space.genes import Chromosome, Gene, applies
from foreread.analyzer.tuner.space.levels import Level, levels_of

PANELS = 6  # genes a figure
COLUMNS = 2
MOST_STEPS = 48  # along the axis of generations; more are merged
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
    """Return generations merged into at most MOST_STEPS, with their numbers."""
    size = -(-len(generations) // MOST_STEPS)
    return [
        (
            range(begin, min(begin + size, len(generations))),
            [evaluation for step in generations[begin : begin + size] for evaluation in step],
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
    pictures = [picture for gene in results.space.genes if (picture := _picture(gene, results))]
    several = len(pictures) > PANELS
    parts = [pictures[at : at + PANELS] for at in range(0, len(pictures), PANELS)]
    return [
        Plot(
            name="gene-convergence" + (f"-{number}" if several else ""),
            title="Alleles by generation" + (f" ({number} of {len(parts)})" if several else ""),
            caption="Darker cells: more chromosomes of the generation had the value. The "
            "diamond at the left is the default, triangles at the right are values of winners.",
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
    numbers = [level for level in [default, *others] if isinstance(level.alleles[0], int)]
    words = [level for level in [default, *others] if isinstance(level.alleles[0], str)]
    levels = [*sorted(numbers, key=lambda level: level.alleles[0]), *words]
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
    for winner in (contest.winner for contest in results.contests):
        alleles = [level.alleles for level in picture.levels]
        on = next((i for i, values in enumerate(alleles) if winner[name] in values), None)
        if applies(picture.gene, winner) and on is not None:
            _mark(ax, last, on, "<", VERMILLION)


def _mark(ax: Axes, x: float, y: float, marker: str, colour: str) -> None:
    """Draw a mark that may stand on the frame."""
    edge = {"markeredgecolor": BLACK, "markeredgewidth": 0.6}
    ax.plot(x, y, marker, color=colour, markersize=5, clip_on=False, **edge)  # type: ignore[arg-type]
